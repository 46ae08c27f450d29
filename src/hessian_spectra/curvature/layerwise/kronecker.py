"""Kronecker products as approximations of a layer's Hessian."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.dense import numeric_spectrum
from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.layerwise.held import Part, Side
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import is_count, require

# Negative eigenvalues of this share of the largest come from more than rounding.
_ROUNDING = {torch.float64: 1e-10, torch.float32: 1e-4}


class KroneckerOperator(Operator):
    """``M ⊗ A`` for a weight ``(m, d)`` taken row by row; of g groups ``M_{oo'} A_{g(o) g(o')}``.

    Args:
        output: ``M (m, m)``.
        inputs: ``A (g d, g d)``, the groups one after the other.
        groups: ``g``.
    """

    def __init__(self, output: Tensor, inputs: Tensor, groups: int = 1) -> None:
        m, d = len(output), len(inputs) // groups
        super().__init__(m * d, output.dtype, output.device)
        self.output, self.inputs, self.groups = output, inputs, groups

    def _matmat(self, columns: Tensor) -> Tensor:
        g, k = self.groups, columns.shape[1]
        m, d = len(self.output), len(self.inputs) // g
        # Rows (group, member) and columns of the weight, (k, g, m / g, d).
        weights = columns.T.reshape(k, g, m // g, d)
        output = self.output.reshape(g, m // g, g, m // g)
        inputs = self.inputs.reshape(g, d, g, d)
        image = torch.einsum("gohp,gihj,khpj->kgoi", output, inputs, weights)
        return image.reshape(k, -1).T


def kronecker_spectrum(output: Tensor, inputs: Tensor, k: int) -> Spectrum:
    """The ``k`` largest eigenvalues ``μ_i ν_j`` of ``M ⊗ A``, with eigenvectors ``r_i ⊗ t_j``.

    Nothing of the size of the product is formed but the eigenvectors, when they are asked for.

    Args:
        output: ``M (m, m)``, symmetric.
        inputs: ``A (d, d)``, symmetric.
        k: how many, from 1 to ``m d``.

    Raises:
        ValueError: ``k`` is not among them.

    Example:
        >>> M, A = torch.diag(torch.tensor([1.0, 2.0])), torch.diag(torch.tensor([1.0, 10.0]))
        >>> kronecker_spectrum(M, A, 3).eigenvalues
        tensor([ 2., 10., 20.])
    """
    return eigenbasis(output, inputs).spectrum(k)


class EigenbasisOperator(Operator):
    """``(R ⊗ T) diag(values) (R ⊗ T)ᵀ`` for a weight ``(m, d)`` taken row by row.

    Args:
        values: ``(m, d)``, the eigenvalue of each ``r_i ⊗ t_j``.
        outputs: ``R (m, m)``, orthogonal, the ``r_i`` as columns.
        inputs: ``T (d, d)``, likewise.

    Example:
        >>> values = torch.tensor([[1.0, 3.0]])
        >>> A = EigenbasisOperator(values, torch.eye(1), torch.eye(2))
        >>> A.damped_inverse(1.0) @ torch.ones(2)
        tensor([0.5000, 0.2500])
    """

    def __init__(self, values: Tensor, outputs: Tensor, inputs: Tensor) -> None:
        super().__init__(values.numel(), values.dtype, values.device)
        self.values, self.outputs, self.inputs = values, outputs, inputs

    def _matmat(self, columns: Tensor) -> Tensor:
        weights = columns.T.reshape(-1, *self.values.shape)
        turned = self.values * (self.outputs.T @ weights @ self.inputs)
        return (self.outputs @ turned @ self.inputs.T).reshape(columns.shape[1], -1).T

    def damped_inverse(self, damping: float) -> "EigenbasisOperator":
        """``(A + δ I)⁻¹``, exactly.

        Raises:
            ValueError: δ does not make all eigenvalues positive. A product of factors of the whole
                second derivative, as the paper takes them, may have negative ones.
        """
        smallest = float(self.values.min()) + 0.0
        least = max(0.0, -smallest)
        require(isinstance(damping, Real), "damping", f"a number above {least:g}", damping)
        if not (damping > least or damping == 0 < smallest):
            why = ""
            if least > _ROUNDING[self.dtype] * float(self.values.max()):
                why = (
                    f": the matrix is indefinite (smallest eigenvalue {smallest:.3g}), as E[M] of "
                    "the whole second derivative makes it where a tanh or GELU follows; factors "
                    "'weighted' and 'nearest' are of the Gauss-Newton matrix, which for a convex "
                    "loss is not"
                )
            raise ValueError(f"damping: expected more than {least:g}, got {damping!r}{why}")
        return EigenbasisOperator(1 / (self.values + damping), self.outputs, self.inputs)

    def spectrum(self, k: int) -> Spectrum:
        """The ``k`` largest eigenvalues, with eigenvectors ``r_i ⊗ t_j``.

        Raises:
            ValueError: ``k`` is not from 1 to ``m d``.
        """
        size = self.values.numel()
        require(is_count(k, 1, size), "k", f"1 to {size}", k)
        largest, places = self.values.flatten().topk(k)
        left, right = places // len(self.inputs), places % len(self.inputs)

        def vectors() -> Tensor:
            pairs = self.outputs[:, left], self.inputs[:, right]
            return torch.einsum("ok,ik->oik", *pairs).reshape(size, k)

        return numeric_spectrum(largest, vectors, "eigenpairs of Kronecker factors")


def eigenbasis(output: Tensor, inputs: Tensor) -> EigenbasisOperator:
    """``M ⊗ A`` by the eigenpairs of its factors."""
    (mu, r), (nu, t) = torch.linalg.eigh(output), torch.linalg.eigh(inputs)
    return EigenbasisOperator(torch.outer(mu, nu), r, t)


def corrected_in(parts: Iterable[Part], basis: EigenbasisOperator) -> EigenbasisOperator:
    """The diagonal of the Gauss-Newton matrix in a basis, as an operator in it.

    Args:
        parts: of the matrix.
        basis: whose eigenvectors are kept.
    """
    diagonal: Any = sum(part.diagonal(basis.outputs, basis.inputs) for part in parts)
    return EigenbasisOperator(torch.as_tensor(diagonal), basis.outputs, basis.inputs)


@dataclass(frozen=True, kw_only=True)
class BestKronecker:
    """The Kronecker product nearest to a layer's Gauss-Newton matrix, as far as it was found.

    Args:
        output: ``B (m, m)``; only the product has a scale, its two factors may share it otherwise.
        inputs: ``C (d, d)``.
        change: by how much the last step changed ``B ⊗ C``, relative to its Frobenius norm.
    """

    output: Tensor
    inputs: Tensor
    change: float

    def spectrum(self, k: int) -> Spectrum:
        """The ``k`` largest eigenvalues of ``B ⊗ C``, with eigenvectors.

        Raises:
            ValueError: ``k`` is not from 1 to ``m d``.
        """
        return kronecker_spectrum(self.output, self.inputs, k)


def best_kronecker(
    parts: Callable[[], Iterable[Part]],
    start: tuple[Tensor, Tensor],
    *,
    tolerance: float,
    steps: int,
) -> BestKronecker:
    """Minimise ``‖H − B ⊗ C‖_F`` over B and C, by power iteration on the rearranged matrix.

    Given C the best B is ``Σ s D C Dᵀ / ‖C‖²`` over samples and squares, with ``D = N_nrᵀ X_n``,
    and likewise for C: a step is a pass over the data for either.

    Args:
        parts: gives those of the matrix, anew at each call.
        start: factors to start from.
        tolerance: of the relative change of ``B ⊗ C`` at which it stops.
        steps: the most.

    Raises:
        OperatorError: the matrix is zero.

    Source: Van Loan and Pitsianis (1993), section 4.
    """
    output, inputs = start
    change = 1.0
    for _ in range(steps):
        weighted = _weighted(parts(), inputs, side="output")
        if not bool(weighted.any()):
            raise OperatorError(
                "best_kronecker: the Gauss-Newton matrix is zero: the loss is linear in the "
                "outputs, or so sure of them that nothing is left (as after a training that "
                "diverged: choose a smaller learning rate), or these do not depend on the layer"
            )
        new = weighted / inputs.square().sum()
        other = _weighted(parts(), new, side="inputs") / new.square().sum()
        change = _distance((new, other), (output, inputs))
        output, inputs = new, other
        if change <= tolerance:
            break
    return BestKronecker(output=output, inputs=inputs, change=change)


def weighted_factors(
    parts: Callable[[], Iterable[Part]], start: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """``Σ s D Dᵀ / tr`` and ``Σ s Dᵀ D`` with ``D = N_nrᵀ X_n``, tr the trace of either sum.

    Args:
        parts: gives those of the matrix, anew at each call.
        start: matrices of the factors' sizes.

    Raises:
        OperatorError: the trace is zero, as that of a zero matrix.
    """
    output, inputs = (torch.eye(len(each)).to(each) for each in start)
    left = _weighted(parts(), inputs, side="output")
    trace = left.trace() if left.ndim else left
    if not bool(trace):
        raise OperatorError(
            "factors: expected a Gauss-Newton matrix with a trace for 'weighted', got 0: the loss "
            "is linear in the outputs, or these do not depend on the layer"
        )
    return left / trace, _weighted(parts(), output, side="inputs")


def _weighted(parts: Iterable[Part], factor: Tensor, side: Side) -> Tensor:
    """``Σ s D C Dᵀ`` or ``Σ s Dᵀ B D`` with ``D = N_nrᵀ X_n``."""
    return torch.as_tensor(sum(part.weighted(factor, side) for part in parts)).contiguous()


def _distance(item: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> float:
    """``‖B ⊗ C − B' ⊗ C'‖_F / ‖B ⊗ C‖_F``, of ``(B − B') ⊗ C + B' ⊗ (C − C')`` without products."""
    (b, c), (p, q) = item, other
    db, dc = b - p, c - q
    squares = db.square().sum() * c.square().sum() + p.square().sum() * dc.square().sum()
    square = squares + 2 * (db * p).sum() * (c * dc).sum()
    return float((square.clamp(min=0) / (b.square().sum() * c.square().sum())).sqrt())
