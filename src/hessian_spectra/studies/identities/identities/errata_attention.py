"""What is wrong in print about self-attention, implemented as it is printed.

All of it is in singh2026cracking, section 3.3 and appendix B.5. In its symbols N = ‖w_K‖² + ‖w_Q‖²,
k = ⟨w_K, w_Q⟩ and T = α + ζ N.
"""

import torch
from torch import Tensor

from hessian_spectra.closed_form import AttentionCoefficients


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


def printed_q(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The constant q of the depressed cubic: 9 T multiplies (β² − αζ) N and not what follows it."""
    alpha, beta, gamma, zeta = of
    norms, inner = w_key @ w_key + w_query @ w_query, w_key @ w_query
    trace, difference = alpha + zeta * norms, beta**2 - alpha * zeta
    after = 2 * gamma * zeta * inner + gamma**2
    constant = 2 * gamma * difference * inner - alpha * gamma**2
    return -(2 * trace**3 + 9 * trace * difference * norms + after + 27 * constant) / 27


def printed_half_width(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The half width ξ, displayed three times: ζ‖w_K‖ + ζ‖w_Q‖ + α, norms without a square.

    The root can be of a negative number; the nearest width that is a number is then 0.
    """
    alpha, beta, gamma, zeta = of
    norms, inner = w_key @ w_key + w_query @ w_query, w_key @ w_query
    linear = (beta**2 - alpha * zeta) * norms + 2 * gamma * zeta * inner + gamma**2
    inside = 3 * linear + (zeta * w_key.norm() + zeta * w_query.norm() + alpha) ** 2
    return 2 * inside.clamp_min(0).sqrt() / 3


def printed_condition_bound(of: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """Remark 3.1, (2 T + 3 ξ)/(6|γ|), with ξ as it is printed."""
    trace = of.alpha + of.zeta * (w_key @ w_key + w_query @ w_query)
    return (2 * trace + 3 * printed_half_width(of, w_query, w_key)) / (6 * of.gamma.abs())
