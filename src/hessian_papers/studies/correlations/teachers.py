"""Correlations over the networks of each teacher, and Student's intervals over the teachers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.constraints import ProperFraction
from hessian_papers.labelled import Variable, Variables
from hessian_papers.ledger.bounds import mean_of
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_spectra import statistics
from hessian_spectra.files import Arrays

# A difference of correlations below this is one between names of the same quantity.
ROUND_OFF = 1e-6
STUDENT = "Student's t over teachers"
ESTIMATE = ("value", "low", "high")
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

    confidence: ProperFraction


def settings(config: IntervalConfig) -> Arrays:
    """The arrays that :data:`INTERVALS` declares."""
    return {
        "estimate": np.array(ESTIMATE),
        "interval": np.array(STUDENT),
        "confidence": np.array(config.confidence),
    }


def members(teacher: np.ndarray) -> list[np.ndarray]:
    """The networks of each teacher, by their numbers.

    Example:
        >>> [each.tolist() for each in members(np.array([0, 1, 0]))]
        [[0, 2], [1]]
    """
    return [np.flatnonzero(teacher == name) for name in np.unique(teacher)]


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
    rows = [statistics.correlations(target[:, own], quantities[:, own]) for own in members(teacher)]
    return np.stack(rows).reshape(-1, *shape)


def largest(each: xr.DataArray, dim: str) -> xr.DataArray:
    """The entries of each teacher where, along a dimension, the mean over teachers is largest.

    All teachers have the same entry: the largest of each would be too large by chance.

    Args:
        each: with the dimension ``teacher``; a mean is over those that have a value.
        dim: another dimension, which goes; NaN where no entry along it has a mean.

    Example:
        >>> each = xr.DataArray([[0.0, 0.75], [1.0, 0.5]], dims=("teacher", "norm"))
        >>> largest(each, "norm").values
        array([0.75, 0.5 ])
    """
    rows = each.transpose(..., dim)
    place = rows.mean("teacher").fillna(-np.inf).values.argmax(axis=-1)
    place = np.expand_dims(place, (rows.dims.index("teacher"), -1))
    values = np.take_along_axis(rows.values, place, axis=-1)[..., 0]
    return rows.isel({dim: 0}, drop=True).copy(data=values)


def apart(lead: xr.DataArray) -> xr.DataArray:
    """The lead, but NaN where its mean over teachers is that of a quantity over itself."""
    return lead.where(abs(lead.mean("teacher")) >= ROUND_OFF)


def leads(each: xr.DataArray, dim: str) -> xr.DataArray:
    """Each entry along a dimension less the :func:`largest` of the others there, :func:`apart`.

    Example:
        >>> each = xr.DataArray([[0.5, 0.25, 1.0]], {"norm": list("abc")}, ("teacher", "norm"))
        >>> leads(each, "norm").transpose("teacher", "norm").values
        array([[-0.5 , -0.75,  0.5 ]])
    """
    number = each.sizes[dim]
    if number == 1:
        return xr.full_like(each, np.nan)
    rows, places = each.transpose(..., dim), np.arange(number)
    others = [largest(rows.isel({dim: places != own}), dim).values for own in places]
    return apart(rows - rows.copy(data=np.stack(others, axis=-1)))


def interval(each: xr.DataArray, limit: float, confidence: float) -> xr.DataArray:
    """The mean over teachers and the ends of its interval, along ``estimate``.

    Student's t over those teachers that have a value, cut off where no number of the kind can be: a
    correlation is within 1 of 0, a difference of two within 2, of two differences within 4. Of one
    teacher nothing is known but that.

    Args:
        each: a statistic, with the dimension ``teacher``.
        limit: how far from 0 it may be.
        confidence: level of the intervals.

    Example:
        >>> interval(xr.DataArray([0.0, 0.0, 0.3], dims="teacher"), 2.0, 0.95).values.round(4)
        array([ 0.1   , -0.3303,  0.5303])
    """

    def of_known(values: np.ndarray) -> np.ndarray:
        known = values[np.isfinite(values)]
        if not known.size:
            return np.full(3, np.nan)
        # Beyond twelve digits it is the order of summation that one would see.
        return np.round(mean_of(known, limit=limit, level=confidence), 12)

    dims: dict[str, Any] = {"input_core_dims": [["teacher"]], "output_core_dims": [["estimate"]]}
    ends: xr.DataArray = xr.apply_ufunc(of_known, each, vectorize=True, **dims)
    return ends.assign_coords(estimate=list(ESTIMATE))
