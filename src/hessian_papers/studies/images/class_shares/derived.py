"""Measures of networks trained on subsets of images with a given largest class.

A network that diverged has no sharpness and is left out of every number.
"""

from typing import Any, Literal, TypeVar

import xarray as xr

from hessian_papers.ledger.bounds import needs
from hessian_papers.studies.images.derived import quotient
from hessian_spectra.statistics import rank_correlation

# A least-squares loss below this is rounding: the inputs fit all labels.
FITTED = 1e-12

Values = TypeVar("Values", xr.DataArray, xr.Dataset)


def by(data: xr.Dataset, name: str) -> dict[Any, xr.Dataset]:
    """The networks by what stands in one of the variables, in the study's order."""
    values = dict.fromkeys(data[name].values.tolist())
    return {value: data.sel(network=data[name] == value) for value in values}


def of_own_size(data: xr.Dataset) -> xr.Dataset:
    """The networks on subsets of the study's own number of samples, which comes first."""
    return next(iter(by(data, "samples").values()))


def count_diverged(data: xr.Dataset) -> int:
    """The number of networks that diverged."""
    return int((data["diverged_at"] >= 0).sum())


def converged(data: xr.Dataset) -> xr.DataArray:
    """The networks that have a sharpness: they did not diverge, nor vanish."""
    return data["sharpness"] > 0


def fitted(data: xr.Dataset) -> xr.DataArray:
    """The networks whose inputs fit all labels."""
    return data["floor"] < FITTED


def ratio(data: xr.Dataset) -> xr.DataArray:
    """Sharpness over eq. (14)."""
    return data["sharpness"] / data["labels"]


def error(data: xr.Dataset, formula: str) -> xr.DataArray:
    """The size of the relative deviation from a formula."""
    return abs(quotient(data["sharpness"], data[formula]) - 1)


def gauss_newton_error(data: xr.Dataset) -> xr.DataArray:
    """The size of the relative difference of the Gauss-Newton matrix's sharpness."""
    return abs(quotient(data["ggn"], data["sharpness"]) - 1)


def last_defect(data: xr.Dataset) -> xr.DataArray:
    """The defect of balancedness after training."""
    return data["defect"].sel(time="end").where(converged(data))


def at_shares(data: xr.Dataset, values: Values) -> Values:
    """The mean of the networks' values at each ``share`` that has some, in ascending order."""
    return values.groupby(data["share"]).mean().dropna("share")


def of_case(data: xr.Dataset, case: str) -> xr.Dataset:
    """The networks of a case; none where the study leaves it out."""
    return data.sel(network=data["case"] == case)


def trained(data: xr.Dataset) -> xr.Dataset:
    """Networks whose training did not diverge.

    Raises:
        NothingToMeasure: there is none.
    """
    chosen = converged(data)
    what = "no networks of that kind whose training did not diverge"
    needs(chosen.any(), f"this configuration has {what}")
    return data.sel(network=chosen)


def by_replicate(
    data: xr.Dataset, values: xr.DataArray, of_each: Literal["mean", "median", "max"] = "mean"
) -> xr.DataArray:
    """The networks' values of each replicate in one number.

    Args:
        data: of the networks.
        values: one for each of them, NaN where there is none.
        of_each: what is taken of a replicate's; the largest of what is said of all.

    Raises:
        NothingToMeasure: no network has a value.
    """
    known = values.dropna("network")
    needs(known.size, "this configuration has no networks of which that can be said")
    groups = known.groupby(data["replicate"].sel(network=known["network"]))
    pooled: xr.DataArray = getattr(groups, of_each)()
    return pooled


def trends(data: xr.Dataset) -> xr.DataArray:
    """The rank correlation of share and sharpness for each replicate of two shares or more.

    Raises:
        NothingToMeasure: there is none.
    """
    curves = {r: own for r, own in by(data, "replicate").items() if own.sizes["network"] > 1}
    needs(curves, "this configuration has no image set with two shares")
    values = [rank_correlation(c["share"].values, c["sharpness"].values) for c in curves.values()]
    return xr.DataArray(values, coords={"replicate": [*curves]}, dims="replicate")


def ratios_by_size(data: xr.Dataset) -> xr.DataArray:
    """The mean of sharpness over eq. (14) at each number of samples, ``(replicate, samples)``.

    The mean takes as many of the smallest shares as there are at every number of samples: what
    is compared has nearly the same shares.

    Raises:
        NothingToMeasure: there is but one number of samples.
    """
    by_size = dict(sorted(by(data, "samples").items()))
    needs(len(by_size) > 1, "this configuration has no image set at two numbers of samples")
    each = [
        ratio(of_size).groupby(of_size["replicate"]).map(_ascending, shares=of_size["share"])
        for of_size in by_size.values()
    ]
    ratios = xr.concat(each, xr.Variable("samples", [*by_size]), join="inner")
    return ratios.dropna("order").mean("order")


def _ascending(values: xr.DataArray, shares: xr.DataArray) -> xr.DataArray:
    """Values by ascending share, in a dimension ``order``."""
    own = values.sortby(shares.sel(network=values["network"])).values
    return xr.DataArray(own, coords={"order": range(len(own))}, dims="order")
