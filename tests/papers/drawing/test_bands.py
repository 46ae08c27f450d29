"""Bands: around means of draws, and around curves that oscillate."""

import numpy as np
import xarray as xr
from scipy import stats

from hessian_papers.drawing.bands import draw_envelope, draw_mean, envelope
from hessian_spectra.pictures import style


def test_envelope_is_the_range_of_the_steps_around_each():
    values = np.random.default_rng(0).normal(size=20)
    rows = [values[max(0, at - 1) : at + 2] for at in range(20)]
    low, high = envelope(values)
    np.testing.assert_array_equal(low, [row.min() for row in rows])
    np.testing.assert_array_equal(high, [row.max() for row in rows])


def test_an_oscillation_of_period_two_is_a_band_around_a_smooth_line():
    steps = np.arange(30)
    _, axes = style.panels()
    draw_envelope(axes, steps, 5.0 + (-1.0) ** steps, color=style.BLUE)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.full(30, 5.0))
    (band,) = axes.collections
    assert (band.get_datalim(axes.transData).y0, band.get_datalim(axes.transData).y1) == (4.0, 6.0)


def test_a_mean_has_the_band_of_its_draws():
    values = np.random.default_rng(0).normal(size=(3, 5))
    _, axes = style.panels()
    draws = xr.DataArray(values, {"size": [1, 4, 9]}, ("size", "draw"))
    draw_mean(axes, draws, "size", color=style.BLUE)
    np.testing.assert_allclose(axes.lines[0].get_xydata(), np.stack([[1, 4, 9], values.mean(1)], 1))
    error = stats.sem(values, axis=1)
    low, high = stats.t.interval(0.95, 4, loc=values.mean(1), scale=error)
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices[:, 1]
    assert corners.min() == low.min()
    assert corners.max() == high.max()
