"""The misses of surrogates and of laws, of which figure and claims are made."""

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


def law_off(data: xr.Dataset, target: str, law: str) -> xr.DataArray:
    """The r with a target at initialisation, of each teacher, less that by a law."""
    return data["start"].sel(target=target) - data["predicted"].sel(law=law)


def squared_miss(off: xr.DataArray) -> xr.DataArray:
    """The mean square, for each teacher, of what the expected r is off, over all else.

    A teacher's r is off by chance as well. Its product with the mean of the other teachers, which
    err independently of it, has the square of the expected miss as its own expectation.

    Example:
        >>> off = xr.DataArray([[1.0, 2.0], [3.0, 0.0]], dims=("teacher", "size"))
        >>> squared_miss(off).values
        array([1.5, 1.5])
    """
    others = (off.sum("teacher", skipna=False) - off) / (off.sizes["teacher"] - 1)
    square = off * others
    return square.mean([dim for dim in square.dims if dim != "teacher"])
