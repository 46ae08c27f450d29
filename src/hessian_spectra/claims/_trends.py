"""Statistics of trends and correlations, always finite numbers."""

import numpy as np


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation; 0 where one side is constant or has fewer than two entries.

    Example:
        >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
        1.0
    """
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return round(float(np.corrcoef(a, b)[0, 1]), 12)


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's correlation: Pearson's of the ranks, equal entries sharing their mean rank.

    Example:
        >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 5.0]))
        0.5
    """
    return correlation(_ranks(a), _ranks(b))


def _ranks(values: np.ndarray) -> np.ndarray:
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[group]
