"""Sharpness, depth and label norm: the networks, the equation's curves, and how they are drawn."""

import numpy as np
import pytest
from small_studies import DEPTHS

from hessian_papers.studies.deep_linear.depth_and_norm.derived import error
from hessian_papers.studies.deep_linear.depth_and_norm.figure import caption, controls, draw
from tests.pipelines.marks import undrawn


@pytest.fixture(scope="module")
def data():
    return DEPTHS.data(DEPTHS.both())


def test_networks_are_balanced_and_have_the_norms_asked_for(data):
    assert data["label_norm"].shape == data["sharpness"].shape == (5, 3)
    np.testing.assert_allclose(data["label_norm"] / data["norm"], np.ones((5, 3)), rtol=1e-12)
    assert data["defect"].max() < 1e-14
    # Widths are drawn for each network.
    assert len(np.unique(data["parameters"].sel(depth=5))) > 1


@pytest.mark.parametrize("scale", [1.0, 0.3, 2.5])
def test_equation_is_the_largest_eigenvalue(scale):
    actual = DEPTHS.data(DEPTHS.both(input_scale=scale, largest_depth=3, norms=[0.3, 2.0]))
    sharpness = actual["sharpness"]
    assert error(actual).max() < 1e-11
    # One layer: every eigenvalue is the second moment of the inputs.
    np.testing.assert_allclose(sharpness.sel(depth=1), scale**2, rtol=1e-12)
    # Two layers: twice the labels' norm times the inputs' scale.
    np.testing.assert_allclose(sharpness.sel(depth=2), 2 * scale * actual["norm"], rtol=1e-11)


def test_depth_makes_it_flatter_below_a_norm(data):
    # At 1/8 the sharpness falls up to the fourth layer, at 0.4 up to the second.
    sharpness = data["sharpness"]
    falls = sharpness.diff("depth") < -1e-9 * sharpness.isel(depth=slice(1, None))
    assert falls.sum("depth").values.tolist() == [3, 1, 0]
    thresholds = data["growth_from"].sel(depth=[1, 2])
    np.testing.assert_allclose(thresholds, [1 / 2, (2 / 3) ** 3], rtol=1e-12)


def test_flattest_depth_is_the_smallest_of_the_curve():
    actual = DEPTHS.data(DEPTHS.closed_only(largest_depth=8, contour_points=7001))
    curve = actual["curve"]
    np.testing.assert_allclose(actual["flattest_depth"], curve.idxmin("real_depth"), atol=1e-3)
    np.testing.assert_allclose(actual["flattest"], curve.min("real_depth"), rtol=1e-6)


def test_figure_and_controls_show_every_number(data):
    figure, (second, text) = draw(data), controls(data)
    (discs,) = (c for c in figure.axes[0].collections if len(c.get_offsets()) == 15)
    numbers = np.sort(data["sharpness"].values.ravel())
    np.testing.assert_array_equal(np.sort(discs.get_array()), numbers)
    drawn = [
        [line.get_ydata() for line in axes.lines if line.get_alpha() == 0.8] for axes in second.axes
    ]
    np.testing.assert_array_equal(np.sort(np.ravel(drawn[0])), numbers)
    assert [sum(map(len, panel)) for panel in drawn] == [15, 12, 15]
    for axes in (figure.axes[0], *second.axes):
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    assert undrawn(figure, caption(data)) == undrawn(second, text) == []
