"""The functional parts, of which figure and claims are made."""

import xarray as xr


def functional_part(data: xr.Dataset) -> xr.DataArray:
    """The fraction |F|/(G + |F|) of a quantity: G of the Gauss-Newton matrix, F = H − G.

    It is 0 without residuals, and half where both make as much of it.
    """
    added = abs(data["hessian"] - data["gauss_newton"])
    return added / (data["gauss_newton"] + added)
