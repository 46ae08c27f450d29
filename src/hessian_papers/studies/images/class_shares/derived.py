"""Measures of networks trained on subsets of images with a given largest class.

A network that diverged has no sharpness and is left out of every number. Where the image sets
differ, the worst of them counts.
"""

from typing import Any, TypeVar

import numpy as np
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


def curves(data: xr.Dataset, case: str) -> list[xr.Dataset]:
    """The mean ``sharpness`` and ``labels`` of a case at each share, for each image set.

    On subsets of the study's own size.

    Raises:
        NothingToMeasure: no image set has two shares.
    """
    image_sets = by(trained(of_case(of_own_size(data), case)), "source").values()
    means = [at_shares(images, images[["sharpness", "labels"]]) for images in image_sets]
    several = [curve for curve in means if curve.sizes["share"] > 1]
    needs(several, "this configuration has no image set with two shares")
    return several


def trends(data: xr.Dataset, case: str) -> list[float]:
    """The rank correlation of share and mean sharpness of each image set."""
    return [
        rank_correlation(curve["share"].values, curve["sharpness"].values)
        for curve in curves(data, case)
    ]


def trends_of_replicates(images: xr.Dataset) -> list[float]:
    """The rank correlation of share and sharpness of each replicate with two shares or more."""
    curves = [of_one for of_one in by(images, "replicate").values() if of_one.sizes["network"] > 1]
    return [rank_correlation(curve["share"].values, curve["sharpness"].values) for curve in curves]


def ratios_by_size(data: xr.Dataset) -> list[np.ndarray]:
    """The mean of sharpness over eq. (14) of each image set, by ascending number of samples.

    The mean takes as many of the smallest shares as there are at every number of samples: what
    is compared has nearly the same shares. Image sets with but one number of samples are left
    out.

    Raises:
        NothingToMeasure: no image set is left.
    """
    ratios = []
    for of_set in by(trained(data), "source").values():
        sizes = sorted(by(of_set, "samples").items())
        means = [at_shares(sized, ratio(sized)).values for _, sized in sizes]
        if len(means) > 1:
            common = min(map(len, means))
            ratios.append(np.array([mean[:common].mean() for mean in means]))
    needs(ratios, "this configuration has no image set at two numbers of samples")
    return ratios


def by_subset(data: xr.Dataset, *cases: str) -> tuple[xr.Dataset, ...]:
    """Trained networks of some cases by the subset of images, of those that all cases have."""
    each = []
    for case in cases:
        own = trained(of_case(data, case))
        names = (own[name].values for name in ("source", "samples", "share", "replicate"))
        subsets = [" ".join(map(str, subset)) for subset in zip(*names, strict=True)]
        each.append(own.assign_coords(network=subsets).drop_duplicates("network"))
    return xr.align(*each, join="inner")


def exponent(sharpness: xr.DataArray) -> float:
    """The power of the share that a sharpness at each follows, by least squares of logarithms."""
    return float(np.polyfit(np.log(sharpness["share"]), np.log(sharpness), 1)[0])
