"""Self-attention: what is compared for Theorem 3.5 and its remarks."""

from itertools import pairwise

import numpy as np

from hessian_spectra.results import Arrays
from hessian_spectra.studies.identities.identities.checks.check import (
    ROOT,
    Check,
    Errors,
    among,
    basis,
    largest,
    same,
    vanishes,
)
from hessian_spectra.studies.identities.identities.checks.ragged import (
    each,
    excess,
    numbers,
    parts,
    square,
)

_SIZES = largest("attention")


def _outliers(exact: Arrays, numeric: Arrays) -> list[np.ndarray]:
    """The three outliers of brute force, ascending, by their places in the closed form's order."""
    masks = parts(exact, "attention.is_outlier")
    return [
        values[mask.astype(bool)]
        for values, mask in zip(parts(numeric, "attention.eigenvalues"), masks, strict=True)
    ]


def _trace(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """tr(H) = α + ζ(‖w_K‖² + ‖w_Q‖²), which the three outliers sum to."""
    sums = np.array([three.sum() for three in _outliers(exact, numeric)])
    traces = np.array([np.trace(square(part)) for part in parts(numeric, "attention.hessian")])
    found = np.abs(np.stack([sums, traces]) - numbers(exact, "attention.trace")).max(axis=0)
    return found / _SIZES(numeric)


def _query_key_block(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """The spectrum of the Hessian without its first row and column, by Remark B.2."""

    def one(matrix: np.ndarray, quadratic: np.ndarray, gamma: float, size: float) -> float:
        block = square(matrix)[1:, 1:]
        bulk = [gamma] * (len(block) // 2 - 1)
        # The discriminant is a sum of squares; round-off makes it negative at a double root.
        half = -quadratic[1] / 2
        root = np.sqrt(max(half**2 - quadratic[2], 0.0))
        found = np.sort([half - root, half + root, *bulk, *(-value for value in bulk)])
        # Over the whole Hessian's size: the block can vanish.
        return float(np.abs(found - np.linalg.eigvalsh(block)).max() / size)

    return each(
        one,
        parts(numeric, "attention.hessian"),
        parts(exact, "attention.query_key_quadratic"),
        numbers(exact, "attention.gamma"),
        _SIZES(numeric),
    )


def _no_gamma(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return np.abs(numbers(exact, "attention.gamma")) < 1e-13 * _SIZES(numeric)


def _bulk(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return numbers(exact, "attention.width") > 1


def _half_widths(exact: Arrays) -> np.ndarray:
    """Half the length ξ of the interval around T/3."""
    return np.array([np.diff(pair)[0] / 2 for pair in parts(exact, "attention.outlier_bounds")])


def _outside(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the outliers leave [T/3 - ξ, T/3 + ξ]."""

    def one(three: np.ndarray, bounds: np.ndarray, size: float) -> float:
        return max(excess(bounds[0], three[0], size), excess(three[-1], bounds[1], size))

    bounds = parts(exact, "attention.outlier_bounds")
    return each(one, _outliers(exact, numeric), bounds, _SIZES(numeric))


def _outside_print(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the outliers leave T/3 ± ξ with ξ as printed."""
    centres = numbers(exact, "attention.trace") / 3
    away = [
        np.abs(three - centre).max()
        for three, centre in zip(_outliers(exact, numeric), centres, strict=True)
    ]
    return each(excess, away, numbers(exact, "attention.printed_half_width"), _SIZES(numeric))


def _largest_outlier(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the largest outlier leaves [T/3 + ξ/2, T/3 + ξ]."""

    def one(three: np.ndarray, trace: float, width: float, size: float) -> float:
        low, high = trace / 3 + width / 2, trace / 3 + width
        return max(excess(low, three[-1], size), excess(three[-1], high, size))

    return each(
        one,
        _outliers(exact, numeric),
        numbers(exact, "attention.trace"),
        _half_widths(exact),
        _SIZES(numeric),
    )


def _largest_eigenvalue(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much λ_max leaves the bounds that take the bulk into account."""

    def one(values: np.ndarray, bounds: np.ndarray, size: float) -> float:
        return max(excess(bounds[0], values[-1], size), excess(values[-1], bounds[1], size))

    return each(
        one,
        parts(numeric, "attention.eigenvalues"),
        parts(exact, "attention.largest_bounds"),
        _SIZES(numeric),
    )


def _largest_eigenvalue_print(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the largest eigenvalue of the Hessian exceeds T/3 + ξ."""
    bounds = numbers(exact, "attention.trace") / 3 + _half_widths(exact)
    tops = [values[-1] for values in parts(numeric, "attention.eigenvalues")]
    return each(excess, tops, bounds, _SIZES(numeric))


def _condition(number: int) -> Errors:
    """By how much max|λ| falls below a bound on the condition number times min|λ|."""

    def errors(exact: Arrays, numeric: Arrays) -> np.ndarray:
        found = []
        for bounds, values in zip(
            parts(exact, "attention.condition_bounds"),
            parts(numeric, "attention.eigenvalues"),
            strict=True,
        ):
            low, high = np.abs(values).min(), np.abs(values).max()
            # Without a bulk the bound is infinite; those instances are not asked for.
            with np.errstate(invalid="ignore"):
                found.append(excess(float(bounds[number] * low), float(high), float(high)))
        return np.array(found)

    return errors


def _has_condition(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """A bulk that is not 0."""
    return _bulk(exact, numeric) & ~_no_gamma(exact, numeric)


def _smallest(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the smallest absolute eigenvalue exceeds |γ|."""
    lowest = [np.abs(values).min() for values in parts(numeric, "attention.eigenvalues")]
    return each(excess, lowest, np.abs(numbers(exact, "attention.gamma")), _SIZES(numeric))


def _dominant(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much |γ| exceeds the largest outlier."""
    tops = [three[-1] for three in _outliers(exact, numeric)]
    return each(excess, np.abs(numbers(exact, "attention.gamma")), tops, _SIZES(numeric))


def _positive_zeta(exact: Arrays, numeric: Arrays) -> np.ndarray:
    return numbers(exact, "attention.zeta") >= 0


def _decrease(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """By how much the bound on the condition number falls as the norms grow."""

    def one(bounds: np.ndarray) -> float:
        size = np.abs(bounds).max()
        return max(excess(before, after, size) for before, after in pairwise(bounds))

    return each(one, parts(exact, "attention.growing_bound"))


CHECKS = {
    "attention-spectrum": Check("Theorem 3.5: spectrum", same("eigenvalues", "attention")),
    "attention-basis": Check("Theorem 3.5: eigenvectors (ours)", basis("attention")),
    "attention-viete": Check(
        "Theorem 3.5: Viète", same("viete_spectrum", "attention", "eigenvalues"), None, ROOT
    ),
    "attention-cubic": Check("Theorem 3.5: cubic", vanishes("attention", "cubic", _outliers)),
    "attention-trace": Check("eq. (121): trace", _trace),
    "attention-query-key": Check("Remark B.2", _query_key_block, None, ROOT),
    "attention-without-gamma": Check(
        "Remark B.3",
        among(same("spectrum_without_gamma", "attention", "eigenvalues"), _no_gamma),
    ),
    "attention-outlier-bounds": Check("Remark B.4: outlier", _largest_outlier),
    "attention-smallest": Check("section 3.3: |λ_min|", among(_smallest, _bulk)),
    "attention-strong-condition": Check(
        "Remark 3.1, stronger (ours)", among(_condition(2), _has_condition)
    ),
    "attention-dominant": Check("ζ ≥ 0: λ_max (ours)", among(_dominant, _positive_zeta)),
    "rowwise-spectrum": Check("other activations", same("eigenvalues", "rowwise")),
    "attention-half-width": Check("Theorem 3.5: ξ", _outside, _outside_print),
    "attention-q": Check(
        "Theorem 3.5: q",
        vanishes("attention", "depressed_cubic", _outliers),
        vanishes("attention", "printed_depressed_cubic", _outliers),
    ),
    "attention-display": Check(
        "Theorem 3.5: Hessian",
        same("hessian", "attention"),
        same("printed_hessian", "attention", "hessian"),
    ),
    "attention-largest": Check("Remark B.4: λ_max", _largest_eigenvalue, _largest_eigenvalue_print),
    "attention-condition": Check(
        "Remark 3.1",
        among(_condition(0), _has_condition),
        among(_condition(1), _has_condition),
    ),
    "attention-monotone": Check(
        "Remark 3.1: monotone", among(_decrease, _positive_zeta), _decrease
    ),
}
