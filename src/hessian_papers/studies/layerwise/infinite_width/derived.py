"""Means over networks of growing width, which both figure and claims read."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_spectra.statistics import MeanInterval, student_mean


def measured(data: xr.Dataset, name: str) -> xr.DataArray:
    """A quantity of networks under one law of the inputs.

    Raises:
        NothingToMeasure: it is not measured under this law.
    """
    if name not in data or not np.isfinite(data[name]).all():
        raise NothingToMeasure(f"of {data['law'].item()} inputs this is not measured")
    return data[name]


def over_draws(values: xr.DataArray) -> MeanInterval:
    """The mean over independent draws, with its interval."""
    return student_mean(values.transpose("draw", ...).values, skewed=True)
