"""Displayed equations on self-attention, evaluated literally; what is wrong there is ``printed``.

All of it is in singh2026cracking, section 3.3 and appendix B.5. In its symbols N = ‖w_K‖² + ‖w_Q‖²,
k = ⟨w_K, w_Q⟩ and T = α + ζ N.
"""

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form import AttentionCoefficients

# How far one of the two weight vectors grows (and the other shrinks, so that ⟨w_K, w_Q⟩ stays)
# where the monotonicity of a bound is looked at.
_STRETCHES = (1.0, 1.05, 1.5, 4.0)


def displayed_hessian(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The second displayed Hessian ``(1 + 2 d_K, 1 + 2 d_K)``, in the order (w_V, w_Q, w_K)."""
    alpha, beta, gamma, zeta = of
    outer = zeta * torch.outer(w_key, w_query) + gamma * torch.eye(len(w_key), dtype=w_key.dtype)
    first = torch.cat([alpha.reshape(1), beta * w_key, beta * w_query])
    middle = torch.cat([zeta * torch.outer(w_key, w_key), outer], dim=1)
    last = torch.cat([outer.mT, zeta * torch.outer(w_query, w_query)], dim=1)
    below = torch.cat([first[1:, None], torch.cat([middle, last])], dim=1)
    return torch.cat([first[None], below])


def printed_hessian(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The first displayed Hessian: its columns are labelled (w_V, w_K, w_Q).

    Returns:
        The matrix with its columns brought to the order (w_V, w_Q, w_K) of its rows.
    """
    d = len(w_key)
    columns = torch.cat([torch.arange(1), torch.arange(1 + d, 1 + 2 * d), torch.arange(1, 1 + d)])
    return displayed_hessian(of, w_query, w_key)[:, columns]


def _symbols(
    of: AttentionCoefficients, w_query: Tensor, w_key: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """N, k, T and β² − αζ."""
    norms, inner = w_key @ w_key + w_query @ w_query, w_key @ w_query
    return norms, inner, of.alpha + of.zeta * norms, of.beta**2 - of.alpha * of.zeta


def cubic(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The third-order polynomial before Remark B.3, coefficients ``(4,)``, highest power first."""
    alpha, _, gamma, zeta = of
    norms, inner, trace, difference = _symbols(of, w_query, w_key)
    linear = difference * norms + 2 * gamma * zeta * inner + gamma**2
    constant = 2 * gamma * difference * inner - alpha * gamma**2
    return torch.stack([-torch.ones_like(alpha), trace, linear, constant])


def in_eigenvalue(cubic: cf.DepressedCubic, q: Tensor) -> Tensor:
    """The coefficients ``(4,)`` of t³ + p t + q in λ = t + T/3, highest power first."""
    shift = cubic.shift
    constant = -(shift**3) - cubic.p * shift + q
    return torch.stack([torch.ones_like(q), -3 * shift, 3 * shift**2 + cubic.p, constant])


def printed_q(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The constant q of the depressed cubic: 9 T multiplies (β² − αζ) N and not what follows it."""
    alpha, _, gamma, zeta = of
    norms, inner, trace, difference = _symbols(of, w_query, w_key)
    after = 2 * gamma * zeta * inner + gamma**2
    constant = 2 * gamma * difference * inner - alpha * gamma**2
    return -(2 * trace**3 + 9 * trace * difference * norms + after + 27 * constant) / 27


def query_key_quadratic(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """Remark B.2: that of a two-layer linear network with σ² = ζ and δx = γ, ``(3,)``."""
    norms, inner, _, _ = _symbols(of, w_query, w_key)
    constant = -(of.gamma**2) - 2 * of.zeta * of.gamma * inner
    return torch.stack([torch.ones_like(of.gamma), -of.zeta * norms, constant])


def printed_half_width(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The half width ξ, displayed three times: ζ‖w_K‖ + ζ‖w_Q‖ + α, norms without a square.

    The root can be of a negative number; the nearest width that is a number is then 0.
    """
    norms, inner, _, difference = _symbols(of, w_query, w_key)
    linear = difference * norms + 2 * of.gamma * of.zeta * inner + of.gamma**2
    inside = 3 * linear + (of.zeta * w_key.norm() + of.zeta * w_query.norm() + of.alpha) ** 2
    return 2 * inside.clamp_min(0).sqrt() / 3


def printed_condition_bound(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """Remark 3.1, (2 T + 3 ξ)/(6|γ|), with ξ as it is printed."""
    _, _, trace, _ = _symbols(of, w_query, w_key)
    return (2 * trace + 3 * printed_half_width(of, w_query, w_key)) / (6 * of.gamma.abs())


def condition_bounds(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """Remark 3.1 corrected, as printed, and stronger ``(3,)``; zeros where there is no bulk."""
    if len(w_key) < 2:
        return torch.zeros(3, dtype=torch.float64)
    bounds = [
        cf.condition_number_bound(of, w_query, w_key, signed_trace=True),
        printed_condition_bound(of, w_query, w_key),
        cf.condition_number_bound(of, w_query, w_key),
    ]
    return torch.stack(bounds)


def growing_bound(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """T/3 + ξ/2 of Remark 3.1, as ‖w_K‖² + ‖w_Q‖² grows at fixed ⟨w_K, w_Q⟩."""
    larger = w_query.norm() >= w_key.norm()
    longer, shorter = (w_query, w_key) if larger else (w_key, w_query)
    cubics = [cf.attention_cubic(of, longer * by, shorter / by) for by in _STRETCHES]
    return torch.stack([cubic.shift + cubic.half_width() / 2 for cubic in cubics])
