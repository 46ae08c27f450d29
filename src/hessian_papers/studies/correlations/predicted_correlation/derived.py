"""The misses of the predictions, of which figure and claims are made."""

import xarray as xr


def root_mean_square(values: xr.DataArray) -> xr.DataArray:
    """The root mean square over parametrisations, sizes and layers, for each teacher."""
    return (values**2).mean(["parametrisation", "size", "layer"]) ** 0.5


def misses(data: xr.Dataset) -> xr.DataArray:
    """The :func:`root_mean_square` of predicted less measured, for each teacher and formula."""
    return root_mean_square(data["predicted"] - data["measured"])
