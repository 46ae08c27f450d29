"""Deep linear networks: any layers, two of them, and balanced ones, also on raw inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form._layers import end_to_end
from hessian_spectra.closed_form.deep_linear import deep_linear
from hessian_spectra.closed_form.instances.drawing import Draw, orthonormal, whitened, without
from hessian_spectra.closed_form.instances.instance import Instance
from hessian_spectra.models import Perceptron, balanced_weights

# The targets of a balanced network: any, such that it solves least squares, such that it fits them.
ANY_TARGETS, LEAST_SQUARES, ZERO_LOSS = range(3)


@dataclass(eq=False, kw_only=True)
class Deep(Instance):
    """Deep linear networks with layers ``weights``, ``x (n, d_0)``, ``y (n, d_L)``.

    The closed form takes one sample a column: the paper's X is the transpose.
    """

    closed_form = staticmethod(deep_linear)

    weights: tuple[Tensor, ...]

    @classmethod
    def count(cls, draw: Draw) -> int:
        """Half as many as of other families: brute force takes two matrices for each."""
        return -(-draw.instances // 2)

    @staticmethod
    def widest(draw: Draw) -> int:
        """The largest width."""
        return max(2, draw.width * 2 // 3)

    @staticmethod
    def normal_layers(draw: Draw, widths: Sequence[int]) -> tuple[Tensor, ...]:
        """Independent entries, each layer on a scale of its own."""
        return tuple(draw.scaled(after, before) for before, after in pairwise(widths))

    @staticmethod
    def data(draw: Draw, widths: Sequence[int], points: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets."""
        x, y = draw.inputs_and_targets(points, widths[0], widths[-1])
        return x, draw.scale() * y

    def model(self) -> nn.Module:
        """The network."""
        return Perceptron(list(self.weights), [1.0] * len(self.weights), "linear")

    @property
    def arguments(self) -> dict[str, Any]:
        """The closed form's arguments by name."""
        return {"weights": list(self.weights), "x": self.x.mT, "y": self.y.mT}


