"""What both figure and claims derive from attention at initialisation."""

import xarray as xr

# The bulk counts as constant where its range is no more than this share of it.
CONSTANT = 0.1


def bulk_range(data: xr.Dataset) -> xr.DataArray:
    """The largest over the smallest |γ| of all factors, less 1."""
    bulk = data["scaled_bulk"]
    return bulk.max("factor", skipna=False) / bulk.min("factor", skipna=False) - 1
