"""Correlations over networks of several teachers, and their resamples on both levels."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hessian_papers.constraints import AtLeast, Between
from hessian_papers.labelled import Variable, Variables
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_spectra import statistics
from hessian_spectra.files import Arrays

# A difference of correlations below this is one between names of the same quantity.
ROUND_OFF = 1e-6
INSIDE = Between(math.ulp(0.0), math.nextafter(1.0, 0.0), "a number between 0 and 1")
RESAMPLED: Variables = {
    "estimate": Variable("estimate", "the sample's value, or an end of its interval"),
    "resamples": Variable("", "bootstrap resamples of teachers and networks"),
    "confidence": Variable("", "level of the intervals"),
}


@dataclass(frozen=True, kw_only=True)
class BootstrapConfig(EnsembleStudyConfig):
    """A study with a bootstrap, whose seed is the study's.

    Args:
        resamples: bootstrap resamples.
        confidence: level of the intervals.
    """

    seed: Annotated[int, AtLeast(0)]
    resamples: Annotated[int, AtLeast(100)]
    confidence: Annotated[float, INSIDE]


def settings(config: BootstrapConfig) -> Arrays:
    """The arrays that :data:`RESAMPLED` declares."""
    numbers = {name: np.array(getattr(config, name)) for name in ("resamples", "confidence")}
    return {"estimate": np.array(["value", "low", "high"]), **numbers}


def over_teachers(
    target: np.ndarray, quantities: np.ndarray, teacher: np.ndarray, resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pearson's correlations over each teacher's networks, and their means over the teachers.

    A resample draws teachers, and networks of each teacher, with replacement: its mean counts the
    correlation over a teacher's drawn networks as often as that teacher was drawn. The jackknife
    leaves out one teacher, or one network where there is a single teacher. Where one teacher's
    correlation is not defined, the mean is that of the others.

    Args:
        target: ``(..., N)`` for each point its networks' target.
        quantities: ``(..., N, C, ...)`` what is correlated with it.
        teacher: ``(N,)`` whose data a network has.
        resamples: R, how many.
        seed: of the draws.

    Returns:
        The means ``(1 + R + J, ..., C, ...)``: of the sample, its resamples and its jackknife; and
        the sample's correlations for each teacher, ``(T, ..., C, ...)``. NaN where none is defined.

    Example:
        >>> target = np.array([[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]])
        >>> means, each = over_teachers(
        ...     target, np.array([[[1.0], [2], [3], [6], [5], [4]]]), np.repeat([0, 1], 3), 5, 0)
        >>> each.tolist(), means[0].tolist(), len(means)
        ([[[1.0]], [[-1.0]]], [[0.0]], 8)
    """
    shape = *target.shape[:-1], *quantities.shape[target.ndim :]
    target = target.reshape(-1, len(teacher))
    quantities = quantities.reshape(*target.shape, -1)
    names = np.unique(teacher)
    several = len(names) > 1
    members = [np.flatnonzero(teacher == name) for name in names]
    jackknife = len(names) if several else len(members[0])
    rows = 1 + resamples + jackknife
    # One generator for each purpose: more teachers leave the draws of those before as they were.
    weights = np.ones((rows, len(names)))
    if several:
        weights[1 : 1 + resamples] = statistics.resample_counts(len(names), resamples, seed)
        weights[1 + resamples :] = statistics.leave_one_out(len(names))
    total: np.ndarray = np.zeros(())
    number: np.ndarray = np.zeros(())
    each = []
    for place, chosen in enumerate(members):
        counts = np.ones((rows, len(chosen)))
        counts[1 : 1 + resamples] = statistics.resample_counts(
            len(chosen), resamples, seed, stream=place + several
        )
        if not several:
            counts[1 + resamples :] = statistics.leave_one_out(len(chosen))
        r = statistics.correlations(target[:, chosen], quantities[:, chosen], counts)
        weight = weights[:, place, None, None] * np.isfinite(r)
        total = total + weight * np.where(np.isfinite(r), r, 0.0)
        number = number + weight
        each.append(r[0])
    means = np.where(number > 0, total / np.where(number > 0, number, 1.0), np.nan)
    return means.reshape(-1, *shape), np.stack(each).reshape(-1, *shape)


def largest(r: np.ndarray, axis: int) -> np.ndarray:
    """The largest along an axis; NaN where there is none."""
    return np.asarray(np.fmax.reduce(r, axis=axis, initial=np.nan))


def leads(r: np.ndarray, axis: int) -> np.ndarray:
    """Each entry along an axis less the largest of the others there.

    Example:
        >>> leads(np.array([0.5, 0.25, 1.0]), axis=0).tolist()
        [-0.5, -0.75, 0.5]
    """
    others = [largest(np.delete(r, entry, axis), axis) for entry in range(r.shape[axis])]
    return np.asarray(r - np.stack(others, axis))


def without_round_off(values: np.ndarray) -> None:
    """Set to NaN, in place, where the sample's lead ``values[0]`` is one over itself."""
    values[:, np.abs(values[0]) < ROUND_OFF] = np.nan


def with_intervals(quantities: Arrays, resamples: int, confidence: float) -> Arrays:
    """Each statistic of the sample with the ends of its interval, along a last axis ``estimate``.

    Args:
        quantities: statistics ``(1 + R + J, ...)``, of means as :func:`over_teachers` gives them.
        resamples: R.
        confidence: level of the intervals.
    """
    intervals = {}
    for name, values in quantities.items():
        (sample,), replicates, jackknife = np.split(values, [1, 1 + resamples])
        ends = statistics.bootstrap_interval(sample, replicates, jackknife, confidence)
        # Beyond twelve digits it is the order of summation that one would see.
        intervals[name] = np.round(np.stack([sample, *ends], axis=-1), 12)
    return intervals
