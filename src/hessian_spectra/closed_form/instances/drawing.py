"""Streams of random numbers, one for each family, and slices of a data set."""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.seeding import generator


def _noise(column: int) -> np.ndarray:
    """Inputs, or targets, of the data set that is taken where none is given."""
    return np.random.default_rng(0).normal(size=(2, 200))[column]


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Random weights from a family's own stream, and slices of a data set.

    Args:
        x: ``(N,)`` inputs of the data set; standard normal ones by default.
        y: ``(N,)`` its targets; likewise.
        seed: of all streams.
        instances: how many random instances there are beside the edge cases.
        width: their largest hidden width.
        size: their largest number of data points.
        family: whose stream it is.
    """

    x: np.ndarray = field(default_factory=partial(_noise, 0))
    y: np.ndarray = field(default_factory=partial(_noise, 1))
    seed: int = 0
    instances: int = 6
    width: int = 4
    size: int = 6
    family: str = ""

    @cached_property
    def random(self) -> torch.Generator:
        """The stream, from its beginning."""
        return generator(self.seed, f"instances {self.family}")

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(shape, dtype=torch.float64, generator=self.random)

    def integer(self, low: int, high: int) -> int:
        """An integer between ``low`` and ``high``, both included; ``low`` if that is the larger."""
        return int(torch.randint(low, max(low, high) + 1, (), generator=self.random))

    def uniform(self, *shape: int) -> Tensor:
        """Numbers between 0 and 1."""
        return torch.rand(shape, dtype=torch.float64, generator=self.random)

    def scale(self) -> float:
        """A factor between 0.2 and 5, uniform in its logarithm."""
        return float(5 ** (2 * self.uniform() - 1))

    def scaled(self, *shape: int) -> Tensor:
        """Normal numbers on a scale of their own."""
        return self.scale() * self.normal(*shape)

    def points(self, *shape: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the given shape: a slice of the data set at a random place."""
        count = int(np.prod(shape))
        place = np.arange(count) + self.integer(0, len(self.x) - 1)
        x, y = (column.take(place, mode="wrap").reshape(shape) for column in (self.x, self.y))
        # Copies, because PyTorch's own memory is always aligned alike, on which bits may depend.
        return torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)

    def inputs_and_targets(self, points: int, inputs: int, *outputs: int) -> tuple[Tensor, Tensor]:
        """Inputs ``(n, D)`` and, from another slice, targets ``(n,)`` or ``(n, K)``."""
        return self.points(points, inputs)[0], self.points(points, *outputs)[1]


def numbers(*values: float) -> Tensor:
    """The numbers as float64."""
    return torch.tensor(values, dtype=torch.float64)


def orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis of the span of the columns ``(n, k)``, ``k <= n``."""
    return torch.linalg.qr(columns).Q


def whitened(x: Tensor, scale: float = 1.0) -> Tensor:
    """The columns of ``x (n, D)``, ``n >= D``, with second moments ``xᵀx / n = scale² I``."""
    return orthonormal(x) * scale * len(x) ** 0.5


def standardised(x: Tensor) -> Tensor:
    """``x (n,)`` with zero mean and unit second moment."""
    x = x - x.mean()
    return x / x.square().mean().sqrt()


def without(y: Tensor, columns: Tensor) -> Tensor:
    """``y`` minus its projection on the columns, once more to remove the round-off of the first."""
    basis = orthonormal(columns)
    for _ in range(2):
        y = y - basis @ (basis.mT @ y)
    return y
