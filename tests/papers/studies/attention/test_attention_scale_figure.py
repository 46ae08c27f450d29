"""The figure of norms and sinks: every numerical point is drawn."""

import numpy as np
import pytest
from attention_arrays import scale_sides
from claims_contract import planted_data

from hessian_papers.studies.attention.attention_scale import figure as figures
from hessian_papers.studies.attention.attention_scale.derived import at_numerical_points
from hessian_papers.studies.attention.attention_scale.study import VARIABLES


@pytest.fixture(scope="module")
def data():
    return planted_data(scale_sides(), VARIABLES)


def test_figure_shows_every_point(data):
    figure = figures.draw(data)
    assert len(figure.axes) == 3
    sweep = at_numerical_points(data.sel(sweep="query_key"))
    # The numerical points of one network are lines of their own, all at one abscissa.
    points = [line.get_xydata() for line in figure.axes[0].lines if len(line.get_xdata()) < 9]
    for norm, values in zip(sweep["varied"].values, sweep["numerical"].values, strict=True):
        shown = np.concatenate([xy[:, 1] for xy in points if np.all(xy[:, 0] == norm)])
        np.testing.assert_array_equal(np.sort(shown[np.isfinite(shown)]), values)


def test_captions_count_all_eigenvalues(data):
    assert "d_K = 12" in figures.caption(data)
    figure, caption = figures.controls(data)
    assert len(figure.axes) == 9
    assert "all 25" in caption
    assert "dashed: 1e-10" in caption


def test_figure_does_without_dense_points():
    data = planted_data(scale_sides(points=3, numeric_points=2, dense_points=0), VARIABLES)
    assert len(figures.draw(data).axes) == 3
    assert "(f, h) Condition numbers" in figures.controls(data)[1]
