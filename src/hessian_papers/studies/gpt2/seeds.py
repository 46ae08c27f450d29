"""What the studies of language models share: the architectures, and means over few seeds."""

import math
from typing import NamedTuple

import numpy as np

from hessian_papers.ledger.bounds import Estimate
from hessian_spectra.statistics import MeanInterval, student_mean

ATTENTION, TWIN, NO_NORM_WEIGHTS = "attention", "no attention", "no norm weights"
# How two errors are compared: by their difference, or by the logarithm of their ratio. Errors that
# fall by orders of magnitude vary over seeds in proportion to their size.
COMPARED = ("difference", "ratio")


class Errors(NamedTuple):
    """Errors of the runs of one architecture.

    Attributes:
        value: ``(S, ...)``, not negative.
        uncertainty: how far each may be off.
    """

    value: np.ndarray
    uncertainty: np.ndarray


class Samples(NamedTuple):
    """A number of each pair of runs, ``(S, ...)``.

    Attributes:
        value: as measured.
        low: the least that it may be.
        high: the most.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def compare(first: Errors, other: Errors, compared: str) -> Samples:
    """What the first errors are more than the second, pair by pair.

    Args:
        first: the first.
        other: the second, of the same seeds.
        compared: one of :data:`COMPARED`; of a ratio its natural logarithm is returned.

    Example:
        >>> first, other = (Errors(np.array([x]), np.array([0.1])) for x in (0.4, 0.1))
        >>> [round(float(x[0]), 6) for x in compare(first, other, "difference")]
        [0.3, 0.1, 0.5]
        >>> [round(float(x[0]), 6) for x in compare(first, other, "ratio")]
        [1.386294, 0.405465, inf]
    """
    (a, s), (b, t) = first, other
    if compared == "difference":
        return Samples(a - b, a - b - s - t, a - b + s + t)
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = np.log(np.maximum(a - s, 0)), np.log(np.maximum(b - t, 0))
        return Samples(np.log(a) - np.log(b), least - np.log(b + t), np.log(a + s) - most)


def over_seeds(samples: Samples) -> MeanInterval:
    """The mean over the seeds, with the interval of whatever the samples may be."""
    with np.errstate(invalid="ignore"):
        low, high = student_mean(samples.low).low, student_mean(samples.high).high
        value = np.asarray(samples.value.mean(axis=0))
    # Where one of them may be anything, so may the mean.
    return MeanInterval(
        value,
        np.where(np.isfinite(samples.low).all(axis=0), low, -math.inf),
        np.where(np.isfinite(samples.high).all(axis=0), high, math.inf),
    )


def estimate(samples: Samples) -> Estimate:
    """The mean over the seeds of one number."""
    return Estimate(*map(float, over_seeds(samples)))


def exactly(samples: np.ndarray) -> Samples:
    """Numbers of which none may be off."""
    return Samples(samples, samples, samples)
