"""Measures of networks trained on subsets of images with a given largest class.

A network that diverged has no sharpness and is left out of every number. Where the image sets
differ, the worst of them counts.
"""

from typing import Any, TypeVar

import xarray as xr

from hessian_papers.studies.images.derived import quotient

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
