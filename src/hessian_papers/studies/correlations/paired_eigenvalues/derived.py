"""The distances |λ_i + λ_j − tr(H)/D| as figure and claims take them.

A flat network, whose ReLUs are all off and whose Hessian is zero, has none; neither has a point
that there is not, of an input size above the width.
"""

import numpy as np
import xarray as xr
from xarray.ufuncs import maximum


def curved(data: xr.Dataset) -> xr.DataArray:
    """A mask of the networks that are not flat."""
    return data["largest"] > 0


def rounding(data: xr.Dataset) -> xr.DataArray:
    """Float64's unit of each network's largest eigenvalue."""
    return np.finfo(np.float64).eps * data["largest"]


def distances(data: xr.Dataset) -> xr.DataArray:
    """The smallest and the second smallest, no smaller than rounding.

    Neither an axis in logarithms nor a ratio has a place for a distance of zero. NaN for flat
    networks, infinite where there is no second pair.
    """
    return maximum(data["distance"], rounding(data)).where(curved(data))
