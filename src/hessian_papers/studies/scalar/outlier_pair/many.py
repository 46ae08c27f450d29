"""The small outlier of many linear networks in training at once, without networks or data."""

import numpy as np

from hessian_papers.studies.scalar.outlier_pair.derived import LAST, RESOLVED
from hessian_papers.studies.scalar.outliers import outliers

# What is told of each training, see :func:`small_outlier`.
ENDS = ("side", "share", "drops", "crossings")


def small_outlier(
    weights: np.ndarray,
    second_moment: float,
    moment: float,
    rate: float,
    momentum: float,
    steps: int,
) -> np.ndarray:
    """Which way λ₂ of linear networks goes under heavy-ball descent, and where it ends.

    Args:
        weights: v and w at the start, ``(S, 2, m)``.
        second_moment: E[x²].
        moment: E[yx].
        rate: the learning rate.
        momentum: of the heavy ball, started at rest.
        steps: number of updates.

    Returns:
        ``(S, 4)``, in the order of ``ENDS``: the mean sign of λ₂ over the last ``LAST`` steps at
        which |λ₂| exceeds ``RESOLVED`` λ₁, 0 if there is none; |λ₂|/λ₁ after the last one; whether
        λ₂ falls in the first step; and how often its sign changes. NaN if it diverged.

    Source: singh2024closed, Theorem 1 and the text on its Figure 3.
    """
    velocity, signs = np.zeros_like(weights), np.full((len(weights), steps + 1), np.nan)
    drops, before = np.full(len(weights), np.nan), np.zeros(len(weights))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps + 1):
            residual, large, small = outliers(weights, second_moment, moment)
            share = np.abs(small) / large
            signs[:, step] = np.where(share > RESOLVED, np.sign(small), np.nan)
            if step <= 1:
                drops, before = small < before, small
            velocity = momentum * velocity + residual[:, None, None] * weights[:, ::-1]
            weights = weights - rate * velocity
    resolved = [row[np.isfinite(row)] for row in signs]
    sides = np.array([row[-LAST:].mean() if len(row) else 0.0 for row in resolved])
    crossings = np.array([np.count_nonzero(np.diff(row)) for row in resolved])
    values = np.stack([sides, share, drops, crossings], axis=1)
    return np.where(np.isfinite(share)[:, None], values, np.nan)
