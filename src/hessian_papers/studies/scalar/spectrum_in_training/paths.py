"""The small outliers of many linear networks in training: their ways, and where they end."""

import numpy as np

from hessian_papers.studies.scalar.outliers import Outliers
from hessian_papers.studies.scalar.spectrum_in_training.derived import LAST, RESOLVED

# What is told of each training, see :func:`ends`.
ENDS = ("side", "share", "crossings", "drops")


def ends(course: Outliers) -> np.ndarray:
    """The ways that the small outliers of S networks go, and where they end.

    Args:
        course: the outliers at each step, ``(steps + 1, S)``.

    Returns:
        ``(S, 4)``, in the order of ``ENDS``: the mean sign of λ₂ over the last ``LAST`` steps at
        which |λ₂| exceeds ``RESOLVED`` λ₁, 0 if there is none; |λ₂|/λ₁ after the last one; how
        often its sign changes; and whether λ₂ falls in the first step. NaN if it diverged.
    """
    with np.errstate(invalid="ignore"):
        shares = np.abs(course.small) / course.large
    rows = []
    for small, share in zip(course.small.T, shares.T, strict=True):
        signs = np.sign(small[share > RESOLVED])
        side = signs[-LAST:].mean() if len(signs) else 0.0
        drops = small[:2][-1] < small[0]
        rows.append([side, share[-1], np.count_nonzero(np.diff(signs)), drops])
    values = np.array(rows, dtype=float).reshape(-1, len(ENDS))
    return np.where(np.isfinite(shares[-1])[:, None], values, np.nan)
