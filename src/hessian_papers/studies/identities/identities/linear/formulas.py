"""Displayed equations on the two-layer linear network, evaluated literally.

The library computes the same quantities in stabler ways; here stands what is in print, so that the
study can compare the print with brute force. What is wrong there is called ``printed``: it is used
for no result. Equation numbers are those of singh2026cracking where no other paper is named.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Moments:
    """What the spectrum of f(x) = ⟨w, v⟩ x depends on.

    Args:
        second_moment: σ_x² = mean(x²), for a ReLU cell the sum over the cell divided by n.
        target_covariance: mean(y x), likewise.
        inner: ⟨w, v⟩.
        w_squared: ‖w‖².
        v_squared: ‖v‖².
    """

    second_moment: Tensor
    target_covariance: Tensor
    inner: Tensor
    w_squared: Tensor
    v_squared: Tensor

    @classmethod
    def of(cls, w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> "Moments":
        """The moments of a network ``w``, ``v`` ``(m,)`` on ``x``, ``y`` ``(n,)``."""
        return cls(x.square().mean(), (x * y).mean(), w @ v, w @ w, v @ v)

    @property
    def residual_covariance(self) -> Tensor:
        """mean(δ x) = ⟨w, v⟩ σ_x² − mean(y x)."""
        return self.inner * self.second_moment - self.target_covariance

    @property
    def trace(self) -> Tensor:
        """The Hessian's trace, σ_x² (‖w‖² + ‖v‖²)."""
        return self.second_moment * (self.w_squared + self.v_squared)


def _around_half(total: Tensor, inside: Tensor) -> Tensor:
    """(total ± √inside)/2 ``(2,)``, the larger one first."""
    # Round-off makes a double root's discriminant negative.
    root = inside.clamp_min(0).sqrt()
    return torch.stack([(total + root) / 2, (total - root) / 2])


def outliers_by_root(of: Moments) -> Tensor:
    """Eq. (1) and (33): both outliers ``(2,)``, the larger one first."""
    dx = of.residual_covariance
    inside = of.trace.square() + 4 * (dx.square() + 2 * of.second_moment * dx * of.inner)
    return _around_half(of.trace, inside)


def squares(of: Moments, last: Tensor | None = None) -> Tensor:
    """The three squares under the root of eq. (2), ``(3,)``.

    Args:
        of: the network's moments.
        last: what the last one is 4 times the square of, if not 2⟨w, v⟩σ² − mean(yx).
    """
    s2 = of.second_moment
    last = 2 * of.inner * s2 - of.target_covariance if last is None else last
    imbalance = (s2 * of.w_squared - s2 * of.v_squared).square()
    apart = 4 * s2.square() * (of.w_squared * of.v_squared - of.inner.square())
    return torch.stack([imbalance, apart, 4 * last.square()])


def outliers_by_squares(of: Moments) -> Tensor:
    """Eq. (2), where the root is of a sum of squares: both outliers ``(2,)``."""
    return _around_half(of.trace, squares(of).sum())


def printed_poster_outliers(of: Moments) -> Tensor:
    """singh2024poster, the outlier pair ``(2,)``: the last square lacks σ² beside 2⟨w, v⟩."""
    last = 2 * of.inner - of.target_covariance
    return _around_half(of.trace, squares(of, last).sum())


def product_of_outliers(of: Moments) -> Tensor:
    """Appendix C: −λ_1 λ_2 = (⟨w, v⟩ σ_x² − mean(yx)) (3 ⟨w, v⟩ σ_x² − mean(yx))."""
    fit = of.inner * of.second_moment
    return (fit - of.target_covariance) * (3 * fit - of.target_covariance)


def outliers_by_trace(of: Moments) -> Tensor:
    """Eq. (122): both outliers ``(2,)`` from the trace and their product."""
    root = (of.trace.square() / 4 + product_of_outliers(of)).clamp_min(0).sqrt()
    return torch.stack([of.trace / 2 + root, of.trace / 2 - root])


def outlier_quadratic(of: Moments) -> Tensor:
    """Eq. (32): the coefficients ``(3,)`` of λ² − tr λ − (δx² + 2 σ_x² δx ⟨w, v⟩)."""
    dx = of.residual_covariance
    constant = -(dx.square() + 2 * of.second_moment * dx * of.inner)
    return torch.stack([torch.ones_like(dx), -of.trace, constant])


def printed_cubic(of: Moments) -> Tensor:
    """Eq. (30) of both papers: its coefficients ``(4,)``, highest power first.

    Two terms of −(λ² − δx²)(λ − σ²‖v‖²) lost their powers of λ.
    """
    s2, dx = of.second_moment, of.residual_covariance
    constant = (
        s2 * dx.square() * of.v_squared
        + dx.square() * of.v_squared
        + dx.square()
        - s2 * dx.square() * of.v_squared
    )
    return torch.stack([-torch.ones_like(dx), s2 * of.w_squared, 2 * s2 * dx * of.inner, constant])


def outlier_vector(w: Tensor, v: Tensor, eigenvalue: Tensor, dx: Tensor) -> Tensor:
    """Theorem 3.2: (λ w + δx v; δx w + λ v) ``(2m,)``, not normalised."""
    return torch.cat([eigenvalue * w + dx * v, dx * w + eigenvalue * v])


def bulk_vector(w: Tensor, v: Tensor, sign: float, c: Tensor) -> Tensor:
    """Theorem 3.3: (ẑ; s ẑ) with ẑ the part of ``c`` orthogonal to w + s v, for a sign s ``(2m,)``.

    Where w + s v = 0 nothing has to be removed. The sign is that of λ/δx; the print (Theorem 3 of
    singh2024closed, too) takes that of λ.
    """
    direction = w + sign * v
    squared = direction @ direction
    part = c - direction * (direction @ c) / squared if squared > 0 else c
    return torch.cat([part, sign * part])


def linear_hessian(w: Tensor, v: Tensor, of: Moments, upper: Tensor | None = None) -> Tensor:
    """Eq. (7)-(9): the Hessian ``(2m, 2m)`` in the order (v, w).

    Args:
        w: weights of the second layer.
        v: weights of the first layer.
        of: their moments.
        upper: what stands for w vᵀ in the upper right block: as printed, v vᵀ in eq. (10) and (11),
            and v wᵀ in eq. (12) and (13) of singh2024closed.
    """
    s2, shift = of.second_moment, of.residual_covariance * torch.eye(len(w), dtype=w.dtype)
    right = s2 * (torch.outer(w, v) if upper is None else upper) + shift
    above = torch.cat([s2 * torch.outer(w, w), right], dim=1)
    below = torch.cat([s2 * torch.outer(v, w) + shift, s2 * torch.outer(v, v)], dim=1)
    return torch.cat([above, below])


def schur_determinant(
    w: Tensor, v: Tensor, of: Moments, probe: Tensor, left: Tensor, right: Tensor
) -> Tensor:
    """|A − B D⁻¹ C| of the Schur complement at λ = ``probe``, with given outer products in B and C.

    Eq. (14): B has ``left`` = w vᵀ and C has ``right`` = v wᵀ. In print of singh2024closed both are
    v wᵀ in eq. (14), and w wᵀ and v vᵀ in eq. (16).
    """
    s2, eye = of.second_moment, torch.eye(len(w), dtype=w.dtype)
    shift = of.residual_covariance * eye
    inverse = torch.linalg.inv(s2 * torch.outer(v, v) - probe * eye)
    complement = (
        s2 * torch.outer(w, w) - probe * eye - (s2 * left + shift) @ inverse @ (s2 * right + shift)
    )
    return torch.linalg.det(complement)
