"""The misses of correlations with a surrogate, of which figure and claims are made."""

import xarray as xr

# What points differ by; runs of two layers alone may lack the depth.
POINTS = ("parametrisation", "depth", "size")


def over_points(values: xr.DataArray, *more: str) -> xr.DataArray:
    """The mean over all points, and further dimensions, where it is defined."""
    return values.mean([dim for dim in (*POINTS, *more) if dim in values.dims])


def root_mean_square(values: xr.DataArray) -> xr.DataArray:
    """The root mean square over points and layers, for each teacher."""
    return over_points(values**2, "layer") ** 0.5


def off(data: xr.Dataset) -> xr.DataArray:
    """The r with each surrogate less that with the sharpness of the same networks."""
    return data["surrogate"] - data["measured"]


def misses(data: xr.Dataset) -> xr.DataArray:
    """The :func:`root_mean_square` of :func:`off`, for each teacher and formula."""
    return root_mean_square(off(data))
