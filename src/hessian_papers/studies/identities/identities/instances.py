"""How the random networks and edge cases are drawn on which both sides of the study are compared.

A theorem's instances are a list of dictionaries of float64 tensors, the same ones at every call
with the same configuration and data. Edge cases come first and are always there; random ones
follow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.seeding import generator

Instance = dict[str, Tensor]


@dataclass(frozen=True)
class Draw:
    """Random weights from a theorem's own stream, and slices of the data set.

    Args:
        seed: of the study.
        theorem: whose stream it is.
        x: ``(N,)`` inputs of the data set.
        y: ``(N,)`` its targets.
        instances: how many random instances there are beside the edge cases.
        width: their largest hidden width.
        size: their largest number of data points.
    """

    seed: int
    theorem: str
    x: np.ndarray
    y: np.ndarray
    instances: int
    width: int
    size: int

    @cached_property
    def random(self) -> torch.Generator:
        """The stream, from its beginning."""
        return generator(self.seed, f"instances {self.theorem}")

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


def changed(
    base: Callable[[], Instance], *changes: Callable[[Instance], Instance]
) -> list[Instance]:
    """Fresh instances with something changed in each, one for each change."""
    return [one | change(one) for change in changes for one in [base()]]


def tensor(*numbers: float) -> Tensor:
    """The numbers as float64."""
    return torch.tensor(numbers, dtype=torch.float64)


def orthonormal(columns: Tensor) -> Tensor:
    """An orthonormal basis of the span of the columns ``(n, k)``, ``k <= n``."""
    return torch.linalg.qr(columns).Q


def whitened(x: Tensor, scale: float = 1.0) -> Tensor:
    """The columns of ``x (n, D)``, ``n >= D``, with second moments ``xᵀx / n = scale² I``."""
    return orthonormal(x) * scale * len(x) ** 0.5


def without(y: Tensor, columns: Tensor) -> Tensor:
    """``y`` minus its projection on the columns, once more to remove the round-off of the first."""
    basis = orthonormal(columns)
    for _ in range(2):
        y = y - basis @ (basis.mT @ y)
    return y
