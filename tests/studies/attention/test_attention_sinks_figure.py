"""The figure of sinks with vector tokens: every eigenvalue that repeats is drawn."""

import pytest
from attention_arrays import sinks_sides

from hessian_spectra.studies.attention.attention_sinks import figure as figures
from hessian_spectra.studies.attention.attention_sinks.reading import Reading


@pytest.fixture(scope="module")
def reading():
    return Reading(sinks_sides())


def test_figure_shows_every_eigenvalue_that_repeats(reading):
    bulk, outliers = figures.draw(reading).axes[:2]
    points = [line for line in bulk.lines if line.get_marker() == "s"]
    assert [len(line.get_xdata()) for line in points] == [6, 6, 6]
    shown = [line for line in outliers.lines if line.get_marker() == "o"]
    # 5 d^2 - 2 d = 39 eigenvalues do not repeat, a fifth of them is shown.
    assert len(shown) == 8


def test_caption_counts_the_bulk(reading):
    caption = figures.caption(reading)
    assert "81 parameters" in caption
    assert "6 values, each occurring 7 times" in caption
    assert "dashed: 1e-10" in caption
