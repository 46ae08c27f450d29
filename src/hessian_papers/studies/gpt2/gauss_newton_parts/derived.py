"""What both figure and claims derive from eigenvalues and rows: errors, and what the GGN misses."""

import numpy as np
import xarray as xr
from xarray.ufuncs import sqrt

# The errors that stand side by side: the matrix, and the one that it is held against.
HELD_TO = {
    "right": ("ggn", "hessian"),
    "released": ("ggn", "released hessian"),
    "squared": ("squared ggn", "squared hessian"),
}


def departure(data: xr.Dataset, matrix: str, other: str) -> xr.Dataset:
    """How far the largest eigenvalue of a matrix is from that of another, relative to the latter.

    Returns:
        The ``error`` ``|1 − λ_max / λ_max(other)|``, and its ``uncertainty`` by the residuals.
    """
    first, second = (data.sel(matrix=name, drop=True) for name in (matrix, other))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = first["eigenvalue"] / second["eigenvalue"]
        uncertainty = abs(ratio) * (first["residual"] + second["residual"])
    return xr.Dataset({"error": abs(1 - ratio), "uncertainty": uncertainty})


def missing(data: xr.Dataset, rows: str = "functional_rows") -> xr.DataArray:
    """The share ``‖A_g‖_F / ‖H_g‖_F`` of each group's rows; NaN where there are none.

    Args:
        data: the study's.
        rows: of ``A``: those of F = H − G, or ``released_rows``, of the released product's error.
    """
    first, other = (data[name].mean("probe", skipna=False) for name in (rows, "hessian_rows"))
    return sqrt(first / other.where(other > 0))
