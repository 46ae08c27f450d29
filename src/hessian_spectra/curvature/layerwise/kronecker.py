"""Kronecker products as approximations of a layer's Hessian."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hessian_spectra.curvature.composition import Operator
from hessian_spectra.curvature.dense import numeric_spectrum
from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.layerwise.passes import LayersBatch, Pair
from hessian_spectra.spectrum import Spectrum
from hessian_spectra.validation import is_count, require


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
    (mu, r), (nu, t) = torch.linalg.eigh(output), torch.linalg.eigh(inputs)
    return _largest(torch.outer(mu, nu), r, t, k)


def _largest(values: Tensor, r: Tensor, t: Tensor, k: int) -> Spectrum:
    """The ``k`` largest of eigenvalues ``(m, d)`` that belong to ``r_i ⊗ t_j``."""
    require(is_count(k, 1, values.numel()), "k", f"1 to {values.numel()}", k)
    largest, places = values.flatten().topk(k)
    left, right = places // len(t), places % len(t)

    def vectors() -> Tensor:
        return torch.einsum("ok,ik->oik", r[:, left], t[:, right]).reshape(values.numel(), k)

    return numeric_spectrum(largest, vectors, "eigenpairs of Kronecker factors")


def corrected_spectrum(
    batches: Iterable[LayersBatch], output: Tensor, inputs: Tensor, k: int
) -> Spectrum:
    """The largest of the Gauss-Newton matrix's diagonal in the eigenbasis of ``M ⊗ A``.

    In the basis ``r_i ⊗ t_j`` it is ``Σ s (r_iᵀ D t_j)²`` over samples and squares, with
    ``D = N_nrᵀ X_n``.

    Args:
        batches: what each batch says of the layer alone.
        output: ``M (m, m)``, symmetric.
        inputs: ``A (d, d)``, symmetric.
        k: how many, from 1 to ``m d``.

    Raises:
        ValueError: ``k`` is not among them.
    """
    r, t = torch.linalg.eigh(output).eigenvectors, torch.linalg.eigh(inputs).eigenvectors
    total: Any = 0.0
    for batch in batches:
        x = batch.inputs[0][:, 0] @ t
        pairs = ((rows @ r, signed @ r) for ((rows, signed),) in batch.squares())
        if x.shape[1] == 1:
            # Of a single position D is N xᵀ.
            weights: Any = sum((rows * signed)[:, 0] for rows, signed in pairs)
            total = total + weights.T @ x[:, 0].square()
        else:
            products = (((rows.mT @ x) * (signed.mT @ x)).sum(dim=0) for rows, signed in pairs)
            total = total + sum(products)
    return _largest(torch.as_tensor(total), r, t, k)


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
    passes: Callable[[], Iterable[LayersBatch]],
    start: tuple[Tensor, Tensor],
    *,
    tolerance: float,
    steps: int,
) -> BestKronecker:
    """Minimise ``‖H − B ⊗ C‖_F`` over B and C, by power iteration on the rearranged matrix.

    Given C the best B is ``Σ s D C Dᵀ / ‖C‖²`` over samples and squares, with ``D = N_nrᵀ X_n``,
    and likewise for C: a step is a pass over the data for either.

    Args:
        passes: gives what each batch says of the layer alone, anew at each call.
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
        weighted = _weighted(passes(), inputs, side="output")
        if not bool(weighted.any()):
            raise OperatorError(
                "best_kronecker: the Gauss-Newton matrix is zero: the loss is linear in the "
                "outputs, or so sure of them that nothing is left (as after a training that "
                "diverged: choose a smaller learning rate), or these do not depend on the layer"
            )
        new = weighted / inputs.square().sum()
        other = _weighted(passes(), new, side="inputs") / new.square().sum()
        change = _distance((new, other), (output, inputs))
        output, inputs = new, other
        if change <= tolerance:
            break
    return BestKronecker(output=output, inputs=inputs, change=change)


def weighted_factors(batches: Iterable[LayersBatch]) -> tuple[Tensor, Tensor]:
    """``Σ s D Dᵀ / tr`` and ``Σ s Dᵀ D`` with ``D = N_nrᵀ X_n``, tr the trace of either sum.

    Raises:
        OperatorError: the trace is zero, as that of a zero matrix.
    """
    left: Any = 0.0
    right: Any = 0.0
    for batch in batches:
        x = batch.inputs[0][:, 0]
        for ((rows, signed),) in batch.squares():
            gradients, others = rows.mT @ x, signed.mT @ x  # (n, m, d)
            left = left + torch.einsum("noi,npi->op", gradients, others)
            right = right + torch.einsum("noi,noj->ij", gradients, others)
    left, right = torch.as_tensor(left), torch.as_tensor(right)
    trace = left.trace() if left.ndim else left
    if not bool(trace):
        raise OperatorError(
            "factors: expected a Gauss-Newton matrix with a trace for 'weighted', got 0: the loss "
            "is linear in the outputs, or these do not depend on the layer"
        )
    return left / trace, right


def _weighted(batches: Iterable[LayersBatch], factor: Tensor, side: str) -> Tensor:
    """``Σ s D C Dᵀ`` or ``Σ s Dᵀ B D`` with ``D = N_nrᵀ X_n``."""
    total: Any = 0.0
    for batch in batches:
        inputs = batch.inputs[0][:, 0]
        weigh = _at_one_position if inputs.shape[1] == 1 else _at_several
        total = total + weigh(inputs, (pair for (pair,) in batch.squares()), factor, side)
    return torch.as_tensor(total).contiguous()


def _at_one_position(inputs: Tensor, squares: Iterable[Pair], factor: Tensor, side: str) -> Any:
    """Used once for each sample D is N xᵀ, and D C Dᵀ = (xᵀ C x) N Nᵀ."""
    x = inputs[:, 0]
    if side == "output":
        forms = ((x @ factor) * x).sum(dim=1, keepdim=True)
        return sum((signed[:, 0] * forms).T @ rows[:, 0] for rows, signed in squares)
    weights = sum(((signed[:, 0] @ factor) * rows[:, 0]).sum(dim=1) for rows, signed in squares)
    return (x.T * weights) @ x


def _at_several(inputs: Tensor, squares: Iterable[Pair], factor: Tensor, side: str) -> Any:
    total: Any = 0.0
    for rows, signed in squares:
        gradients, others = rows.mT @ inputs, signed.mT @ inputs  # (n, m, d)
        if side == "output":
            total = total + torch.einsum("noi,npi->op", others @ factor, gradients)
        else:
            total = total + torch.einsum("noi,noj->ij", factor @ gradients, others)
    return total


def _distance(item: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> float:
    """``‖B ⊗ C − B' ⊗ C'‖_F / ‖B ⊗ C‖_F``, of ``(B − B') ⊗ C + B' ⊗ (C − C')`` without products."""
    (b, c), (p, q) = item, other
    db, dc = b - p, c - q
    squares = db.square().sum() * c.square().sum() + p.square().sum() * dc.square().sum()
    square = squares + 2 * (db * p).sum() * (c * dc).sum()
    return float((square.clamp(min=0) / (b.square().sum() * c.square().sum())).sqrt())
