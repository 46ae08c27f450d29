"""Heads of different speeds in training: when each has learned, and what its small outlier does.

The loss of several outputs, each with a head ⟨w_k, v_k⟩ x of its own, is the sum of theirs, so that
each head is trained as if it were alone (singh2026cracking, appendix B.4.2, Corollary B.2).
"""

import numpy as np

from hessian_papers.studies.scalar.outliers import Outliers
from hessian_spectra.files import Arrays

# A head has learned, and its small outlier reached zero, where 1 % is left: of the target's
# covariance with the input, and of the large outlier.
LEFT = 0.01


def learning(course: Outliers, moment: np.ndarray) -> Arrays:
    """The order in which K heads of each of N networks learn.

    Args:
        course: residual and outliers of each head at each step, ``(steps + 1, N, K)``.
        moment: E[y_k x], ``(N, K)``.

    Returns:
        ``learned`` and ``reached_zero`` (N, K), the first steps from which on |δ_k x| ≤ ``LEFT``
        |E[y_k x]| and |λ₂| ≤ ``LEFT`` λ₁, −1 for never; ``retarded`` (N,), λ₂/λ₁ of the head that
        learns last when the first one has learned, NaN where a head never learns.
    """
    with np.errstate(invalid="ignore"):
        share = course.small / course.large
    # What diverges has learned nothing, as what is not a number has.
    learned = _settled(~(np.abs(course.residual) <= LEFT * np.abs(moment)))
    first, last = learned.min(axis=1), learned.argmax(axis=1)
    retarded = share[first, np.arange(len(first)), last]
    return {
        "learned": learned,
        "reached_zero": _settled(~(np.abs(share) <= LEFT)),
        "retarded": np.where((learned >= 0).all(axis=1), retarded, np.nan),
    }


def _settled(bad: np.ndarray) -> np.ndarray:
    """The first step from which on something is never true, −1 if it is at the last one."""
    steps = np.arange(1, len(bad) + 1).reshape(-1, *[1] * (bad.ndim - 1))
    after = np.max(steps * bad, axis=0)
    return np.where(after == len(bad), -1, after)
