"""Quantities of the GGN's errors that figure and claims share: their ratio by attention."""

import xarray as xr

from hessian_papers.ledger.bounds import needs
from hessian_papers.studies.gpt2.seeds import chosen, compare, over_seeds

# What runs are compared at.
ALONG = ("residual", "loss", "step")


def compared_at(data: xr.Dataset) -> list[str]:
    """The quantities at which the runs of a study are compared; older recorded runs have more."""
    return [name for name in data["along"].values.tolist() if name in ALONG]


def added(data: xr.Dataset, along: str, **pair: str) -> xr.Dataset:
    """The logarithm of the ratio of each pair's errors along ``seed`` and ``point``, by ``level``.

    It is NaN where one of them has no such level.

    Args:
        data: the study's.
        along: at what the runs are compared.
        pair: other architectures than those with attention and without, ``first`` and ``second``.

    Raises:
        NothingToMeasure: the study lacks an architecture.
    """
    at_levels = chosen(data, along=along)
    samples = compare(at_levels["error"], at_levels["uncertainty"], **pair)
    return samples.assign_coords(level=at_levels["level"])


def common(data: xr.Dataset, along: str, **pair: str) -> xr.Dataset:
    """The result of :func:`added` at the levels that all runs have.

    Raises:
        NothingToMeasure: there is no such level, or no such architecture.
    """
    samples = added(data, along, **pair)
    known = samples["value"].notnull().all("seed")
    needs(known.any(), f"in this configuration no {along} is common to all runs")
    return samples.isel(point=known)


def contrast(data: xr.Dataset, along: str, **pair: str) -> xr.Dataset:
    """The mean over the seeds of :func:`common`, with its interval."""
    return over_seeds(common(data, along, **pair))


def larger(data: xr.Dataset, along: str) -> xr.DataArray:
    """The share of the levels common to a pair of runs at which attention has the larger error.

    Returns:
        Along ``seed``.

    Raises:
        NothingToMeasure: a pair has no such level, or an architecture is left out.
    """
    ratios = added(data, along)["value"]
    number = ratios.notnull().sum("point")
    needs(number.all(), f"in this configuration a pair of runs has no {along} in common")
    return (ratios > 0).sum("point") / number
