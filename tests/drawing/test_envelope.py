"""The band around curves that oscillate."""

import numpy as np
import pytest

from hessian_spectra.drawing import style
from hessian_spectra.drawing.envelope import draw_envelope, envelope


@pytest.mark.parametrize("window", [1, 3, 7])
def test_envelope_is_the_range_of_the_steps_around_each(window):
    values = np.random.default_rng(0).normal(size=20)
    reach = window // 2
    rows = [values[max(0, at - reach) : at + reach + 1] for at in range(20)]
    low, high = envelope(values, window)
    np.testing.assert_array_equal(low, [row.min() for row in rows])
    np.testing.assert_array_equal(high, [row.max() for row in rows])


def test_an_oscillation_of_period_two_is_a_band_around_a_smooth_line():
    steps = np.arange(30)
    _, axes = style.panels()
    draw_envelope(axes, steps, 5.0 + (-1.0) ** steps, color=style.BLUE)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.full(30, 5.0))
    (band,) = axes.collections
    assert (band.get_datalim(axes.transData).y0, band.get_datalim(axes.transData).y1) == (4.0, 6.0)
