"""Bounds on the spectrum of self-attention: singh2026cracking, Remarks 3.1, B.3 and B.4."""

from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, norm
from hessian_spectra.closed_form.cubic import DepressedCubic
from hessian_spectra.closed_form.self_attention import (
    AttentionCoefficients,
    read_coefficients,
    small_matrix,
)


class Bounds(NamedTuple):
    """A lower and an upper bound, ``()`` each."""

    lower: Tensor
    upper: Tensor


def attention_cubic(
    coefficients: AttentionCoefficients, w_query: ArrayLike, w_key: ArrayLike
) -> DepressedCubic:
    """The cubic of the three outliers in depressed form, ``λ = t + T/3``.

    With ``N = ‖w_K‖² + ‖w_Q‖²``, ``T = α + ζ N``, ``a_1 = (β² - α ζ) N + 2 γ ζ ⟨w_K, w_Q⟩ + γ²``
    and ``a_0 = 2 γ (β² - α ζ) ⟨w_K, w_Q⟩ - α γ²``: ``p = -a_1 - T²/3``, ``q = -(2 T³ + 9 T a_1 + 27
    a_0)/27``.

    Args:
        coefficients: ``α, β, γ, ζ``.
        w_query: ``(d_K,)``.
        w_key: ``(d_K,)``.

    Raises:
        ValueError: bad shape or type, empty or not finite input.

    Source: singh2026cracking, Appendix B.5; the print of ``q`` lacks the brackets around ``a_1``.

    Example:
        >>> c = AttentionCoefficients(*torch.tensor([1.0, 0.0, 0.5, 0.0]).double())
        >>> attention_cubic(c, [1.0, 0.0], [0.0, 1.0]).roots()
        tensor([ 1.0000,  0.5000, -0.5000], dtype=torch.float64)
    """
    coefficients, query, key = read_coefficients(coefficients, w_query, w_key)
    return DepressedCubic.of(small_matrix(coefficients, query, key))


def attention_outlier_bounds(
    coefficients: AttentionCoefficients, w_query: ArrayLike, w_key: ArrayLike
) -> Bounds:
    """``T/3 - ξ`` and ``T/3 + ξ``, which enclose all three outliers.

    ``T = α + ζ N`` is the trace, ``N = ‖w_K‖² + ‖w_Q‖²``, and ``ξ = (2/3) √(3γ² + 6ζγ⟨w_K, w_Q⟩ +
    3(β² - αζ) N + T²)``. In print the norms in the last square are not squared; that form fails.

    Args and errors are those of :func:`attention_cubic`.

    Source: singh2026cracking, Theorem 3.5.

    Example:
        >>> c = AttentionCoefficients(*torch.tensor([0.0, 0.0, 3.0, 0.0]).double())
        >>> lower, upper = attention_outlier_bounds(c, [1.0, 0.0], [0.0, 1.0])
        >>> round(float(upper), 6)  # 2 √3; the outliers are -3, 0 and 3
        3.464102
    """
    cubic = attention_cubic(coefficients, w_query, w_key)
    return Bounds(cubic.shift - cubic.half_width(), cubic.shift + cubic.half_width())


def attention_largest_eigenvalue_bounds(
    coefficients: AttentionCoefficients, w_query: ArrayLike, w_key: ArrayLike
) -> Bounds:
    """Bounds on the largest eigenvalue of the Hessian.

    The largest *outlier* lies between ``T/3 + ξ/2`` and ``T/3 + ξ``. The paper states this for the
    largest eigenvalue, but for ``ζ < 0`` that can be the bulk eigenvalue ``|γ|``: both bounds are
    therefore taken together with ``|γ|`` where there is a bulk (``d_K >= 2``).

    Args and errors are those of :func:`attention_cubic`.

    Source: singh2026cracking, Remark B.4, eq. (121), corrected.

    Example:
        >>> c = AttentionCoefficients(*torch.tensor([1.0, 0.0, 0.0, 0.0]).double())
        >>> [round(float(b), 6) for b in attention_largest_eigenvalue_bounds(c, [1.0], [1.0])]
        [0.666667, 1.0]
    """
    cubic = attention_cubic(coefficients, w_query, w_key)
    width = cubic.half_width()
    lower, upper = cubic.shift + width / 2, cubic.shift + width
    _, query, _ = read_coefficients(coefficients, w_query, w_key)
    if len(query) >= 2:
        bulk = torch.as_tensor(coefficients.gamma).detach().to(lower).abs()
        lower, upper = torch.maximum(lower, bulk), torch.maximum(upper, bulk)
    return Bounds(lower, upper)


