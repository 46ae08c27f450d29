"""What is wrong in print about the linear network with bias, implemented as it is printed.

Equation numbers are those of singh2026cracking where no other paper is named.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.studies.identities.identities.formulas import bias_hessian


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


def sextic(of: BiasMoments, b_power: int = 2, sign_97: float = -1.0) -> Tensor:
    """Eq. (89)-(99): the coefficients ``(7,)`` of the sextic, highest power first.

    Args:
        of: the moments.
        b_power: the power of ‖b‖ in ‖b‖² + ‖w‖² of eq. (92): 2, printed as 1.
        sign_97: the sign of the terms of eq. (97) and (98): minus, printed as plus.
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


def printed_sextic_norm(of: BiasMoments) -> Tensor:
    """Eq. (92) (singh2024closed, eq. (89)): ‖b‖ + ‖w‖² without the square of ‖b‖."""
    return sextic(of, b_power=1)


def printed_sextic_sign(of: BiasMoments) -> Tensor:
    """Eq. (97), (98) (singh2024closed, eq. (94), (95)): outside the bracket of the minus sign."""
    return sextic(of, sign_97=1.0)


def printed_hessian(of: BiasMoments) -> Tensor:
    """Eq. (82), (83): the lower left blocks are not transposed, v wᵀ and b wᵀ."""
    m = len(of.w)
    right = bias_hessian(of.w, of.v, of.b, torch.ones_like(of.dx), of.dx, of.d)
    wrong = right.clone()
    wrong[m : 2 * m, :m] = right[:m, m : 2 * m]
    wrong[2 * m :, :m] = right[:m, 2 * m :]
    return wrong
