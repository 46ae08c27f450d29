"""Regions of sizes or depths, and means over them."""

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


def means(values: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Means ``(T, V, ...)`` of ``(T, depth, size, ...)`` over positions that some teacher has.

    Each position counts as much as ``(3, x)`` says for each of the first three regions. A teacher
    that lacks one of these positions has no mean.
    """
    values = values.reshape(len(values), -1, *values.shape[3:])
    defined = np.isfinite(values).any(axis=0)
    groups = []
    for region in regions:
        weights = defined * region.reshape(-1, *[1] * (values.ndim - 2))
        number = weights.sum(axis=0)
        total = (weights * np.where(weights > 0, values, 0.0)).sum(axis=1)
        groups.append(np.where(number > 0, total / np.where(number > 0, number, 1.0), np.nan))
    _, larger, similar = groups
    return np.stack([*groups, larger - similar], axis=1)
