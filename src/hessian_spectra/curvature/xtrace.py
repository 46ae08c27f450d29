"""XTrace from its small matrices: the estimate of each vector, and an honest error of their mean.

With ``Y = A Ω = Q R`` for vectors ``ω_1 ... ω_n`` of random signs, vector i estimates the trace by
``t_i = tr(Q_iᵀ A Q_i) + ω_iᵀ (I − Q_i Q_iᵀ) A (I − Q_i Q_iᵀ) ω_i``, with ``Q_i`` an orthonormal
basis of the other vectors' images. All of it follows from R, ``QᵀAQ``, ``QᵀΩ`` and ``ω_iᵀ A ω_i``.
"""

from typing import NamedTuple

import torch
from torch import Tensor

# Where a few rare vectors carry the error, its own estimate follows no χ². With fewer degrees of
# freedom intervals would be up to six times too wide for spectra that fall by factors.
_FEWEST_DEGREES = 1.5


class Sketch(NamedTuple):
    """The sketch of XTrace by ``n`` vectors, in float64; with batches of such, if wanted.

    Args:
        triangle: ``(..., n, n)`` the factor R of the images.
        projected: ``(..., n, n)`` ``Qᵀ A Q``.
        coordinates: ``(..., n, n)`` ``Qᵀ Ω``.
        forms: ``(..., n)`` ``ω_iᵀ A ω_i``.
    """

    triangle: Tensor
    projected: Tensor
    coordinates: Tensor
    forms: Tensor

    def estimates(self) -> Tensor:
        """The estimate ``t_i`` of each vector, ``(..., n)``."""
        # Without image i the basis spans Q (I − s sᵀ), with s the normalised column i of R⁻ᵀ.
        left_out = _inverse_transposed(self.triangle)
        left_out = left_out / left_out.norm(dim=-2, keepdim=True)
        kept = self.coordinates - left_out * _forms(left_out, self.coordinates)[..., None, :]
        # (ω − Q a)ᵀ A (ω − Q a), term by term; Qᵀ A ω is a column of R.
        outside = self.forms - 2 * _forms(kept, self.triangle) + _forms(kept, self.projected @ kept)
        whole = self.projected.diagonal(dim1=-2, dim2=-1).sum(dim=-1, keepdim=True)
        return whole - _forms(left_out, self.projected @ left_out) + outside

    def of(self, others: list[int]) -> "Sketch":
        """The estimate, had only these vectors been drawn."""
        basis, triangle = torch.linalg.qr(self.triangle[..., others])
        return Sketch(
            triangle,
            basis.mT @ self.projected @ basis,
            basis.mT @ self.coordinates[..., others],
            self.forms[..., others],
        )


def variance(sketch: Sketch, estimates: Tensor) -> tuple[Tensor, Tensor]:
    """The variance of the mean of the estimates ``t_i``, and its degrees of freedom.

    The estimates share their vectors, so that their spread alone leaves out their covariance. Let
    ``t_i^j`` be the estimate of vector i had j not been drawn. Given all vectors but j, the error
    of ``t_j`` has mean zero, while ``t_i^j`` stays as it is; so all other terms of the product have
    mean zero, and ``cov(t_i, t_j) = E (t_i − t_i^j)(t_j − t_j^i)``. The mean of this product over
    all pairs is added to ``Σ (t_i − t̄)² / (n (n − 1))``, where it is positive. Degrees of freedom
    are those of a χ² with the relative variance of the sum: of the spread as for a normal sample,
    of the mean over pairs from its projections on single vectors.
    """
    count = estimates.shape[-1]
    moved = torch.zeros(*estimates.shape, count, dtype=torch.float64)
    for index in range(count):
        others = [other for other in range(count) if other != index]
        moved[..., index, others] = estimates[..., others] - sketch.of(others).estimates()
    # Mean over the pairs of each vector.
    pairs = (moved * moved.mT).sum(dim=-1) / (count - 1)
    spread = estimates.var(dim=-1) / count
    total = spread + pairs.mean(dim=-1).clamp(min=0.0)
    uncertainty = 2 * spread**2 / (count - 1) + 4 / count * pairs.var(dim=-1)
    degrees = 2 * total**2 / uncertainty
    # Where nothing varies there is nothing to be uncertain of.
    degrees = torch.where(uncertainty > 0, degrees, count).clamp(min=_FEWEST_DEGREES)
    return total, degrees.clamp(max=count - 1)


def left_out_share(triangle: Tensor) -> float:
    """The share of the images' squared lengths that is outside the span of the other images.

    It estimates ``‖(I − QQᵀ) A‖² / ‖A‖²`` with a basis of one image less. The part of image i
    outside of the others is as long as one over column i of ``R⁻ᵀ``.

    Args:
        triangle: ``(n, n)`` the factor R of the images.

    Example:
        >>> left_out_share(torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=torch.float64))
        0.5
    """
    outside = 1 / _inverse_transposed(triangle).square().sum(dim=0)
    return float(outside.sum() / triangle.square().sum())


def _inverse_transposed(triangle: Tensor) -> Tensor:
    """``R⁻ᵀ``."""
    identity = torch.eye(triangle.shape[-1], dtype=torch.float64)
    return torch.linalg.solve_triangular(triangle.mT, identity, upper=False)


def _forms(left: Tensor, right: Tensor) -> Tensor:
    """The dot products of corresponding columns."""
    return (left * right).sum(dim=-2)
