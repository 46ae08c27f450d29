"""How far random probes are from the trace by formula, for figure and claims."""

import xarray as xr

from hessian_papers.studies.images.derived import quotient


def standardised(data: xr.Dataset) -> xr.DataArray:
    """(Hutchinson − equation (7)) / standard error; NaN without an error."""
    return quotient(data["estimate"] - data["trace"], data["standard_error"])
