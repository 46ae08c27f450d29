"""Norms of the matrices of an ensemble and of their products, to compare its sharpness with."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.curvature.ensemble.chains import around, effective_weights
from hessian_spectra.models.ensemble import Ensemble


class EnsembleWeightStatistics(NamedTuple):
    """Norms of the matrices of ``N`` networks of ``L`` layers.

    The last axis of each array is the spectral, the Frobenius and the nuclear norm; NaN for a
    network with weights that are not finite.

    Attributes:
        norms: ``(N, L, 3)`` of each W_l.
        products: ``(N, L, 3)`` of W_L ⋯ W_{l+1} W_{l−1} ⋯ W_1, the product without W_l; NaN
            where there is none, because W_l is not square and stands between two others or alone.
        alignments: ``(N, 3)`` for two layers and as many inputs as outputs, else NaN: the largest
            singular value, the absolute trace and the sum of singular values of W_2 W_1.
    """

    norms: Tensor
    products: Tensor
    alignments: Tensor


class EnsembleBlockBounds(NamedTuple):
    """Bounds on the largest eigenvalues of ``N`` Hessians by their diagonal blocks.

    Attributes:
        blocks: ``(N, L)`` the largest eigenvalue of each layer's block; NaN for a network with
            weights that are not finite.
    """

    blocks: Tensor

    @property
    def largest(self) -> Tensor:
        """``(N,)`` their largest, a lower bound of the largest eigenvalue at any loss."""
        return self.blocks.amax(dim=1)

    @property
    def total(self) -> Tensor:
        """``(N,)`` their sum, an upper bound of the Gauss-Newton matrix's largest eigenvalue."""
        return self.blocks.sum(dim=1)


def ensemble_weight_statistics(ensemble: Ensemble) -> EnsembleWeightStatistics:
    """Norms of the raw matrices ``W_l``, of the products without one, and alignments.

    Args:
        ensemble: the networks; their multipliers and activation do not matter here.

    Source: singh2026cracking, D.1.3 (norms, and alignments of W = W_1 and V = W_2ᵀ) and D.1.4
    (products).

    Example:
        >>> item = Ensemble(weights=(torch.tensor([[[3.0], [4.0]]]), torch.tensor([[[0.0, 2.0]]])),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> statistics = ensemble_weight_statistics(item)
        >>> statistics.norms[0, :, 0].tolist(), statistics.products[0, :, 0].tolist()
        ([5.0, 2.0], [2.0, 5.0])
        >>> statistics.alignments[0].tolist()
        [8.0, 8.0, 8.0]
    """
    weights, finite = _finite(ensemble.weights)
    norms = torch.stack([_norms(weight) for weight in weights], dim=1)
    if len(weights) == 2:
        products = norms.flip(dims=(1,))
    else:
        products = torch.stack(_without_one(weights), dim=1)
    alignments = torch.full_like(norms[:, 0], torch.nan)
    if len(weights) == 2 and ensemble.sizes[0] == ensemble.sizes[-1]:
        whole = weights[1] @ weights[0]
        alignments = _norms(whole)
        alignments[:, 1] = whole.diagonal(dim1=1, dim2=2).sum(dim=1).abs()
    return EnsembleWeightStatistics(
        *(_blank(part, finite) for part in (norms, products, alignments))
    )


def _without_one(weights: list[Tensor]) -> list[Tensor]:
    """Norms of the product without W_l for each layer."""
    norms, last = [], len(weights) - 1
    for layer, (weight, (left, right)) in enumerate(zip(weights, around(weights), strict=True)):
        if layer in (0, last) and last > 0:
            norms.append(_norms(right if layer else left))
        elif weight.shape[1] == weight.shape[2]:
            norms.append(_norms(left @ right).expand(len(weight), -1))
        else:
            norms.append(torch.full((len(weight), 3), torch.nan).to(weight))
    return norms


def ensemble_block_bounds(ensemble: Ensemble, sxx: Tensor | None = None) -> EnsembleBlockBounds:
    """Largest eigenvalues of the diagonal blocks of a linear network's Hessian.

    With ``A_l = a_l W_l`` the block of layer l is a Kronecker product, and its largest eigenvalue
    ``a_l² ‖A_L ⋯ A_{l+1}‖² ‖A_{l−1} ⋯ A_1 S_xx^{1/2}‖²`` in spectral norms. For a ReLU network
    these are the same numbers of its matrices.

    Args:
        ensemble: the networks.
        sxx: ``(D, D)`` second moments of the inputs; by default the identity, as the papers have.

    Raises:
        ValueError: ``sxx`` has another shape.

    Source: singh2026cracking, D.3.3 (the largest, two layers); anon2026data, equation (10) (the
    sum).

    Example:
        >>> item = Ensemble(weights=(torch.full((1, 1, 1), 2.0), torch.ones(1, 1, 1)),
        ...                multipliers=(1.0, 1.0), activation="linear")
        >>> bounds = ensemble_block_bounds(item)
        >>> bounds.blocks.tolist(), bounds.largest.item(), bounds.total.item()
        ([[1.0, 4.0]], 4.0, 5.0)
    """
    inputs = ensemble.sizes[0]
    if sxx is not None and sxx.shape != (inputs, inputs):
        raise ValueError(f"sxx: expected shape {(inputs, inputs)}, got {tuple(sxx.shape)}")
    weights, finite = _finite(effective_weights(ensemble))
    root = torch.eye(inputs).to(weights[0]) if sxx is None else _root(sxx.to(weights[0]))
    blocks = [
        (multiplier * _spectral(left) * _spectral(right @ root)).square()
        for multiplier, (left, right) in zip(ensemble.multipliers, around(weights), strict=True)
    ]
    return EnsembleBlockBounds(_blank(torch.stack(blocks, dim=1), finite))


def _finite(weights: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """Weights in float64, zero where a network is not finite, and which are finite."""
    finite = torch.stack([torch.isfinite(part).all(dim=2).all(dim=1) for part in weights]).all(
        dim=0
    )
    return [torch.where(finite[:, None, None], part.double(), 0.0) for part in weights], finite


def _blank(values: Tensor, finite: Tensor) -> Tensor:
    """NaN where a network is not finite."""
    return torch.where(finite.view(-1, *[1] * (values.ndim - 1)), values, torch.nan)


def _norms(matrices: Tensor) -> Tensor:
    """The spectral, the Frobenius and the nuclear norm ``(N, 3)``."""
    singular = torch.linalg.svdvals(matrices)
    return torch.stack([singular[:, 0], singular.norm(dim=1), singular.sum(dim=1)], dim=1)


def _spectral(matrices: Tensor) -> Tensor:
    return torch.linalg.svdvals(matrices)[:, 0]


def _root(matrix: Tensor) -> Tensor:
    """The symmetric root of a positive semi-definite matrix."""
    values, vectors = torch.linalg.eigh(matrix)
    return vectors * values.clamp(min=0).sqrt() @ vectors.mT