def condition_number_bound(
    coefficients: AttentionCoefficients,
    w_query: ArrayLike,
    w_key: ArrayLike,
    *,
    signed_trace: bool = False,
) -> Tensor:
    """A lower bound on the condition number ``max|λ| / min|λ|`` of the Hessian.

    ``(2|T| + 3ξ) / (6|γ|)``: some outlier is at least ``|T|/3 + ξ/2`` in absolute value, and no
    eigenvalue of smallest absolute value exceeds the bulk's ``|γ|``.

    Args:
        coefficients: ``α, β, γ, ζ``.
        w_query: ``(d_K,)`` with ``d_K >= 2``: without bulk there is no bound.
        w_key: ``(d_K,)``.
        signed_trace: the paper's own form ``(2T + 3ξ) / (6|γ|)``, which is weaker where ``T < 0``.

    Returns:
        ``()``; infinite for ``γ = 0``, where the Hessian is singular.

    Raises:
        ValueError: ``d_K = 1``, bad shape or type, empty or not finite input.

    Source: singh2026cracking, Remark 3.1, with the norms in ``ξ`` squared.

    Example:
        >>> c = AttentionCoefficients(*torch.tensor([3.0, 0.0, 0.5, 0.0]).double())
        >>> bound = condition_number_bound(c, [1.0, 0.0], [0.0, 1.0])
        >>> bool(bound <= 3.0 / 0.5)
        True
    """
    _, query, _ = read_coefficients(coefficients, w_query, w_key)
    if len(query) < 2:
        raise ValueError(
            "w_query: expected at least 2 entries, got 1: there is no bulk to bound with"
        )
    cubic = attention_cubic(coefficients, w_query, w_key)
    trace = 3 * cubic.shift if signed_trace else 3 * cubic.shift.abs()
    bulk = torch.as_tensor(coefficients.gamma).detach().to(trace).abs()
    return (2 * trace + 3 * cubic.half_width()) / (6 * bulk)


def attention_outliers_without_bulk(
    coefficients: AttentionCoefficients, w_query: ArrayLike, w_key: ArrayLike
) -> Tensor:
    """The two outliers for ``γ = 0``; the third one and the bulk are 0.

    ``(α + ζN)/2 ± √( ((α - ζN)/2)² + β² N )`` with ``N = ‖w_K‖² + ‖w_Q‖²``: the paper's square root
    as a sum of squares. ``γ`` is not read.

    Args and errors are those of :func:`attention_cubic`.

    Returns:
        ``(2,)`` descending.

    Source: singh2026cracking, Remark B.3.

    Example:
        >>> c = AttentionCoefficients(*torch.tensor([1.0, 0.0, 0.0, 2.0]).double())
        >>> attention_outliers_without_bulk(c, [1.0], [0.0])
        tensor([2., 1.], dtype=torch.float64)
    """
    (alpha, beta, _, zeta), query, key = read_coefficients(coefficients, w_query, w_key)
    size = torch.hypot(norm(query), norm(key))
    mean, radius = (alpha + zeta * size**2) / 2, (alpha - zeta * size**2) / 2
    radius = torch.hypot(radius, beta * size)
    return torch.stack([mean + radius, mean - radius])
