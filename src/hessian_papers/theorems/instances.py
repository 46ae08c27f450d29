"""A network with its data: how random ones are drawn, and what brute force measures of them.

Each family of networks is a subclass of :class:`Instance`: its fields are what is drawn, edge cases
first and always, and its properties what the theorems speak of.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.seeding import generator

Value = TypeVar("Value")


@dataclass(frozen=True)
class Draw:
    """Random weights from a family's own stream, and slices of a data set.

    Args:
        x: ``(N,)`` inputs of the data set.
        y: ``(N,)`` its targets.
        seed: of all streams.
        instances: how many random instances there are beside the edge cases.
        width: their largest hidden width.
        size: their largest number of data points.
        family: whose stream it is.
    """

    x: np.ndarray
    y: np.ndarray
    seed: int
    instances: int
    width: int
    size: int
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


class measured(cached_property[Value]):  # noqa: N801 - it is written like a property
    """A property that brute force measures: a test plants mistakes in it."""


# Those that have instances, each a class of its own.
FAMILIES: list[type["Instance"]] = []


@dataclass(eq=False, kw_only=True)
class Instance:
    """One network with its data.

    Args:
        x: its inputs.
        y: its targets.
    """

    # What the squared errors are averaged over, see `HalfSquaredError`.
    per: ClassVar[str] = "sample"
    stream: ClassVar[str] = ""
    # Some theorems are about bounds, without a network and its Hessian.
    is_network: ClassVar[bool] = True

    x: Tensor
    y: Tensor

    def __init_subclass__(cls, stream: str = "") -> None:
        cls.stream = stream
        if stream:
            FAMILIES.append(cls)

    @classmethod
    def drawn(cls, draw: Draw) -> list[Self]:
        """The edge cases, and as many random instances as are asked for."""
        raise NotImplementedError

    def model(self) -> nn.Module:
        """The network."""
        raise NotImplementedError

    @property
    def smooth(self) -> bool:
        """True where the loss has a Hessian.

        Where it has none, at a kink, automatic differentiation takes one side, and finite
        differences would not agree with it.
        """
        return True

    @cached_property
    def problem(self) -> cv.Problem:
        """Network, loss and data for brute force."""
        return cv.Problem(self.model(), HalfSquaredError(self.per), [(self.x, self.y)])

    @measured
    def outputs(self) -> Tensor:
        """The outputs of the network."""
        return self.model()(self.x).detach()

    @cached_property
    def loss(self) -> float:
        """The loss."""
        return float(HalfSquaredError(self.per)(self.outputs, self.y))

    @measured
    def gradient(self) -> Tensor:
        """The gradient of the loss ``(p,)``, by automatic differentiation."""
        model = self.model()
        loss = HalfSquaredError(self.per)(model(self.x), self.y)
        parts = torch.autograd.grad(loss, list(model.parameters()))
        return torch.cat([part.reshape(-1) for part in parts])

    @measured
    def hessian(self) -> Tensor:
        """The dense Hessian ``(p, p)``; the operator checks itself against finite differences."""
        check: Literal["once", False] = "once" if self.smooth else False
        return cv.dense_matrix(cv.hessian(self.problem, check=check))

    @cached_property
    def eigenvalues(self) -> Tensor:
        """The Hessian's eigenvalues, ascending."""
        return cv.dense_spectrum(self.hessian).eigenvalues

    @measured
    def ggn(self) -> Tensor:
        """The dense Gauss-Newton matrix ``(p, p)``; the Hessian beside it is checked."""
        return cv.dense_matrix(cv.ggn(self.problem, check=False))

    @cached_property
    def ggn_eigenvalues(self) -> Tensor:
        """The Gauss-Newton matrix's eigenvalues, ascending."""
        return cv.dense_spectrum(self.ggn).eigenvalues

    @property
    def trace(self) -> Tensor:
        """The Hessian's trace, as measured."""
        return self.hessian.trace()

    @cached_property
    def size(self) -> float:
        """The largest |λ| of the Hessian, as measured."""
        return float(self.eigenvalues.abs().max())


def numbers(*values: float) -> Tensor:
    """The numbers as float64."""
    return torch.tensor(values, dtype=torch.float64)


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
