"""Displayed equations of the papers that hold as printed, evaluated literally.

The library computes the same quantities in stabler ways; here stands what is in print, so that the
study can compare the print with brute force. Equation numbers are those of singh2026cracking.
"""

import math
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


def outliers_by_root(of: Moments) -> Tensor:
    """Eq. (1) and (33): both outliers ``(2,)``, the larger one first."""
    dx = of.residual_covariance
    inside = of.trace.square() + 4 * (dx.square() + 2 * of.second_moment * dx * of.inner)
    # Round-off makes a double root's discriminant negative.
    root = inside.clamp_min(0).sqrt()
    return torch.stack([(of.trace + root) / 2, (of.trace - root) / 2])


def outliers_by_squares(of: Moments) -> Tensor:
    """Eq. (2), where the root is of a sum of squares: both outliers ``(2,)``."""
    s2 = of.second_moment
    inside = (
        (s2 * of.w_squared - s2 * of.v_squared).square()
        + 4 * s2.square() * (of.w_squared * of.v_squared - of.inner.square())
        + 4 * (2 * of.inner * s2 - of.target_covariance).square()
    )
    root = inside.clamp_min(0).sqrt()
    return torch.stack([(of.trace + root) / 2, (of.trace - root) / 2])


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


def outlier_vector(w: Tensor, v: Tensor, eigenvalue: Tensor, dx: Tensor) -> Tensor:
    """Theorem 3.2: (λ w + δx v; δx w + λ v) ``(2m,)``, not normalised."""
    return torch.cat([eigenvalue * w + dx * v, dx * w + eigenvalue * v])


def bulk_vector(w: Tensor, v: Tensor, sign: float, c: Tensor) -> Tensor:
    """Theorem 3.3: (ẑ; s ẑ) with ẑ the part of ``c`` orthogonal to w + s v, for a sign s ``(2m,)``.

    Where w + s v = 0 nothing has to be removed.
    """
    direction = w + sign * v
    squared = direction @ direction
    part = c - direction * (direction @ c) / squared if squared > 0 else c
    return torch.cat([part, sign * part])


def linear_hessian(w: Tensor, v: Tensor, of: Moments) -> Tensor:
    """Eq. (7)-(9): the Hessian ``(2m, 2m)`` in the order (v, w)."""
    s2 = of.second_moment
    cross = s2 * torch.outer(w, v) + of.residual_covariance * torch.eye(len(w), dtype=w.dtype)
    upper = torch.cat([s2 * torch.outer(w, w), cross], dim=1)
    return torch.cat([upper, torch.cat([cross.mT, s2 * torch.outer(v, v)], dim=1)])


def bias_pair(total: Tensor, residual: Tensor) -> Tensor:
    """Eq. (68): the pair ``(2,)`` from ‖v‖² + ‖w‖² and δx² + δ²."""
    root = (total.square() + 12 * residual).sqrt()
    return torch.stack([(total + root) / 2, (total - root) / 2])


def viete(p: Tensor, q: Tensor) -> Tensor:
    """Eq. (110): the three real roots ``(3,)`` of t³ + p t + q, largest first."""
    if p == 0:
        return torch.zeros(3, dtype=p.dtype)
    # Round-off moves the argument of a double root just out of [-1, 1].
    argument = (3 * q / (2 * p) * (-3 / p).sqrt()).clamp(-1, 1)
    angle = argument.arccos() / 3
    turns = torch.arange(3, dtype=p.dtype) * (2 * math.pi / 3)
    return 2 * (-p / 3).sqrt() * (angle - turns).cos()


def bias_triple(w_squared: Tensor, v_squared: Tensor, residual: Tensor) -> Tensor:
    """Eq. (107), (109), (110): the triple ``(3,)``."""
    total = w_squared + v_squared
    p = -residual - total.square() / 3
    q = -2 * total**3 / 27 - v_squared * residual / 3 + 2 * w_squared * residual / 3
    return viete(p, q) + total / 3


def bias_bound(total: Tensor, residual: Tensor) -> Tensor:
    """After eq. (110): t' = (2/3) √((‖v‖² + ‖w‖²)² + 3 (δx² + δ²))."""
    return 2 * (total.square() + 3 * residual).sqrt() / 3


def bias_quintic(w_squared: Tensor, v_squared: Tensor, residual: Tensor) -> Tensor:
    """Eq. (100)-(104): the coefficients ``(6,)`` of (λ² + A λ + B)(λ³ + C λ² + D λ + E)."""
    a = c = -(v_squared + w_squared)
    b, d, e = -3 * residual, -residual, residual * w_squared
    return torch.stack(
        [torch.ones_like(a), a + c, b + a * c + d, e + a * d + b * c, a * e + b * d, b * e]
    )


def bias_hessian(w: Tensor, v: Tensor, b: Tensor, s2: Tensor, dx: Tensor, d: Tensor) -> Tensor:
    """Eq. (77)-(81): the Hessian ``(3m, 3m)`` in the order (w, v, b), for inputs of zero mean."""
    eye, zero = torch.eye(len(w), dtype=w.dtype), torch.zeros(len(w), len(w), dtype=w.dtype)
    wv, wb = dx * eye + s2 * torch.outer(v, w), d * eye + torch.outer(b, w)
    ww, outer = s2 * torch.outer(v, v) + torch.outer(b, b), torch.outer(w, w)
    rows = [[ww, wv, wb], [wv.mT, s2 * outer, zero], [wb.mT, zero, outer]]
    return torch.cat([torch.cat(row, dim=1) for row in rows])
