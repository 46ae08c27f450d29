"""Quantities of the spectra with vector tokens that figure and claims share."""

import numpy as np
import xarray as xr

from hessian_spectra.agreement import distinct_error

# Shares of the largest eigenvalue: two that are closer than the first are equal but for rounding,
# two that are further apart than the second are not, and a bulk below the third is too small to be
# told from outliers that go to zero with it.
EQUAL, APART, FAINT = 1e-13, 1e-9, 1e-6


def _chosen(data: xr.Dataset, mask: xr.DataArray) -> list[np.ndarray]:
    """Some eigenvalues of each numerical spectrum, ascending."""
    return [row[kept] for row, kept in zip(data["numerical"].values, mask.values, strict=True)]


def is_resolved(data: xr.Dataset) -> xr.DataArray:
    """The sinks at which it can be told which numerical eigenvalues repeat: ``sink_bias``.

    Where the attention is nearly all on one token, or the weights are small, eigenvalues come so
    close to each other, and the bulk to zero, that rounding decides.
    """
    largest, bulk = abs(data["numerical"]).max("rank"), data["sink_bulk"]
    gaps = data["numerical"].diff("rank") / largest
    clear = ((gaps < EQUAL) | (gaps > APART)).all("rank")
    apart = (bulk.diff("bulk_rank") > APART * largest).all("bulk_rank")
    return clear & apart & (abs(bulk) > FAINT * largest).all("bulk_rank")


def resolved(data: xr.Dataset) -> xr.Dataset:
    """The data set at the sinks at which it can be told which numerical eigenvalues repeat."""
    return data.isel(sink_bias=is_resolved(data))


def repeated(data: xr.Dataset) -> list[np.ndarray]:
    """The values that repeat, each of them once, for each sink."""
    return _chosen(data, (data["equals"] > 1) & data["first_of_equals"])


def bulk_errors(data: xr.Dataset) -> np.ndarray:
    """The error of the bulk relative to the largest eigenvalue, for each sink."""
    rows = zip(data["sink_bulk"].values, repeated(data), data["numerical"].values, strict=True)
    return np.array(
        [
            distinct_error(exact, bulk) * (np.abs(bulk).max() / np.abs(spectrum).max())
            for exact, bulk, spectrum in rows
        ]
    )


def largest_outliers(data: xr.Dataset) -> np.ndarray:
    """The largest share of the eigenvalues that do not repeat, ascending, for each sink.

    Of all eigenvalues, where it cannot be told which of them repeat.
    """
    single = _chosen(data, (data["equals"] == 1) | ~is_resolved(data))
    count = max(1, round(float(data["outlier_share"]) * min(map(len, single))))
    return np.array([row[-count:] for row in single])
