"""Correlations over the networks of each teacher, and Student's intervals over the teachers."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hessian_papers.constraints import Between
from hessian_papers.labelled import Variable, Variables
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_spectra import statistics
from hessian_spectra.files import Arrays

# A difference of correlations below this is one between names of the same quantity.
ROUND_OFF = 1e-6
INSIDE = Between(math.ulp(0.0), math.nextafter(1.0, 0.0), "a number between 0 and 1")
STUDENT = "Student's t over teachers"
INTERVALS: Variables = {
    "estimate": Variable("estimate", "the mean over teachers, or an end of its interval"),
    "interval": Variable("", "how the ends are made"),
    "confidence": Variable("", "level of the intervals"),
}


@dataclass(frozen=True, kw_only=True)
class IntervalConfig(EnsembleStudyConfig):
    """A study with intervals over teachers; nothing is drawn.

    Args:
        confidence: level of the intervals.
    """

    confidence: Annotated[float, INSIDE]


def settings(config: IntervalConfig) -> Arrays:
    """The arrays that :data:`INTERVALS` declares."""
    return {
        "estimate": np.array(["value", "low", "high"]),
        "interval": np.array(STUDENT),
        "confidence": np.array(config.confidence),
    }


def of_each_teacher(target: np.ndarray, quantities: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Pearson's correlations over the networks of each teacher.

    Args:
        target: ``(..., N)`` for each point its networks' target.
        quantities: ``(..., N, C, ...)`` what is correlated with it.
        teacher: ``(N,)`` whose data a network has.

    Returns:
        ``(T, ..., C, ...)``; NaN where one is not defined.

    Example:
        >>> target = np.array([[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]])
        >>> quantity = np.array([[[1.0], [2], [3], [6], [5], [4]]])
        >>> of_each_teacher(target, quantity, np.repeat([0, 1], 3)).tolist()
        [[[1.0]], [[-1.0]]]
    """
    shape = *target.shape[:-1], *quantities.shape[target.ndim :]
    target = target.reshape(-1, len(teacher))
    quantities = quantities.reshape(*target.shape, -1)
    members = [np.flatnonzero(teacher == name) for name in np.unique(teacher)]
    rows = [statistics.correlations(target[:, own], quantities[:, own]) for own in members]
    return np.stack(rows).reshape(-1, *shape)


def mean(each: np.ndarray) -> np.ndarray:
    """The mean ``(...)`` over those teachers ``(T, ...)`` that have a value; NaN if none has."""
    defined = np.isfinite(each)
    number = defined.sum(axis=0)
    total = np.where(defined, each, 0.0).sum(axis=0)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))


def largest(each: np.ndarray, axis: int) -> np.ndarray:
    """The entries of each teacher where, along an axis, the mean over teachers is largest.

    All teachers have the same entry: the largest of each would be too large by chance.

    Args:
        each: ``(T, ...)``.
        axis: counted from the end.

    Returns:
        ``(T, ...)`` without the axis; NaN where no entry has a mean.

    Example:
        >>> largest(np.array([[0.0, 0.75], [1.0, 0.5]]), axis=-1).tolist()
        [0.75, 0.5]
    """
    means = np.nan_to_num(mean(each), nan=-np.inf)
    place = np.expand_dims(means.argmax(axis=axis), (0, axis))
    return np.take_along_axis(each, place, axis).squeeze(axis)


def leads(each: np.ndarray, axis: int) -> np.ndarray:
    """Each entry along an axis less the :func:`largest` of the others there.

    Example:
        >>> leads(np.array([[0.5, 0.25, 1.0]]), axis=-1).tolist()
        [[-0.5, -0.75, 0.5]]
    """
    number = each.shape[axis]
    if number == 1:
        return np.full_like(each, np.nan)
    others = [largest(np.delete(each, entry, axis), axis) for entry in range(number)]
    return np.asarray(each - np.stack(others, axis))


def without_round_off(each: np.ndarray) -> None:
    """Set to NaN, in place, where the mean of a lead ``(T, ...)`` is one over itself."""
    each[:, np.abs(mean(each)) < ROUND_OFF] = np.nan


def with_intervals(each: Arrays, confidence: float) -> Arrays:
    """The mean over teachers of each statistic and the ends of its interval, along ``estimate``.

    Student's t over those teachers that have a value, cut off where no number of the kind can be: a
    correlation is within 1 of 0, a difference of two within 2, of two differences within 4. Of one
    teacher nothing is known but that.

    Args:
        each: statistics ``(T, ...)`` of the teachers.
        confidence: level of the intervals.

    Example:
        >>> with_intervals({"lead": np.array([0.0, 0.0, 0.3])}, 0.95)["lead"].round(4).tolist()
        [0.1, -0.3303, 0.5303]
    """
    intervals = {}
    for name, values in each.items():
        defined, centre = np.isfinite(values), mean(values)
        number = defined.sum(axis=0)
        squares = np.where(defined, values - centre, 0.0) ** 2
        freedom = np.maximum(number - 1, 1)
        error = np.sqrt(squares.sum(axis=0) / freedom / np.maximum(number, 1))
        error = np.where(number == 1, np.inf, error)
        ends = statistics.student_interval(centre, error, freedom, 0.0, confidence)
        limit = next(size for part, size in _LIMITS.items() if name.endswith(part))
        entries = [centre, *(np.clip(end, -limit, limit) for end in ends)]
        # Beyond twelve digits it is the order of summation that one would see.
        intervals[name] = np.round(np.stack(entries, axis=-1), 12)
    return intervals


# How far from 0 a statistic may be, by the end of its name.
_LIMITS = {"correlation": 1.0, "growth": 4.0, "mean_difference": 4.0, "": 2.0}
