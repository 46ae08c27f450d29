"""What the studies of language models share: the architectures, and means over few seeds."""

import math

import numpy as np

from hessian_spectra.ledger.bounds import Estimate
from hessian_spectra.statistics import student_interval

ATTENTION, TWIN, NO_NORM_WEIGHTS = "attention", "no attention", "no norm weights"
LEVEL = 0.95


def interval(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Student's 95 % interval of the mean over the first axis; unbounded for a single sample.

    Example:
        >>> low, high = interval(np.array([0.0, 1.0, 2.0]))
        >>> round(float(low), 4), round(float(high), 4)
        (-1.4841, 3.4841)
    """
    mean, count = samples.mean(axis=0), len(samples)
    if count < 2:
        return np.full_like(mean, -math.inf), np.full_like(mean, math.inf)
    error = samples.std(axis=0, ddof=1) / math.sqrt(count)
    return student_interval(mean, error, count - 1, np.zeros_like(mean), LEVEL)


def mean_over_seeds(samples: np.ndarray, uncertainty: np.ndarray) -> Estimate:
    """The mean of a number of each seed with its interval, widened by what each may be off."""
    low, high = interval(samples)
    off = float(uncertainty.mean())
    return Estimate(float(samples.mean()), float(low) - off, float(high) + off)
