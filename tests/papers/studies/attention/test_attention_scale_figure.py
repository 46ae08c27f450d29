"""The figure of norms and sinks: every numerical point is drawn."""

import numpy as np
import pytest
from attention_arrays import scale_sides

from hessian_papers.studies.attention.attention_scale import figure as figures
from hessian_papers.studies.attention.attention_scale.reading import Reading


@pytest.fixture(scope="module")
def reading():
    return Reading(scale_sides())


def test_figure_shows_every_point(reading):
    figure = figures.draw(reading)
    assert len(figure.axes) == 12
    sweep = reading.sweep("query_key")
    # The numerical points of one network are lines of their own, all at one abscissa.
    points = [line.get_xydata() for line in figure.axes[0].lines if len(line.get_xdata()) < 9]
    for row, point in enumerate(sweep["index"]):
        shown = [xy[:, 1] for xy in points if np.all(xy[:, 0] == sweep["varied"][point])]
        np.testing.assert_array_equal(np.sort(np.concatenate(shown)), sweep["values"][row])


def test_the_papers_panels_stand_apart_from_ours(reading):
    upper, lower = figures.draw(reading).subfigs
    assert upper.get_suptitle() == "Figure 2 of the paper"
    assert lower.get_suptitle().startswith("ours")


def test_caption_counts_all_eigenvalues(reading):
    caption = figures.caption(reading)
    assert "d_K = 12" in caption
    assert "all 25" in caption
    assert "dashed: 1e-10" in caption


def test_figure_does_without_dense_points():
    reading = Reading(scale_sides(points=3, numeric_points=2, dense_points=0))
    assert len(figures.draw(reading).axes) == 12
    assert "(e, f) Condition numbers" in figures.caption(reading)
