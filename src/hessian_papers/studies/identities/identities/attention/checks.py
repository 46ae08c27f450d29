"""Self-attention: what is compared for Theorem 3.5 and its remarks."""

from itertools import pairwise

import numpy as np

from hessian_papers.studies.identities.identities.comparison import (
    ROOT,
    Check,
    Compared,
    Error,
    basis,
    everywhere,
    excess,
    has_bulk,
    same,
    vanishes,
    worst,
)


def _outliers(one: Compared) -> np.ndarray:
    """The three measured outliers, ascending, by their places in the closed form's order."""
    return one.eigenvalues[one.stated("is_outlier").astype(bool)]


def _trace(one: Compared) -> float:
    """tr(H) = α + ζ(‖w_K‖² + ‖w_Q‖²), which the three outliers sum to."""
    traces = np.array([_outliers(one).sum(), np.trace(one.matrix())])
    return float(np.abs(traces - one.number("trace")).max() / one.size)


def _query_key_block(one: Compared) -> float:
    """The spectrum of the Hessian without its first row and column, by Remark B.2."""
    block, (_, minus_sum, product) = one.matrix()[1:, 1:], one.stated("query_key_quadratic")
    bulk = np.full(len(block) // 2 - 1, one.number("gamma"))
    # The discriminant is a sum of squares; round-off makes it negative at a double root.
    half = -minus_sum / 2
    root = np.sqrt(max(half**2 - product, 0.0))
    found = np.sort([half - root, half + root, *bulk, *-bulk])
    # Over the whole Hessian's size: the block can vanish.
    return float(np.abs(found - np.linalg.eigvalsh(block)).max() / one.size)


def _no_gamma(one: Compared) -> bool:
    return bool(np.abs(one.number("gamma")) < 1e-13 * one.size)


def _has_condition(one: Compared) -> bool:
    """A bulk that is not 0."""
    return has_bulk(one) and not _no_gamma(one)


def _positive_zeta(one: Compared) -> bool:
    return bool(one.number("zeta") >= 0)


def _outside(one: Compared, values: np.ndarray, low: float, high: float) -> float:
    """By how much ascending values leave an interval."""
    return worst(excess(low, values[0], one.size), excess(values[-1], high, one.size))


def _upper(one: Compared, share: float = 1.0) -> float:
    """T/3 + ξ, or a share of ξ."""
    half_width = np.diff(one.stated("outlier_bounds"))[0] / 2
    return one.number("trace") / 3 + share * half_width


def _outside_print(one: Compared) -> float:
    """By how much the outliers leave T/3 ± ξ with ξ as printed."""
    away = np.abs(_outliers(one) - one.number("trace") / 3).max()
    return excess(away, one.number("printed_half_width"), one.size)


def _condition(number: int) -> Error:
    """By how much max|λ| falls below a bound on the condition number times min|λ|."""

    def error(one: Compared) -> float:
        values, bound = np.abs(one.eigenvalues), one.stated("condition_bounds")[number]
        return excess(bound * values.min(), values.max(), values.max())

    return error


def _smallest(one: Compared) -> float:
    """By how much the smallest absolute eigenvalue exceeds |γ|."""
    return excess(np.abs(one.eigenvalues).min(), np.abs(one.number("gamma")), one.size)


def _dominant(one: Compared) -> float:
    """By how much |γ| exceeds the largest outlier."""
    return excess(np.abs(one.number("gamma")), _outliers(one)[-1], one.size)


def _decrease(one: Compared) -> float:
    """By how much the bound on the condition number falls as the norms grow."""
    bounds = one.stated("growing_bound")
    size = np.abs(bounds).max()
    return worst(*(excess(before, after, size) for before, after in pairwise(bounds)))


CHECKS = {
    "attention": {
        "attention-spectrum": Check(same("eigenvalues")),
        "attention-basis": Check(basis()),
        "attention-viete": Check(same("viete_spectrum", "eigenvalues"), tolerance=ROOT),
        "attention-cubic": Check(vanishes("cubic", _outliers)),
        "attention-trace": Check(_trace),
        "attention-query-key": Check(_query_key_block, tolerance=ROOT),
        "attention-without-gamma": Check(
            same("spectrum_without_gamma", "eigenvalues"), where=_no_gamma
        ),
        "attention-outlier-bounds": Check(
            lambda one: _outside(one, _outliers(one)[-1:], _upper(one, 0.5), _upper(one))
        ),
        "attention-smallest": Check(_smallest, where=has_bulk),
        "attention-strong-condition": Check(_condition(2), where=_has_condition),
        "attention-dominant": Check(_dominant, where=_positive_zeta),
        "attention-half-width": Check(
            lambda one: _outside(one, _outliers(one), *one.stated("outlier_bounds")), _outside_print
        ),
        "attention-q": Check(
            vanishes("depressed_cubic", _outliers), vanishes("printed_depressed_cubic", _outliers)
        ),
        "attention-display": Check(same("hessian"), same("printed_hessian", "hessian")),
        "attention-largest": Check(
            # The bounds take the bulk into account.
            lambda one: _outside(one, one.eigenvalues[-1:], *one.stated("largest_bounds")),
            lambda one: excess(one.eigenvalues[-1], _upper(one), one.size),
        ),
        "attention-condition": Check(_condition(0), _condition(1), where=_has_condition),
        "attention-monotone": Check(
            _decrease, _decrease, where=_positive_zeta, printed_where=everywhere
        ),
    },
    "rowwise": {
        "rowwise-spectrum": Check(same("eigenvalues")),
    },
}
