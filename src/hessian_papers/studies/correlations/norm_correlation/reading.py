"""The bounds that statements about norms and sharpness share, and how they read a study."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, needs
from hessian_papers.ledger.conditions import AT_INITIALISATION
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    ACTIVATIONS,
    AT_BOTH_TIMES,
    FINISHED,
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    require_two_layers,
)
from hessian_papers.studies.correlations.norm_correlation.derived import STATISTICS
from hessian_papers.studies.correlations.norm_correlation.regions import SIMILAR, region_mean

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
NEGATIVE = replace(POSITIVE, relation="<=")
WELL, STRONGLY = reading_of("well"), reading_of("strongly")

# What is compared, by a part of a statistic's name.
COMPARED = {"norm": "norms", "group": "groups of factors", "lead": "factors"}
statements = Statements(values=PARAMETRISATIONS | TIMES | NORMS | ACTIVATIONS).having(
    state=AT_BOTH_TIMES
)
each_one, at_both_times = ["parametrisation"], ["parametrisation", "time"]
at_first = {"over": each_one, "state": AT_INITIALISATION}
at_the_end = {"over": each_one, "state": FINISHED}


def figures(*numbers: int) -> Statements:
    """The decorators of claims about some figures."""
    return statements.about("singh2026cracking", *(f"Figure {number}" for number in numbers))


def two_layers(data: xr.Dataset, *groups: str, target: str | None = "sharpness") -> xr.Dataset:
    """The study, if of two layers over sizes, of these groups, held against that target."""
    require_two_layers(data)
    return _studied(data, groups, target)


def of_depths(data: xr.Dataset, *groups: str) -> xr.Dataset:
    """The study, if of several depths, of these groups, held against the sharpness."""
    needs(data["along"] == "depth", "this configuration is not one of several depths")
    return _studied(data, groups, "sharpness")


def _studied(data: xr.Dataset, groups: tuple[str, ...], target: str | None) -> xr.Dataset:
    other = data["target"].item()
    needs(target in (None, other), f"this configuration studies the {other} instead")
    own = tuple(data["group"].values[: len(groups)]) == groups
    needs(own, f"this configuration does not study {', then '.join(groups)}")
    return data


def at_labels(data: xr.Dataset, **labels: Any) -> xr.Dataset:
    """The networks at some labels, of which a configuration may lack some."""
    for axis, label in labels.items():
        for missing in np.setdiff1d(label, data[axis])[:1]:
            raise NothingToMeasure(f"this configuration leaves out {axis} {missing}")
    return data.sel(labels)


def of_teachers(
    data: xr.Dataset, statistic: str, region: str | None = None, **labels: Any
) -> xr.DataArray:
    """A statistic of the first group at some labels, of each teacher that has networks there.

    At all positions, or its mean over those of a region.
    """
    chosen = at_labels(data, **labels)
    _require_region(chosen, region or "")
    each = STATISTICS[statistic][0](data).sel(labels)
    each = each.isel(group=0) if "group" in each.dims else each
    each = each if region is None else region_mean(each, chosen, region)
    return each.dropna("teacher", how="all").reset_coords(drop=True)


def everywhere_defined(
    data: xr.Dataset, statistic: str, region: str | None = None, **labels: Any
) -> list[xr.DataArray]:
    """A statistic where it is defined, of each teacher.

    Raises:
        NothingToMeasure: the region is empty, or the statistic is not defined in it, as that
            of two norms of one vector.
    """
    compared = [text for part, text in COMPARED.items() if part in statistic]
    what = f"correlations of two {compared[0]} differ" if compared else "one is defined"
    each = of_teachers(data, statistic, region, **labels)
    places = [dim for dim in each.dims if dim != "teacher"]
    each = each.stack(place=places, create_index=False) if places else each.expand_dims("place")
    rows = each.transpose("place", "teacher")
    defined = [row.dropna("teacher") for row in rows if row.notnull().any()]
    needs(defined, f"this configuration has no {data['along'].item()} at which {what}")
    return defined


def mean(data: xr.Dataset, statistic: str, region: str = "all", **labels: Any) -> xr.DataArray:
    """A statistic's mean over the positions of a region, see :func:`everywhere_defined`."""
    (mean,) = everywhere_defined(data, statistic, region, **labels)
    return mean


def lowest(values: Iterable[xr.DataArray]) -> xr.DataArray:
    """The one of several statistics of each teacher whose mean is lowest.

    Example:
        >>> rows = xr.DataArray([[0.0, 1.0], [0.25, 0.5]], dims=("size", "teacher"))
        >>> lowest(rows).values
        array([0.25, 0.5 ])
    """
    return min(values, key=lambda each: float(each.mean()))


def _require_region(data: xr.Dataset, region: str) -> None:
    """The regions of larger first matrices stand for the largest of all where there is none."""
    ratio, along = data["magnitude_ratio"], data["along"].item()
    needs(
        "larger" not in region or (ratio > SIMILAR).any(),
        f"this configuration has no {along} at which the entries of the first matrix "
        f"are more than {SIMILAR} times those of the last",
    )
    compared = "less" not in region or ratio.size > 1
    needs(compared, f"this configuration has no second {along} to compare with")
