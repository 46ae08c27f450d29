"""The number of outliers, which both figure and claims read."""

import xarray as xr

from hessian_papers.studies.layerwise.layers import outliers_of

# The form that is the Gauss-Newton term.
GAUSS_NEWTON = "gauss-newton"


def outliers(data: xr.Dataset) -> int:
    """``c − 1``, as many outliers as the paper expects for c classes.

    Raises:
        NothingToMeasure: the study has fewer eigenvalues.
    """
    return outliers_of(int(data["classes"]), data.sizes["rank"])
