"""What brute force measures of a network with its data, and of which families there are instances.

The networks are those of :mod:`hessian_spectra.closed_form.instances`; a family here adds what its
theorems speak of. Families that the library has no closed form for are drawn by the same rules.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, TypeVar

import torch
from torch import Tensor

from hessian_spectra import curvature as cv
from hessian_spectra.closed_form import instances

Value = TypeVar("Value")
BRUTE_FORCE = "brute force: the dense Hessian of the network, by automatic differentiation"


class measured(cached_property[Value]):  # noqa: N801 - it is written like a property
    """A property that brute force measures: a test plants mistakes in it."""


# Those that have instances, each a class of its own.
FAMILIES: list[type["Instance"]] = []


@dataclass(eq=False, kw_only=True)
class Instance(instances.Instance):
    """One network with its data, by brute force."""

    is_network: ClassVar[bool] = True
    # What errors are taken from, where a theorem does not say it.
    source: ClassVar[str] = BRUTE_FORCE

    def __init_subclass__(cls) -> None:
        if cls.stream:
            FAMILIES.append(cls)

    @cached_property
    def problem(self) -> cv.Problem:
        """Network, loss and data for brute force."""
        return cv.Problem(self.model(), self.objective, [(self.x, self.y)])

    @measured
    def outputs(self) -> Tensor:
        """The outputs of the network."""
        return self.model()(self.x).detach()

    @cached_property
    def loss(self) -> float:
        """The loss."""
        return float(self.objective(self.outputs, self.y))

    @measured
    def gradient(self) -> Tensor:
        """The gradient of the loss ``(p,)``, by automatic differentiation."""
        model = self.model()
        loss = self.objective(model(self.x), self.y)
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


class WithoutNetwork(Instance):
    """The matrices, moments or bounds that a theorem is about where it is about no network."""

    is_network = False
