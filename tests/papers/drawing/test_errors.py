"""The axis of relative errors."""

import numpy as np

from hessian_papers.drawing.errors import FLOOR, ROUNDING, error_axis, visible
from hessian_spectra.pictures import style


def test_what_is_zero_is_drawn_inside_the_band_below_rounding():
    assert 1.0 + ROUNDING == 1.0
    assert 1.0 + 1.1 * 2 * ROUNDING > 1.0
    _, axes = style.panels()
    axes.semilogy(visible(np.array([0.0, 1e-12])))
    error_axis(axes)
    (band,) = axes.patches
    low, high = band.get_extents().transformed(axes.transData.inverted()).intervaly
    assert low < FLOOR < high <= ROUNDING * (1 + 1e-9)
    assert axes.get_ylim()[0] < FLOOR
    assert [text.get_text() for text in axes.texts] == ["below the rounding of one number"]
