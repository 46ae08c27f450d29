"""Means over networks of growing width, which both figure and claims read, and their exponents."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure
from hessian_spectra.statistics import MeanInterval, leave_one_out, student_mean


def measured(data: xr.Dataset, name: str) -> xr.DataArray:
    """A quantity of networks under one law of the inputs, at the widths that have it.

    Raises:
        NothingToMeasure: it is not measured under this law.
    """
    values = data[name].dropna("width", how="all") if name in data else xr.DataArray([np.nan])
    if not values.size or not np.isfinite(values).all():
        raise NothingToMeasure(f"of {data['law'].item()} inputs this is not measured")
    return values


def over_draws(values: xr.DataArray) -> MeanInterval:
    """The mean over independent draws, with its interval."""
    return student_mean(values.transpose("draw", ...).values, skewed=True)


def exponent(values: xr.DataArray, sizes: xr.DataArray) -> Estimate:
    """The exponent p of means over draws that are proportional to ``size^p``.

    It is the slope of the least-squares line through the logarithms. A squared distance that is
    estimated without the error of the sampling may be negative in a single draw. Lines through the
    logarithms of single draws would leave those draws out, and overrate what is near 0; the mean
    over all draws has no such error. The interval is Student's, of the jackknife's pseudo-values
    over draws: in simulations of 12 draws it holds the exponent as often as it should.

    Args:
        values: one for each draw and size, those of a draw independent of those of the others.
        sizes: along the other dimension.

    Raises:
        NothingToMeasure: there is a single size; or a mean, perhaps one without one draw, is not
            positive.
    """
    if len(np.unique(sizes)) < 2:
        raise NothingToMeasure(f"this configuration has a single {sizes.name}")
    draws = values.transpose("draw", *sizes.dims).values
    logarithms = np.log(sizes.values.astype(np.float64))
    centred = logarithms - logarithms.mean()
    count = len(draws)
    chosen = np.concatenate([np.ones((1, count)), leave_one_out(count)])
    means = chosen @ draws / chosen.sum(axis=1, keepdims=True)
    if hidden := sizes.values[(means <= 0).any(axis=0)].tolist():
        raise NothingToMeasure(f"sampling noise hides this quantity at {sizes.name} {hidden[0]:g}")
    slope, *without = np.log(means) @ centred / (centred @ centred)
    pseudo = count * slope - (count - 1) * np.array(without)
    _, low, high = student_mean(pseudo)
    return Estimate(float(slope), float(low), float(high))
