"""Studies of language models share architectures, operations, and means over few seeds."""

import math
from typing import TypeVar

import numpy as np
import xarray as xr
from xarray.ufuncs import isfinite, log

from hessian_papers.ledger.bounds import Estimate, Replicated, needs, replicates_of
from hessian_papers.ledger.conditions import Condition
from hessian_spectra.statistics import rank_correlation, student_mean

ATTENTION, TWIN, NO_NORM_WEIGHTS = "attention", "no attention", "no norm weights"
# The operations of GPT-2 that have a second derivative: products are those of attention.
OPERATIONS = ("softmax", "QK product", "AV product", "linear maps", "GELU", "LayerNorm", "head")
# The state of our own statements about what a network has or lacks, whatever that is worth to it.
AS_TRAINED = Condition("at the last step of a short training; attention need not be in use")

Labelled = TypeVar("Labelled", xr.Dataset, xr.DataArray)


def chosen(data: Labelled, **labels: str) -> Labelled:
    """The values at some labels.

    Raises:
        NothingToMeasure: there is no such label; the study leaves it out.
    """
    for dim, label in labels.items():
        needs(label in data[dim].values, f"this configuration leaves out {dim} {label}")
    return data.sel(labels, drop=True)


def recorded(data: xr.Dataset, name: str, meaning: str) -> xr.DataArray:
    """A variable that runs of older code lack.

    Raises:
        NothingToMeasure: this run lacks it; ``meaning`` says what it is.
    """
    needs(name in data, f"this run was recorded without {meaning}")
    return data[name]


def compare(
    error: xr.DataArray,
    uncertainty: xr.DataArray,
    first: str = ATTENTION,
    second: str = TWIN,
) -> xr.Dataset:
    """The logarithm of the ratio of one architecture's numbers to those of another, seed by seed.

    Errors that fall by orders of magnitude vary over seeds in proportion to their size.

    Args:
        error: along ``variant``, ``seed`` and perhaps more; not negative.
        uncertainty: how far each may be off.
        first: the one architecture.
        second: the other one.

    Returns:
        The ``value`` as measured, and from the least, ``low``, to the most, ``high``, that it may
        be.

    Raises:
        NothingToMeasure: an architecture is left out.

    Example:
        >>> names = {"variant": [ATTENTION, TWIN]}
        >>> error, uncertainty = (xr.DataArray([x, 0.1], names, "variant") for x in (0.4, 0.1))
        >>> result = compare(error, uncertainty)
        >>> [round(float(result[name]), 6) for name in ("value", "low", "high")]
        [1.386294, 0.405465, inf]
    """
    (a, s), (b, t) = (
        [chosen(values, variant=name) for values in (error, uncertainty)]
        for name in (first, second)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = log((a - s).clip(0)), log((b - t).clip(0))
        ends = log(a) - log(b), least - log(b + t), log(a + s) - most
    return xr.Dataset(dict(zip(("value", "low", "high"), ends, strict=True)))


def over_seeds(samples: xr.Dataset) -> xr.Dataset:
    """The mean over the seeds, with the interval of whatever the samples of :func:`compare` may be.

    Where one of them may be anything, so may the mean.
    """
    rows = samples.transpose("seed", ...)
    known = isfinite(rows).all("seed")
    mean = samples["value"].mean("seed", skipna=False)
    with np.errstate(invalid="ignore"):
        low, high = student_mean(rows["low"].values).low, student_mean(rows["high"].values).high
    return xr.Dataset(
        {
            "value": mean,
            "low": mean.copy(data=low).where(known["low"], -math.inf),
            "high": mean.copy(data=high).where(known["high"], math.inf),
        }
    )


def estimate(samples: xr.Dataset) -> Replicated:
    """The mean over the seeds of one number, see :func:`over_seeds`, with that of each seed."""
    mean = over_seeds(samples)
    ends = Estimate(*(float(mean[name]) for name in Estimate._fields))
    return Replicated.of(ends, replicates_of(samples["value"]))


def rank_correlations(
    first: xr.DataArray, second: xr.DataArray, dim: str, few: str = ""
) -> xr.DataArray:
    """Spearman's correlation of two quantities along a dimension, of each run.

    Args:
        first: the one quantity; what is not finite is left out.
        second: the other one.
        dim: the dimension.
        few: what the configuration has too few of where a run has fewer than three; empty if that
            does not matter.

    Raises:
        NothingToMeasure: a run has fewer than three.
    """
    known = isfinite(first) & isfinite(second)
    needs(not few or int(known.sum(dim).min()) >= 3, f"in this configuration {few}")
    return xr.apply_ufunc(
        lambda a, b, kept: rank_correlation(a[kept], b[kept]),
        first,
        second,
        known,
        input_core_dims=[[dim]] * 3,
        vectorize=True,
    )
