"""Displayed equations on the linear network with bias, evaluated literally.

What is wrong in print is called ``printed``. Equation numbers are those of singh2026cracking where
no other paper is named.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class BiasMoments:
    """What the spectrum of f(x) = ⟨w, v x + b⟩ depends on, for inputs with E[x] = 0, E[x²] = 1.

    Args:
        w: ``(m,)`` weights of the second layer.
        v: ``(m,)`` weights of the first layer.
        b: ``(m,)`` biases.
        dx: mean(δ x) = ⟨w, v⟩ − mean(y x).
        d: mean(δ) = ⟨w, b⟩ − mean(y).
    """

    w: Tensor
    v: Tensor
    b: Tensor
    dx: Tensor
    d: Tensor

    @classmethod
    def of(cls, w: Tensor, v: Tensor, b: Tensor, x: Tensor, y: Tensor) -> "BiasMoments":
        """The moments of a network on ``x``, ``y`` ``(n,)``."""
        residual = (w @ v) * x + w @ b - y
        return cls(w, v, b, (residual * x).mean(), residual.mean())

    @property
    def residual(self) -> Tensor:
        """δx² + δ², the square of the bulk eigenvalue."""
        return self.dx.square() + self.d.square()


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


def bias_hessian(of: BiasMoments) -> Tensor:
    """Eq. (77)-(81): the Hessian ``(3m, 3m)`` in the order (w, v, b)."""
    w, v, b = of.w, of.v, of.b
    eye, zero = torch.eye(len(w), dtype=w.dtype), torch.zeros(len(w), len(w), dtype=w.dtype)
    wv, wb = of.dx * eye + torch.outer(v, w), of.d * eye + torch.outer(b, w)
    ww, outer = torch.outer(v, v) + torch.outer(b, b), torch.outer(w, w)
    rows = [[ww, wv, wb], [wv.mT, outer, zero], [wb.mT, zero, outer]]
    return torch.cat([torch.cat(row, dim=1) for row in rows])


def printed_hessian(of: BiasMoments) -> Tensor:
    """Eq. (82), (83): the lower left blocks are not transposed, v wᵀ and b wᵀ."""
    m, right = len(of.w), bias_hessian(of)
    wrong = right.clone()
    wrong[m : 2 * m, :m] = right[:m, m : 2 * m]
    wrong[2 * m :, :m] = right[:m, 2 * m :]
    return wrong


def sextic(of: BiasMoments, b_power: int = 2, sign_97: float = -1.0) -> Tensor:
    """Eq. (89)-(99): the coefficients ``(7,)`` of the sextic, highest power first.

    Args:
        of: the moments.
        b_power: the power of ‖b‖ in ‖b‖² + ‖w‖² of eq. (92) (singh2024closed, (89)): 2, printed as
            1.
        sign_97: the sign of the terms of eq. (97) and (98) (singh2024closed, (94), (95)): minus,
            printed as plus, outside the bracket that the minus opens.
    """
    w2, v2, b2 = of.w @ of.w, of.v @ of.v, of.b @ of.b
    wv, wb, vb, dx, d, rho = of.w @ of.v, of.w @ of.b, of.v @ of.b, of.dx, of.d, of.residual
    mixed, along = (d * of.v + dx * of.b) @ of.w, dx * wv + d * wb
    fourth = -2 * rho - 2 * along + (v2 + w2) * (b2 ** (b_power / 2) + w2) - vb**2
    third = (
        rho * (v2 + b2 + 3 * w2)
        + 2 * d * wb * (v2 + w2)
        + 2 * dx * wv * (b2 + w2)
        + sign_97 * 2 * vb * mixed
    )
    second = (
        rho**2
        + 2 * rho * along
        + 4 * dx * d * wv * wb
        - ((v2 + w2) * dx**2 + (b2 + w2) * d**2) * w2
        - mixed**2
        + sign_97 * 2 * vb * d * dx * w2
    )
    first = -(rho**2) * w2 - 2 * (dx**3 * wv + d**3 * wb) * w2 + sign_97 * 2 * mixed * d * dx * w2
    one, zero = torch.ones_like(rho), torch.zeros_like(rho)
    return torch.stack([one, -(v2 + b2 + 2 * w2), fourth, third, second, first, zero])
