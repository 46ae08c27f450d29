"""Several inputs and outputs: separate layers for each, or a common orthogonal first layer."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import torch
from torch import Tensor

from hessian_spectra.closed_form.instances.drawing import (
    Draw,
    numbers,
    orthonormal,
    whitened,
    without,
)
from hessian_spectra.closed_form.instances.instance import Instance
from hessian_spectra.closed_form.multi_input import multi_input
from hessian_spectra.closed_form.multi_output import multi_output
from hessian_spectra.closed_form.orthogonal_first_layer import orthogonal_first_layer
from hessian_spectra.models import LinearNetwork, MultiInputLinear, MultiOutputLinear


@dataclass(eq=False, kw_only=True)
class Separate(Instance):
    """Layers of each input or output: ``w``, ``v`` ``(D, m)`` or ``(K, m)``."""

    layers = ("v", "w")

    w: Tensor
    v: Tensor

    @classmethod
    def weights(cls, draw: Draw, rows: int, width: int) -> tuple[Tensor, Tensor]:
        """Random ``w`` and ``v``."""
        return draw.scaled(rows, width), draw.scaled(rows, width)


@dataclass(eq=False, kw_only=True)
class SeveralInputs(Separate):
    """Several inputs, ``x (n, D)``, ``y (n,)``."""

    closed_form = staticmethod(multi_input)
    network = MultiInputLinear

    @classmethod
    def on(cls, draw: Draw, width: int, x: Tensor, y: Tensor) -> Self:
        """A network for the given inputs, and targets that correlate with these."""
        w, v = cls.weights(draw, x.shape[1], width)
        return cls(w=w, v=v, x=x, y=x @ draw.normal(x.shape[1]) + draw.scale() * y)

    def fitted(self) -> Self:
        """The network without a residual."""
        return replace(self, y=self.x @ (self.w * self.v).sum(dim=1))


@dataclass(eq=False, kw_only=True)
class MultiInput(SeveralInputs):
    """Several decorrelated inputs (singh2026cracking, Corollary B.1).

    Every third network is a diagonal one, ``m = 1``.
    """

    stream = "multi_input"

    @classmethod
    def decorrelated(cls, draw: Draw, inputs: int = 3, width: int = 3, points: int = 8) -> Self:
        """One network."""
        x, y = draw.inputs_and_targets(points, inputs)
        # Each input keeps a variance of its own: decorrelated, not whitened.
        x = whitened(x) * torch.tensor([draw.scale() for _ in range(inputs)])
        return cls.on(draw, width, x, y)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The smallest sizes, an input without variance, and solutions."""
        base = partial(cls.decorrelated, draw)
        return {
            "one input": base(inputs=1),
            "width 1": base(inputs=4, width=1),
            "an input of 0": replace(i := base(), x=i.x * numbers(1.0, 0.0, 1.0)),
            "w = v of an input": replace(i := base(), w=torch.cat([i.v[:1], i.w[1:]])),
            "zero residual": base().fitted(),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to four inputs."""
        inputs = draw.integer(1, 4)
        width = 1 if number % 3 == 0 else draw.integer(2, draw.width // 2)
        return cls.decorrelated(draw, inputs, width, draw.integer(4, draw.size))


@dataclass(eq=False, kw_only=True)
class CorrelatedInput(SeveralInputs):
    """Several correlated inputs."""

    stream = "correlated_input"

    @classmethod
    def correlated(cls, draw: Draw, inputs: int = 3, width: int = 3, points: int = 8) -> Self:
        """One network."""
        x, y = draw.inputs_and_targets(points, inputs)
        x = x @ (torch.eye(inputs).double() + draw.normal(inputs, inputs))
        return cls.on(draw, width, x, y)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Second moments of a lower rank, the smallest width, and a solution."""
        base = partial(cls.correlated, draw)
        return {
            "fewer points than inputs": base(points=2),
            "width 1": base(width=1),
            "two equal inputs": replace(i := base(), x=i.x[:, [0, 0, 2]]),
            "zero residual": base().fitted(),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Two to four inputs."""
        inputs, width = draw.integer(2, 4), draw.integer(1, draw.width // 2)
        return cls.correlated(draw, inputs, width, draw.integer(2, draw.size))


@dataclass(eq=False, kw_only=True)
class MultiOutput(Separate):
    """Several outputs, ``x (n,)``, ``y (n, K)`` (singh2026cracking, Corollary B.2)."""

    stream = "multi_output"

    closed_form = staticmethod(multi_output)
    network = MultiOutputLinear

    @classmethod
    def of_size(cls, draw: Draw, outputs: int = 3, width: int = 3, points: int = 8) -> Self:
        """One network."""
        x, _ = draw.points(points)
        _, y = draw.points(points, outputs)
        x = draw.scale() * x
        w, v = cls.weights(draw, outputs, width)
        return cls(w=w, v=v, x=x, y=x[:, None] * draw.normal(outputs) + y)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The smallest sizes, and a head of equal layers or without a residual."""
        base = partial(cls.of_size, draw)
        return {
            "one output": base(outputs=1),
            "width 1": base(width=1),
            "w = v of a head": replace(i := base(), w=torch.cat([i.v[:1], i.w[1:]])),
            "zero residual of a head": replace(
                i := base(), y=torch.cat([i.x[:, None] * (i.w[0] @ i.v[0]), i.y[:, 1:]], 1)
            ),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to four outputs."""
        outputs, width = draw.integer(1, 4), draw.integer(1, draw.width // 2)
        return cls.of_size(draw, outputs, width, draw.integer(1, draw.size))


@dataclass(eq=False, kw_only=True)
class Orthogonal(Instance):
    """An orthogonal first layer: ``w (m,)``, ``V (m, D)``, whitened ``x (n, D)``, E[yx] = 0."""

    stream = "orthogonal"

    closed_form = staticmethod(orthogonal_first_layer)
    network = LinearNetwork
    layers = ("V", "w")

    w: Tensor
    V: Tensor

    @classmethod
    def of_size(cls, draw: Draw, inputs: int = 3, width: int = 5, points: int = 9) -> Self:
        """One network."""
        x, y = draw.inputs_and_targets(points, inputs)
        x = whitened(x)
        w = draw.scaled(width)
        V = draw.scale() * orthonormal(draw.normal(width, inputs))
        return cls(w=w, V=V, x=x, y=draw.scale() * without(y, x))

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """As many inputs as units, or one; vanishing and orthogonal layers."""
        base = partial(cls.of_size, draw)
        return {
            "width D": base(width=3),
            "one input": base(inputs=1),
            "w orthogonal to V": replace(i := base(), w=without(i.w, i.V)),
            "w = 0": replace(i := base(), w=0 * i.w),
            "V = 0": replace(i := base(), V=0 * i.V),
            "y = 0": replace(i := base(), y=0 * i.y),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Up to four inputs, and as many units or more."""
        inputs = draw.integer(1, 4)
        width = draw.integer(inputs, draw.width)
        return cls.of_size(draw, inputs, width, draw.integer(inputs + 1, draw.size))
