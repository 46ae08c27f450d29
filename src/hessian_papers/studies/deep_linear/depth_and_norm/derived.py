"""How far the equation for the sharpness is from the numbers, which figure and claims show."""

import xarray as xr


def error(data: xr.Dataset) -> xr.DataArray:
    """The relative error of eq. (14), for each depth and norm."""
    return abs(data["predicted"] / data["sharpness"] - 1)
