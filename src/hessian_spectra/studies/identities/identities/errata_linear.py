"""What is wrong in print about the two-layer linear network, implemented as it is printed.

Nothing here is used for results: the study measures how far these forms are from brute force.
Equation numbers are those of singh2026cracking where no other paper is named.
"""

import torch
from torch import Tensor

from hessian_spectra.studies.identities.identities.formulas import Moments, bulk_vector


def printed_poster_outliers(of: Moments) -> Tensor:
    """singh2024poster, the outlier pair ``(2,)``: the last square lacks σ² beside 2⟨w, v⟩."""
    s2 = of.second_moment
    inside = (
        (s2 * of.w_squared - s2 * of.v_squared).square()
        + 4 * s2.square() * (of.w_squared * of.v_squared - of.inner.square())
        + 4 * (2 * of.inner - of.target_covariance).square()
    )
    root = inside.clamp_min(0).sqrt()
    return torch.stack([(of.trace + root) / 2, (of.trace - root) / 2])


def printed_bulk_vector(w: Tensor, v: Tensor, eigenvalue: Tensor, c: Tensor) -> Tensor:
    """Theorem 3.3 (singh2024closed, Theorem 3): the sign is that of λ, not of λ/δx."""
    return bulk_vector(w, v, float(eigenvalue.sign()), c)


def printed_smallest(of: Moments) -> Tensor:
    """After eq. (34), in both papers: λ_min = −δx, without an absolute value."""
    return -of.residual_covariance


def printed_hessian(w: Tensor, v: Tensor, of: Moments) -> Tensor:
    """Eq. (10) and (11): the upper right block has v vᵀ where w vᵀ belongs."""
    return _hessian(w, v, of, upper=torch.outer(v, v))


def printed_hessian_2024(w: Tensor, v: Tensor, of: Moments) -> Tensor:
    """singh2024closed, eq. (12) and (13): both off-diagonal blocks have v wᵀ."""
    return _hessian(w, v, of, upper=torch.outer(v, w))


def _hessian(w: Tensor, v: Tensor, of: Moments, upper: Tensor) -> Tensor:
    s2, shift = of.second_moment, of.residual_covariance * torch.eye(len(w), dtype=w.dtype)
    first = torch.cat([s2 * torch.outer(w, w), s2 * upper + shift], dim=1)
    second = torch.cat([s2 * torch.outer(v, w) + shift, s2 * torch.outer(v, v)], dim=1)
    return torch.cat([first, second])


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


def schur_determinant(
    w: Tensor, v: Tensor, of: Moments, probe: Tensor, left: Tensor, right: Tensor
) -> Tensor:
    """|A − B D⁻¹ C| of the Schur complement at λ = ``probe``, with given outer products in B and C.

    Eq. (14): B has ``left`` = w vᵀ and C has ``right`` = v wᵀ.
    """
    s2, eye = of.second_moment, torch.eye(len(w), dtype=w.dtype)
    shift = of.residual_covariance * eye
    inverse = torch.linalg.inv(s2 * torch.outer(v, v) - probe * eye)
    complement = (
        s2 * torch.outer(w, w) - probe * eye - (s2 * left + shift) @ inverse @ (s2 * right + shift)
    )
    return torch.linalg.det(complement)


def printed_schur_2024_14(w: Tensor, v: Tensor, of: Moments, probe: Tensor) -> Tensor:
    """singh2024closed, eq. (14): v wᵀ on both sides of the inverse."""
    outer = torch.outer(v, w)
    return schur_determinant(w, v, of, probe, outer, outer)


def printed_schur_2024_16(w: Tensor, v: Tensor, of: Moments, probe: Tensor) -> Tensor:
    """singh2024closed, eq. (16): w wᵀ on the left and v vᵀ on the right of the inverse."""
    return schur_determinant(w, v, of, probe, torch.outer(w, w), torch.outer(v, v))