@dataclass(eq=False, kw_only=True)
class AnyLayers(Deep):
    """Any weights, depth 1 to 4, any loss; the inputs are whitened in every other instance.

    ``probe`` is a direction in the space of the parameters.
    """

    stream = "any_layers"

    probe: Tensor

    @classmethod
    def of_widths(cls, draw: Draw, widths: Sequence[int], white: bool, points: int = 6) -> Self:
        """One network."""
        x, y = cls.data(draw, widths, points)
        scale = draw.scale()
        x = whitened(x, scale) if white else scale * x
        weights = cls.normal_layers(draw, widths)
        probe = draw.normal(sum(weight.numel() for weight in weights))
        return cls(weights=weights, x=x, y=y, probe=probe)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The smallest sizes, a layer of 0, and few points."""
        base = partial(cls.of_widths, draw)
        first, *others = (zero := base((3, 2, 2, 3), True)).weights
        return {
            "one layer": base((3, 2), True),
            "one unit everywhere": base((1, 1, 1, 1), True),
            "a layer of 0": replace(zero, weights=(first, 0 * others[0], others[1])),
            "fewer points than inputs": base((4, 2, 3), False, points=2),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Any widths."""
        widths = [draw.integer(1, cls.widest(draw)) for _ in range(draw.integer(2, 5))]
        points = draw.integer(widths[0], draw.size // 2)
        return cls.of_widths(draw, widths, number % 2 == 0, points)


@dataclass(eq=False, kw_only=True)
class TwoLayers(Deep):
    """Two layers that are not balanced, whitened inputs, any loss (anon2026data, eq. 15)."""

    stream = "two_layers"

    @classmethod
    def of_widths(cls, draw: Draw, widths: Sequence[int], points: int = 6) -> Self:
        """One network."""
        x, y = cls.data(draw, widths, points)
        x = whitened(x, draw.scale())
        return cls(weights=cls.normal_layers(draw, widths), x=x, y=y)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The smallest sizes, and layers of a lower rank or of equal singular values."""
        base = partial(cls.of_widths, draw)
        edges = {
            "one hidden unit": base((3, 1, 4)),
            "one output": base((3, 2, 1)),
            "a wide hidden layer": base((2, 5, 3)),
        }
        rank_one, equal, zero = (base((4, 2, 3)) for _ in range(3))
        low = torch.outer(rank_one.weights[0][:, 0], rank_one.weights[0][0])
        first, last = equal.weights
        turned = 2 * orthonormal(first.mT).mT, 2 * orthonormal(last)
        return edges | {
            "a first layer of rank 1": replace(rank_one, weights=(low, rank_one.weights[1])),
            "equal singular values": replace(equal, weights=turned),
            "a second layer of 0": replace(zero, weights=(zero.weights[0], 0 * zero.weights[1])),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Any widths."""
        widths = [draw.integer(1, cls.widest(draw)) for _ in range(3)]
        return cls.of_widths(draw, widths, draw.integer(widths[0], draw.size // 2))


@dataclass(eq=False, kw_only=True)
class Balanced(Deep):
    """Balanced layers, depth 1 to 4, whitened inputs (anon2026data, eq. 9).

    ``kind`` tells whether the targets are any, such that the network solves least squares, or such
    that it fits them; ``labels (n,)`` are classes of as many samples.
    """

    stream = "balanced"

    kind: int
    labels: Tensor

    @staticmethod
    def solution(draw: Draw, widths: Sequence[int], x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        """Layers that solve least squares; each hidden layer has room for the solution."""
        scale = x.square().mean(0).mean()
        left, values, right = torch.linalg.svd(y.mT @ x / (len(x) * scale), full_matrices=False)
        root = values ** (1 / (len(widths) - 1))
        hidden = [orthonormal(draw.normal(width, len(values))) for width in widths[1:-1]]
        bases = [right.mT, *hidden, left]
        return tuple(after * root @ before.mT for before, after in pairwise(bases))

    @classmethod
    def of_widths(
        cls,
        draw: Draw,
        widths: Sequence[int],
        kind: int,
        points: int = 8,
        values: Sequence[float] = (),
    ) -> Self:
        """One network, with random singular values where none are given."""
        x, y = cls.data(draw, widths, points)
        x = whitened(x, draw.scale())
        if kind == LEAST_SQUARES:
            weights = cls.solution(draw, widths, x, y)
        else:
            spread = 0.3 + draw.uniform(min(widths))
            chosen = list(values) or (draw.scale() * spread).tolist()
            weights = tuple(balanced_weights(widths, chosen, draw.random))
        if kind == ZERO_LOSS:
            y = x @ end_to_end(weights).mT
        labels = torch.tensor([draw.integer(0, widths[-1] - 1) for _ in range(points)])
        return cls(weights=weights, x=x, y=y, kind=kind, labels=labels)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The smallest sizes, and singular values that are equal, nearly equal or 0."""
        base, near = partial(cls.of_widths, draw), [1 + 1e-10, 1.0, 1 - 1e-12]
        return {
            "one layer": base((3, 4), ANY_TARGETS),
            "one hidden unit": base((4, 1, 3, 3), ZERO_LOSS),
            "equal singular values": base((3, 3, 4, 3), ZERO_LOSS, values=[1.5, 1.5, 1.5]),
            "a singular value of 0": base((4, 3, 3, 4), ANY_TARGETS, values=[1.5, 0.5, 0.0]),
            "equal ones and one of 0": base((3, 4, 4, 4), ZERO_LOSS, values=[1.5, 1.5, 0.0]),
            "nearly equal singular values": base((3, 3, 3, 3), ANY_TARGETS, values=near),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Any widths; the kinds of targets alternate."""
        kind, widest = number % 3, cls.widest(draw)
        inputs, outputs = draw.integer(1, widest), draw.integer(1, widest)
        least = min(inputs, outputs) if kind == LEAST_SQUARES else 1
        hidden = [draw.integer(least, widest) for _ in range(draw.integer(1, 3))]
        # More points than inputs, so that targets of any kind are not fitted.
        points = draw.integer(inputs + 2, draw.size)
        return cls.of_widths(draw, [inputs, *hidden, outputs], kind, points)


@dataclass(eq=False, kw_only=True)
class RawInputs(Deep):
    """Balanced layers, two others or one, on inputs that are not whitened.

    ``kind`` tells whether the targets are any, or such that the network solves least squares, at a
    loss that is not 0 where there are more points than inputs.
    """

    stream = "raw_inputs"

    kind: int
    balanced: bool

    @classmethod
    def of_widths(
        cls,
        draw: Draw,
        widths: Sequence[int],
        kind: int = LEAST_SQUARES,
        points: int = 8,
        values: Sequence[float] | None = None,
        rank: int | None = None,
    ) -> Self:
        """One network, balanced with singular values ``values``, on inputs of some rank."""
        x, y = cls.data(draw, widths, points)
        x = x * 5 ** (2 * draw.uniform(widths[0]) - 1)
        if rank is not None:
            x = x[:, :rank] @ draw.normal(rank, widths[0])
        weights = cls.normal_layers(draw, widths)
        if values is not None:
            weights = tuple(balanced_weights(widths, values, draw.random))
        if kind == LEAST_SQUARES:
            y = x @ end_to_end(weights).mT + without(y, x)
        return cls(weights=weights, x=x, y=y, kind=kind, balanced=values is not None)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """Degenerate inputs, products and layers, all of them at least squares."""
        base = partial(cls.of_widths, draw)
        first, last = (two := base((3, 2, 3))).weights
        x = two.x
        zero = two.y - x @ end_to_end(two.weights).mT
        return {
            "one layer": base((3, 2)),
            "one unit everywhere": base((1, 1, 1, 1), values=[1.5]),
            "more outputs than inputs": base((2, 3, 4, 4), values=[1.5, 0.5]),
            "more inputs than outputs": base((4, 3, 3, 2), values=[1.5, 0.5]),
            "equal singular values": base((3, 3, 3, 4), values=[1.5, 1.5, 1.5]),
            "a product of lower rank": base((4, 3, 4, 3), values=[1.5, 0.5, 0.0]),
            "a product of 0": base((3, 2, 2, 3), values=[0.0, 0.0]),
            "inputs of lower rank": base((4, 3, 3, 3), values=[1.5, 0.7, 0.5], rank=2),
            "fewer points than inputs": base((4, 3, 3, 3), points=2, values=[1.5, 0.7, 0.5]),
            "a first layer of 0": replace(two, weights=(0 * first, last), y=zero),
            "a second layer of 0": replace(two, weights=(first, 0 * last), y=zero),
            "one hidden unit": base((3, 1, 3)),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """Any widths; every third network has two layers that are not balanced."""
        widest, depth = cls.widest(draw), 2 if number % 3 == 2 else draw.integer(2, 4)
        widths = [draw.integer(1, widest) for _ in range(depth + 1)]
        values = (draw.scale() * (0.3 + draw.uniform(min(widths)))).tolist()
        kind = ANY_TARGETS if number % 2 else LEAST_SQUARES
        points = draw.integer(widths[0] + 1, draw.size)
        return cls.of_widths(draw, widths, kind, points, None if number % 3 == 2 else values)
