"""Two layers with scalar inputs: linear, with ReLU, and with bias."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form.instances.drawing import (
    Draw,
    numbers,
    orthonormal,
    standardised,
    without,
)
from hessian_spectra.closed_form.instances.instance import Instance
from hessian_spectra.closed_form.linear_with_bias import linear_with_bias
from hessian_spectra.closed_form.two_layer_linear import two_layer_linear
from hessian_spectra.closed_form.two_layer_relu import two_layer_relu
from hessian_spectra.models import LinearWithBias, TwoLayerLinear, TwoLayerReLU


@dataclass(eq=False, kw_only=True)
class TwoLayer(Instance):
    """Two layers ``w``, ``v`` ``(m,)`` on ``x``, ``y`` ``(n,)``."""

    closed_form = staticmethod(two_layer_linear)
    network: ClassVar[Callable[..., nn.Module]] = TwoLayerLinear
    layers = ("v", "w")

    w: Tensor
    v: Tensor

    @classmethod
    def of_size(cls, draw: Draw, width: int, points: int) -> Self:
        """One network."""
        x, y = draw.points(points)
        # A slope, so that targets and inputs correlate in most instances.
        slope, noise = 2 * draw.normal(1), draw.scale()
        w, v = draw.scaled(width), draw.scaled(width)
        return cls(w=w, v=v, x=draw.scale() * x, y=slope * x + noise * y)


@dataclass(eq=False, kw_only=True)
class Linear(TwoLayer):
    """Two-layer linear networks (singh2026cracking, Theorem 3.1)."""

    stream = "linear"

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Equal and vanishing layers, solutions, and the smallest sizes."""
        base = partial(cls.of_size, draw, width=4, points=7)
        return {
            "width 1": base(width=1),
            "width 1, equal layers": replace(base(width=1), w=numbers(1.0), v=numbers(1.0)),
            "w = v": replace(i := base(), w=i.v),
            "w = -v": replace(i := base(), w=-i.v),
            "w = 0": replace(i := base(), w=0 * i.w),
            "all weights 0": replace(i := base(), w=0 * i.w, v=0 * i.v),
            "zero residual": replace(i := base(), y=(i.w @ i.v) * i.x),
            "residual uncorrelated with the input": replace(
                i := base(), y=(i.w @ i.v) * i.x + without(i.y, i.x[:, None])
            ),
            "equal outliers": replace(i := base(), w=i.v, y=2 * (i.v @ i.v) * i.x),
            "negative slope": replace(i := base(), y=-3 * i.x),
            "orthogonal layers": replace(i := base(), w=without(i.w, i.v[:, None])),
            "large inputs": replace(i := base(), x=1e3 * i.x),
            "one point": base(points=1),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Any width and number of points."""
        return cls.of_size(draw, draw.integer(1, draw.width), draw.integer(1, draw.size))


@dataclass(eq=False, kw_only=True)
class Relu(TwoLayer):
    """Two-layer ReLU networks (singh2026cracking, Theorem 3.4)."""

    stream = "relu"

    closed_form = staticmethod(two_layer_relu)
    network = TwoLayerReLU

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Empty cells, neurons and inputs at a kink, and solutions."""
        base = partial(cls.of_size, draw, width=5, points=8)
        return {
            "width 1": base(width=1),
            "all neurons positive": replace(i := base(), v=i.v.abs()),
            "all neurons negative": replace(i := base(), v=-i.v.abs()),
            "two neurons at 0": replace(i := base(), v=torch.cat([i.v[:3], numbers(0.0, 0.0)])),
            "two neurons at 0, others positive": replace(
                i := base(), v=torch.cat([i.v[:3].abs(), numbers(0.0, 0.0)])
            ),
            "neurons at 0 between others": replace(base(), v=numbers(1.0, -2.0, 0.0, 0.5, 0.0)),
            # -0.3 as float32 has it: the digits of recorded errors depend on it.
            "a neuron at 0 before others": replace(
                base(), v=torch.tensor([0.0, -2.0, -0.3, 0.5, 1.0]).double()
            ),
            "positive inputs": replace(i := base(), x=i.x.abs()),
            "negative inputs": replace(i := base(), x=-i.x.abs()),
            "an input at 0": replace(i := base(), x=torch.cat([i.x[:-1], numbers(0.0)])),
            "one neuron a cell": replace(i := base(), w=i.w[:2], v=numbers(1.5, -0.5)),
            "w = v in a cell": replace(i := base(), w=torch.where(i.v > 0, i.v, i.w)),
            "zero residual": replace(i := base(), y=torch.relu(i.x[:, None] * i.v) @ i.w),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Two neurons and points or more."""
        return cls.of_size(draw, draw.integer(2, draw.width), draw.integer(2, draw.size))

    @property
    def smooth(self) -> bool:
        """At v_j = 0 the loss has a kink."""
        return bool((self.v != 0).all())


@dataclass(eq=False, kw_only=True)
class Biased(Instance):
    """Linear networks f(x) = ⟨w, v x + b⟩, weights ``(m,)``, for E[x] = 0, E[x²] = 1."""

    closed_form = staticmethod(linear_with_bias)
    network = LinearWithBias
    layers = ("w", "v", "b")

    w: Tensor
    v: Tensor
    b: Tensor

    @classmethod
    def assumed(cls, draw: Draw, width: int = 5, points: int = 9) -> Self:
        """One network that meets all assumptions of Theorem B.1."""
        x, y = draw.points(points)
        x = standardised(x)
        first = draw.scale() * orthonormal(draw.normal(width, 2))
        y = draw.scale() * without(y, torch.stack([x, torch.ones_like(x)], dim=1))
        return cls(w=draw.scaled(width), v=first[:, 0], b=first[:, 1], x=x, y=y)


@dataclass(eq=False, kw_only=True)
class Bias(Biased):
    """Networks under all assumptions of Theorem B.1 (singh2026cracking)."""

    stream = "bias"

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """A first layer of 0, also at width 1, which allows no other; special second layers."""
        base = partial(cls.assumed, draw)
        return {
            "v = b = 0": replace(i := base(), v=0 * i.v, b=0 * i.b),
            "width 1": replace(i := base(), v=numbers(0.0), b=numbers(0.0), w=i.w[:1]),
            "w = 0": replace(i := base(), w=0 * i.w),
            "w parallel to v": replace(i := base(), w=1.5 * i.v),
            "w orthogonal to v and b": replace(
                i := base(), w=without(i.w, torch.stack([i.v, i.b], dim=1))
            ),
            "y = 0": replace(i := base(), y=0 * i.y),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Any width from 2 on."""
        return cls.assumed(draw, draw.integer(2, draw.width), draw.integer(4, draw.size))


@dataclass(eq=False, kw_only=True)
class Dropped(Biased):
    """Networks that break one assumption of Theorem B.1.

    ``dropped`` says which: v orthogonal to b; equal norms; zero mean; unit second moment; no
    correlation. Of the library's closed form the third and the fourth are assumptions, too.
    """

    stream = "dropped"

    dropped: int = 0

    @classmethod
    def count(cls, draw: Draw) -> int:
        """At least three for each assumption."""
        return max(draw.instances, 15)

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """One network after the other without each of the assumptions."""
        i = cls.assumed(draw, draw.integer(2, draw.width), max(4, draw.size))
        without_it = [
            {"b": (i.b + i.v) / 2**0.5},
            {"b": 2 * i.b},
            {"x": (i.x + 1) / 2**0.5},
            {"x": 1.5 * i.x},
            {"y": i.y + 2 * i.x},
        ]
        which = number % len(without_it)
        return replace(i, **without_it[which], dropped=which)


@dataclass(eq=False, kw_only=True)
class Parallel(Biased):
    """Like :class:`Bias`, for targets that correlate with x and 1 as the weights have it.

    (mean(y x), mean(y)) is parallel to (⟨w, v⟩, ⟨w, b⟩) in place of zero, and so is then (δx, δ):
    all that the theorem needs. ``rho`` is the residual along that direction.
    """

    stream = "parallel"

    rho: Tensor

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """The instances of :class:`Bias` with other targets."""
        return {name: cls.along(draw, net) for name, net in Bias.drawn(draw).items()}

    @classmethod
    def along(cls, draw: Draw, i: Bias) -> Self:
        """A network with targets along its own outputs."""
        factor = 2 * draw.normal(1)
        y = i.y + factor * ((i.w @ i.v) * i.x + i.w @ i.b)
        rho = (1 - factor) * torch.hypot(i.w @ i.v, i.w @ i.b)
        return cls(w=i.w, v=i.v, b=i.b, x=i.x, y=y, rho=rho)


@dataclass(eq=False, kw_only=True)
class Sextic(Biased):
    """Networks with any weights and targets; every other one has width 2.

    At width 2 the sextic is the whole characteristic polynomial.
    """

    stream = "sextic"

    @classmethod
    def any_weights(cls, draw: Draw, width: int = 4, points: int = 7) -> Self:
        """One network."""
        x, y = draw.points(points)
        x = standardised(x)
        w, v, b = (draw.scaled(width) for _ in range(3))
        y = 2 * draw.normal(1) * x + draw.normal(1) + draw.scale() * y
        return cls(w=w, v=v, b=b, x=x, y=y)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Small widths, vanishing and parallel layers, and a solution."""
        base = partial(cls.any_weights, draw)
        return {
            "width 1": base(width=1),
            "width 2": base(width=2),
            "b = 0": replace(i := base(), b=0 * i.b),
            "v = 0": replace(i := base(), v=0 * i.v),
            "w = 0": replace(i := base(), w=0 * i.w),
            "v parallel to b": replace(i := base(), b=0.7 * i.v),
            "zero residual": replace(i := base(), y=i.x * (i.w @ i.v) + i.w @ i.b),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Width 2 or any."""
        width = 2 if number % 2 else draw.integer(2, draw.width)
        return cls.any_weights(draw, width, draw.integer(2, draw.size))
