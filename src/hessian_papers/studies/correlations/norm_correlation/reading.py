"""What statements about norms and sharpness have in common: bounds, and how a study is read."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import (
    Estimate,
    NothingToMeasure,
    at_least,
    needs,
)
from hessian_papers.ledger.statements import Statements
from hessian_papers.ledger.words import reading_of
from hessian_papers.studies.correlations.ensembles import (
    ACTIVATIONS,
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    estimates,
    require_finished,
    require_two_layers,
)
from hessian_papers.studies.correlations.norm_correlation.derived import STATISTICS
from hessian_papers.studies.correlations.norm_correlation.regions import SIMILAR, region_mean
from hessian_papers.studies.correlations.teachers import interval

POSITIVE = at_least(0.0, "the sign; chance rarely puts the whole interval on one side of 0")
NEGATIVE = replace(POSITIVE, relation="<=")
WELL = reading_of("well")

# What is compared, by a part of a statistic's name.
COMPARED = {"norm": "norms", "group": "groups of factors", "lead": "factors"}
WHERE_SIMILAR = {"-similar": ", where both matrices begin with entries of similar magnitude"}
statements = Statements(values=PARAMETRISATIONS | TIMES | NORMS | WHERE_SIMILAR | ACTIVATIONS)
each_one, at_both_times = ["parametrisation"], ["parametrisation", "time"]


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
    """The finished networks at some labels, of which a configuration may lack some."""
    for axis, label in labels.items():
        for missing in np.setdiff1d(label, data[axis])[:1]:
            raise NothingToMeasure(f"this configuration leaves out {axis} {missing}")
    chosen = data.sel(labels)
    require_finished(chosen)
    return chosen


def intervals(
    data: xr.Dataset, statistic: str, region: str | None = None, **labels: Any
) -> xr.DataArray:
    """A statistic of the first group at some labels, of all positions or its mean over a region."""
    chosen = at_labels(data, **labels)
    _require_region(chosen, region or "")
    of, limit = STATISTICS[statistic]
    each = of(data).sel(labels)
    each = each.isel(group=0) if "group" in each.dims else each
    each = each if region is None else region_mean(each, chosen, region)
    return interval(each, limit, float(data["confidence"]))


def everywhere_defined(
    data: xr.Dataset, statistic: str, region: str | None = None, **labels: Any
) -> list[Estimate]:
    """A statistic where it is defined.

    Raises:
        NothingToMeasure: the region is empty, or the statistic is not defined in it, as that
            of two norms of one vector.
    """
    compared = [text for part, text in COMPARED.items() if part in statistic]
    what = f"correlations of two {compared[0]} differ" if compared else "one is defined"
    defined = estimates(intervals(data, statistic, region, **labels))
    needs(defined, f"this configuration has no {data['along'].item()} at which {what}")
    return defined


def mean(data: xr.Dataset, statistic: str, region: str = "all", **labels: str | int) -> Estimate:
    """A statistic's mean over the positions of a region, see :func:`everywhere_defined`."""
    (mean,) = everywhere_defined(data, statistic, region, **labels)
    return mean


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
