"""Regions of sizes or depths, and means over them."""

from typing import Any

import numpy as np
import xarray as xr

# Up to this ratio of their entries two matrices count as initialised with similar magnitude.
SIMILAR = 1.5
REGIONS = ("all", "larger first matrix", "similar matrices", "larger less similar")


def magnitude_ratio(points: xr.Dataset) -> np.ndarray:
    """Root mean square of the first matrix's entries over the last's, at initialisation.

    Both have D·m entries, so it is the ratio of their Frobenius norms; the median over networks.

    Args:
        points: of an ensemble, by parametrisation, depth and size.
    """
    norms = points["norms"].sel(time="initialisation", norm="frobenius")
    ratio = norms.sel(layer=1) / norms.sel(layer=points["depth"])
    places = ratio.transpose("parametrisation", "depth", "size", "network")
    return np.asarray(np.median(places.values, axis=-1))


def shares(ratio: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The weight of each position in each of the first three regions, ``(3, x)``.

    A position counts for the integers beside it, so that a region's mean is one over all sizes or
    depths in it, with straight lines between those that there are. No region is empty.

    Args:
        ratio: of the magnitudes at each position ``(x,)``.
        positions: increasing integers ``(x,)``.

    Example:
        >>> shares(np.array([3.0, 1.6, 1.0]), np.array([1, 2, 6])).tolist()
        [[1.0, 2.5, 2.5], [1.0, 2.5, 0.0], [0.0, 0.0, 2.5]]
    """
    distance = np.abs(np.log(ratio))
    similar = (ratio <= SIMILAR) & (ratio >= 1 / SIMILAR) | (distance == distance.min())
    larger = (ratio > SIMILAR) | (ratio == ratio.max())
    every = np.arange(positions[0], positions[-1] + 1)
    hats = [np.interp(every, positions, row).sum() for row in np.eye(len(positions))]
    return np.stack([np.ones_like(similar), larger, similar]) * np.array(hats)


def region_mean(each: xr.DataArray, data: xr.Dataset, region: str) -> xr.DataArray:
    """The mean of each teacher's values over the positions of a region, by :func:`shares`.

    Over those positions that some teacher has; one that lacks one of these has no mean.

    Args:
        each: with the dimensions ``teacher``, ``depth`` and ``size``.
        data: of the same positions, with their ``magnitude_ratio``.
        region: one of :data:`REGIONS`; the last is the difference of the two before.
    """
    if region == REGIONS[-1]:
        larger, similar = (region_mean(each, data, name) for name in REGIONS[1:-1])
        return larger - similar
    ratio, along = data["magnitude_ratio"], data["along"].item()
    core: dict[str, Any] = {
        "input_core_dims": [[along], [along]],
        "output_core_dims": [["region", along]],
    }
    weights: xr.DataArray = xr.apply_ufunc(shares, ratio, data[along], vectorize=True, **core)
    known = each.notnull().any("teacher")
    weights = weights.isel(region=REGIONS.index(region)).where(known, 0.0)
    total = (weights * each.where(weights > 0, 0.0)).sum(["depth", "size"], skipna=False)
    return total / weights.sum(["depth", "size"])
