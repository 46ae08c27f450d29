"""The band around curves that oscillate."""

import numpy as np

from hessian_papers.drawing.envelope import draw_envelope, envelope
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
