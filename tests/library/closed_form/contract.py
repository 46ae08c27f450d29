"""The contract suite takes a closed form's cases, and has the dense truth behind them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.spectrum import Spectrum

Arguments = dict[str, Any]
# Relative to the largest eigenvalue; both sides round, and the widest case has 30 parameters.
TOLERANCE = 1e-10
Loss = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Case:
    """One network and its data.

    Args:
        arguments: the closed form's arguments by name, tensors in float64.
        parameters: ``(p,)`` where the Hessian is taken, in the closed form's parameter order.
        loss: the loss as a function of such a vector, in plain torch.
        keywords: options of the closed form.
    """

    arguments: Arguments
    parameters: Tensor
    loss: Loss
    keywords: Arguments = field(default_factory=dict)

    def hessian(self) -> Tensor:
        """The dense Hessian by automatic differentiation, in float64."""
        return torch.autograd.functional.hessian(self.loss, self.parameters)


@dataclass(frozen=True, kw_only=True)
class LeastSquaresCase(Case):
    """A case whose closed form is about the Gauss-Newton matrix of the loss.

    Args:
        outputs: the outputs at all samples, as a function of the parameters.
        samples: their number.
    """

    outputs: Loss
    samples: int

    def hessian(self) -> Tensor:
        """The dense Gauss-Newton matrix, by the Jacobian from automatic differentiation."""
        jacobian = torch.autograd.functional.jacobian(self.outputs, self.parameters)
        jacobian = jacobian.reshape(-1, len(self.parameters))
        return jacobian.T @ jacobian / self.samples


@dataclass(frozen=True)
class Draws:
    """Random numbers and sizes for one case.

    Args:
        random: the stream.
        sizes: the size of each letter of ``ClosedForm.sizes``.
        weights, inputs, targets: standard deviations.
        coarse: whether to round to integers, which makes degenerate weights and data common.
    """

    random: torch.Generator
    sizes: Mapping[str, int]
    weights: float = 1.0
    inputs: float = 1.0
    targets: float = 1.0
    coarse: bool = False

    def normal(self, letters: str) -> Tensor:
        """Standard normal numbers of a shape given by letters, rounded if ``coarse``."""
        numbers = self.generic(letters)
        return numbers.round() if self.coarse else numbers

    def generic(self, letters: str) -> Tensor:
        """Standard normal numbers, never rounded."""
        shape = [self.sizes[letter] for letter in letters]
        return torch.randn(shape, dtype=torch.float64, generator=self.random)


class ClosedForm(ABC):
    """A closed form with what the suite needs to test it.

    Attributes:
        name: its name in ``hessian_spectra.closed_form``.
        sizes: for each letter of the shapes the smallest and largest size of random cases.
        shapes: for each argument the letters of its shape and which of the draws' scales it has.
        scalings: laws ``H(2^k-scaled arguments) = 2^(k s) H``: for each the power of each argument,
            and ``s`` under the key ``"hessian"``.
    """

    name: str
    sizes: Mapping[str, tuple[int, int]]
    shapes: Mapping[str, tuple[str, str]]
    scalings: list[dict[str, int]]

    @abstractmethod
    def case(self, **arguments: Any) -> Case:
        """The case of given arguments: writes the loss down."""

    def draw(self, draws: Draws) -> Case:
        """A random case that satisfies the assumptions; of ``shapes`` where there are none."""
        return self.case(
            **{
                name: getattr(draws, scale) * draws.normal(letters)
                for name, (letters, scale) in self.shapes.items()
            }
        )

    @abstractmethod
    def edges(self) -> dict[str, Case]:
        """Degenerate cases by name."""

    @abstractmethod
    def kinds(self, arguments: Arguments) -> dict[str, int]:
        """The number of eigenvalues of each kind that the theorem tells of."""

    def spectrum(self, **arguments: Any) -> Spectrum:
        """The closed form itself, of arguments by name."""
        spectrum: Spectrum = getattr(cf, self.name)(**arguments)
        return spectrum

    def violations(self) -> dict[str, Case]:
        """For each assumption, as the error names it, a case that violates it."""
        return {}

    def draws(self, seed: int = 0, **sizes: int) -> Draws:
        """Draws for a fixed case; sizes that are not given are the smallest one plus 2."""
        full = {letter: sizes.get(letter, low + 2) for letter, (low, _) in self.sizes.items()}
        return Draws(torch.Generator().manual_seed(seed), full)

    def example(self, seed: int = 0, **sizes: int) -> Case:
        """A random case of unit scale."""
        return self.draw(self.draws(seed, **sizes))


def require_spectrum(actual: Spectrum, hessian: Tensor) -> None:
    """All eigenvalues and, as an orthonormal basis, all eigenvectors are the matrix's."""
    p = len(hessian)
    truth = torch.linalg.eigvalsh(hessian)
    size = float(truth.abs().max())
    values, vectors = actual.eigenvalues, actual.eigenvectors()
    assert values.shape == (p,)
    assert values.dtype == torch.float64
    assert bool((values.diff() >= 0).all())
    assert float((values - truth).abs().max()) <= TOLERANCE * size
    assert vectors.shape == (p, p)
    assert float((vectors.T @ vectors - torch.eye(p).double()).abs().max()) <= TOLERANCE
    assert float((hessian @ vectors - vectors * values).abs().max()) <= TOLERANCE * size


def half_mean_square(residual: Tensor) -> Tensor:
    """Half the mean square, the papers' loss."""
    return (residual**2).mean() / 2


def vector(*numbers: float) -> Tensor:
    """A float64 vector."""
    return torch.tensor(numbers, dtype=torch.float64)
