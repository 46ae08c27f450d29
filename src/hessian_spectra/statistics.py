"""Correlations, intervals by Student's t, and trends."""

from typing import Any, NamedTuple

import numpy as np

# Its submodule for statistics, which takes half a second, is loaded when it is first asked for.
import scipy
from numpy.typing import NDArray
from scipy.special import stdtrit

Array = NDArray[np.float64]

# A quantity that varies by less than this, relative to its size, is constant up to round-off.
CONSTANT = 1e-12


def correlations(target: np.ndarray, quantities: np.ndarray) -> Array:
    """Pearson's correlation of each quantity with the target, over the members of each point.

    r = cov(q, t) / √(var q · var t). A member whose target or one of whose quantities is not finite
    is left out, at its point only. A quantity that is NaN for all members is absent: its
    correlation is NaN and it leaves nobody out. Where target or quantity is constant no correlation
    is defined: NaN.

    Args:
        target: ``(X, N)`` for each point its members' target.
        quantities: ``(X, N, C)`` what is correlated with it.

    Returns:
        ``(X, C)``, NaN where it is not defined.

    Raises:
        ValueError: the shapes do not fit together.

    Example:
        >>> target = np.array([[1.0, 2.0, 3.0, np.nan]])
        >>> quantities = np.array([[[2.0], [1.0], [0.0], [7.0]]])
        >>> correlations(target, quantities).tolist()
        [[-1.0]]
    """
    if quantities.shape[:-1] != target.shape:
        raise ValueError(
            "expected target (X, N) and quantities (X, N, C), got "
            f"{target.shape} and {quantities.shape}"
        )
    used = members_used(target, quantities)
    # Standardised, the sums below are of order one and lose no digits.
    a, b = _standardised(target[..., None], used), _standardised(quantities, used)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    r = (a * b).sum(axis=1) / np.where(scale > 0, scale, np.nan)
    return np.clip(r, -1.0, 1.0)


def members_used(target: np.ndarray, quantities: np.ndarray) -> NDArray[np.bool_]:
    """Which members of each point have a finite target and all the point's quantities finite.

    Args:
        target: ``(X, N)``.
        quantities: ``(X, N, C)``; one that is NaN for all members is absent.

    Returns:
        ``(X, N)``.
    """
    finite = np.isfinite(quantities)
    absent = ~finite.any(axis=-2, keepdims=True)
    return np.isfinite(target) & (finite | absent).all(axis=-1)


def _standardised(values: np.ndarray, used: np.ndarray) -> Array:
    """``(X, N, C)`` values less their mean, over their deviation; 0 where not used or constant."""
    mask = used[..., None] & np.isfinite(values)
    filled = np.where(mask, values, 0.0)
    number = np.maximum(mask.sum(axis=1, keepdims=True), 1)
    mean = filled.sum(axis=1, keepdims=True) / number
    centred = np.where(mask, filled - mean, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=1, keepdims=True) / number)
    constant = deviation <= CONSTANT * np.abs(filled).max(axis=1, keepdims=True, initial=0.0)
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation))


