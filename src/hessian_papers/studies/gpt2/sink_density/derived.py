"""Quantities of ladders of sinks that figure and claims share."""

import numpy as np
import scipy
import xarray as xr

# The sink that is made stronger, and the edit that takes away what training made of it.
SINK, NO_SINK = "first-token", "no-sink"


def uniform_mass(length: int) -> float:
    """The mean attention on the first token where each query attends alike to all that it sees.

    Example:
        >>> uniform_mass(2)
        0.75
    """
    return float((1 / np.arange(1, length + 1)).mean())


def ladder(values: xr.DataArray) -> xr.DataArray:
    """Loss or eigenvalue, for which at rung 0 all edits have what the model has without one."""
    return values.fillna(values.sel(edit=SINK).isel(rung=[0]))


def smoothed(data: xr.Dataset, kernel: str, product: str = "") -> xr.DataArray:
    """The spectrum at the strongest sink, smoothed as the density is, along ``seed`` and ``point``.

    Args:
        data: the study's.
        kernel: ``pdf`` for the density, ``cdf`` for the share of the eigenvalues below.
        product: ``released_`` for that by curvlinops' released product.
    """
    last = data.isel(rung=-1)
    nodes, weights = (last[f"{product}{name}"] for name in ("node", "weight"))
    smooth = getattr(scipy.stats.norm, kernel)
    values = xr.apply_ufunc(smooth, last["grid"], nodes, last["width"])
    return xr.dot(values, weights, dim="rank").mean("probe", skipna=False)
