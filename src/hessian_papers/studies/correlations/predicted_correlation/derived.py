"""The misses of correlations with a surrogate, of which figure and claims are made."""

import xarray as xr

from hessian_papers.studies.correlations.ensembles import over_points


def root_mean_square(values: xr.DataArray) -> xr.DataArray:
    """The root mean square over points and layers, for each teacher."""
    return over_points(values**2, "layer") ** 0.5


def off(data: xr.Dataset) -> xr.DataArray:
    """The r with each surrogate less that with the sharpness of the same networks."""
    return data["surrogate"] - data["measured"]


def misses(data: xr.Dataset) -> xr.DataArray:
    """The :func:`root_mean_square` of :func:`off`, for each teacher and formula."""
    return root_mean_square(off(data))