def leave_one_out(members: int) -> Array:
    """The counts ``(members, members)`` whose row i leaves out member i: the jackknife's.

    Example:
        >>> leave_one_out(3).tolist()
        [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    return np.ones((members, members)) - np.eye(members)


def student_interval(
    mean: Any, standard_error: Any, degrees_of_freedom: Any, skewness: Any, level: float
) -> tuple[Array, Array]:
    """An interval for what a mean of few samples, that may be skewed, estimates.

    Student's ``m ± t s``, stretched at the side of the long tail to Hall's ``m − s T(∓t)``, where
    ``T(q) = (3/g) ((1 + g (q − g/6))^{1/3} − 1)`` solves ``q = T + g T²/3 + g² T³/27 + g/6``: where
    large samples are rare, a mean without them comes with a standard error that is too small.

    Args:
        mean: the mean m, any shape; the others broadcast with it.
        standard_error: s, its standard deviation as estimated.
        degrees_of_freedom: those of that estimate.
        skewness: g of the mean, which is the samples' divided by the root of their number.
        level: the share of intervals that should hold the expected value, such as 0.95.

    Returns:
        Lower and upper ends.

    Raises:
        ValueError: the level is not in (0, 1).

    Source: Hall (1992), On the removal of skewness by transformation, section 2.

    Example:
        >>> low, high = student_interval(1.0, 0.1, 10, 0.0, 0.95)
        >>> round(float(low), 4), round(float(high), 4)
        (0.7772, 1.2228)
    """
    if not 0 < level < 1:
        raise ValueError(f"level: expected a share in (0, 1), such as 0.95, got {level}")
    quantile = stdtrit(degrees_of_freedom, (1 + level) / 2)
    skewness = np.asarray(skewness, dtype=np.float64)
    # Below, the transformation is the identity up to rounding.
    straight = np.abs(skewness) < 1e-6
    divisor = np.where(straight, 1.0, skewness)
    ends = []
    for q in (quantile, -quantile):
        curved = 3 / divisor * (np.cbrt(1 + divisor * (q - divisor / 6)) - 1)
        ends.append(mean - standard_error * np.where(straight, q, curved))
    margin = quantile * standard_error
    low, high = np.minimum(ends[0], mean - margin), np.maximum(ends[1], mean + margin)
    return np.asarray(low), np.asarray(high)


class MeanInterval(NamedTuple):
    """A mean of independent samples, any shape.

    Attributes:
        value: the mean.
        low: the lower end of its interval.
        high: its upper end.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def student_mean(samples: np.ndarray, *, skewed: bool = False, level: float = 0.95) -> MeanInterval:
    """The mean of independent samples with Student's interval, unbounded for a single sample.

    Args:
        samples: ``(N, ...)``.
        skewed: heed the samples' skewness, of which few samples tell little.
        level: the share of intervals that should hold the expected value.

    Returns:
        Each ``(...)``.

    Example:
        >>> mean, low, high = student_mean(np.array([0.0, 1.0, 2.0]))
        >>> float(mean), round(float(low), 4), round(float(high), 4)
        (1.0, -1.4841, 3.4841)
    """
    mean, count = np.asarray(samples.mean(axis=0)), len(samples)
    if count < 2:
        return MeanInterval(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf))
    error = samples.std(axis=0, ddof=1) / np.sqrt(count)
    skewness = mean_skewness(samples) if skewed else np.zeros_like(mean)
    return MeanInterval(mean, *student_interval(mean, error, count - 1, skewness, level))


def mean_skewness(samples: np.ndarray) -> Array:
    """The skewness of the mean of N independent samples, as the samples show it.

    ``G₁ / √N`` with Fisher's ``G₁ = √(N (N − 1)) / (N − 2) · m₃ / m₂^{3/2}``, ``m_k`` the central
    moments; 0 for two samples, which have none, and where they do not vary.

    Args:
        samples: ``(N, ...)``.

    Returns:
        ``(...)``.

    Example:
        >>> round(float(mean_skewness(np.array([0.0, 0.0, 3.0]))), 12)
        1.0
    """
    count = len(samples)
    centred = samples - samples.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    centred = centred / np.where(largest > 0, largest, 1.0)
    second, third = (centred**2).mean(axis=0), (centred**3).mean(axis=0)
    if count < 3:
        return np.zeros(second.shape)
    skewness = third / np.where(second > 0, second, 1.0) ** 1.5
    return np.asarray(np.sqrt(count - 1) / (count - 2) * skewness)


def _varies(values: np.ndarray) -> NDArray[np.bool_]:
    """Which of the series ``(..., N)`` vary by more than round-off."""
    if not values.shape[-1]:
        return np.zeros(values.shape[:-1], bool)
    return np.asarray(np.ptp(values, axis=-1) > CONSTANT * np.abs(values).max(axis=-1))


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation of two series; 0 where it is not defined, so always a number.

    Example:
        >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
        1.0
    """
    if not (_varies(a) and _varies(b)):
        return 0.0
    return round(float(scipy.stats.pearsonr(a, b).statistic), 12)


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation: Pearson's of the ranks, equal entries sharing their mean rank.

    It is 0 where it is not defined, so always a number.

    Example:
        >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 5.0]))
        0.5
    """
    return float(rank_correlations(a, b))


def rank_correlations(a: np.ndarray, b: np.ndarray) -> Array:
    """Spearman's correlation of many pairs of series, each as :func:`rank_correlation` has it.

    Args:
        a: ``(..., N)``, one series or as many as ``b`` has.
        b: the other series.

    Returns:
        ``(...)``.

    Example:
        >>> rank_correlations(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 10.0, 5.0], [3, 2, 1]]))
        array([ 0.5, -1. ])
    """
    defined = _varies(a) & _varies(b)
    ranks = [scipy.stats.rankdata(each, axis=-1) for each in (a, b)]
    x, y = (each - (each.shape[-1] + 1) / 2 for each in ranks)
    scale = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    r = (x * y).sum(axis=-1) / np.where(defined, scale, 1.0)
    return np.asarray(np.where(defined, r, 0.0).round(12))
