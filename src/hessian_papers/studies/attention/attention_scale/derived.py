"""Quantities along sweeps of norms and of attention sinks that figure and claims share."""

import numpy as np
import xarray as xr

from hessian_spectra.agreement import distinct_error, spectrum_error


def at_numerical_points(data: xr.Dataset) -> xr.Dataset:
    """The data set with the closed form at the points that have numerical eigenvalues."""
    return data.sel(point=data["numerical_point"])


def numerical(data: xr.Dataset, kind: str) -> xr.DataArray:
    """The distinct numerical eigenvalues of one kind, NaN elsewhere: the bulk repeats."""
    return data["numerical"].where(data["repeated"] == (kind == "bulk"))


def distinct_errors(data: xr.Dataset, kind: str = "") -> xr.DataArray:
    """The error of the distinct eigenvalues at each numerical point, relative to the largest.

    Args:
        data: of one sweep or of several.
        kind: ``outlier`` or ``bulk``; empty for all.

    Returns:
        NaN where no numerical eigenvalue is of that kind.
    """
    exact, values, every = at_numerical_points(data)["exact"], data["numerical"], data["numerical"]
    if kind:
        exact = exact.where(at_numerical_points(data)["kind"] == kind)
        values = numerical(data, kind)
    ranks = [["rank"], ["numerical_rank"]]
    errors = xr.apply_ufunc(_distance, exact, values, input_core_dims=ranks, vectorize=True)
    return errors * abs(values).max("numerical_rank") / abs(every).max("numerical_rank")


def _distance(exact: np.ndarray, numeric: np.ndarray) -> float:
    exact, numeric = exact[np.isfinite(exact)], numeric[np.isfinite(numeric)]
    return distinct_error(exact, numeric) if exact.size and numeric.size else np.nan


def dense_errors(data: xr.Dataset) -> np.ndarray:
    """The error of all eigenvalues, multiplicities included, at the points of a sweep with all."""
    points = data.sel(point=data["dense_point"])
    rows = (points[name].values for name in ("exact", "multiplicity", "dense"))
    return np.array(
        [
            spectrum_error(np.repeat(exact, copies), dense)
            for exact, copies, dense in zip(*rows, strict=True)
        ]
    )
