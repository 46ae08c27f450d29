"""The distance of the equation for the sharpness from the numbers, for figure and claims."""

import xarray as xr


def error(data: xr.Dataset) -> xr.DataArray:
    """The relative error of eq. (14), for each depth and norm."""
    return abs(data["predicted"] / data["sharpness"] - 1)
