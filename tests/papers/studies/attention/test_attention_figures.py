"""The figures of self-attention show every number, and their captions how a run went."""

import numpy as np
import pytest
from attention_arrays import edge_sides, scale_sides, sinks_sides
from claims_contract import planted_data

from hessian_papers.drawing.bands import envelope
from hessian_papers.studies.attention.attention_edge_of_stability import figure as edge
from hessian_papers.studies.attention.attention_edge_of_stability import study as edge_study
from hessian_papers.studies.attention.attention_scale import figure as scale
from hessian_papers.studies.attention.attention_scale import study as scale_study
from hessian_papers.studies.attention.attention_scale.derived import at_numerical_points
from hessian_papers.studies.attention.attention_sinks import figure as sinks
from hessian_papers.studies.attention.attention_sinks import study as sinks_study
from hessian_papers.studies.trainings import compared


@pytest.mark.parametrize(
    ("token", "steps", "course"), [(0.98, 60, "has reached $2/η$"), (0.5, 30, "stays below")]
)
def test_every_step_of_a_training_is_drawn(token, steps, course):
    sides = edge_sides(token, -token, steps=steps, draws=1)
    data = planted_data(sides, edge_study.VARIABLES)
    figure = edge.draw(data)
    drawn = {line.get_label(): line for line in figure.axes[2].lines}
    # The line is halfway through the band of the three steps around each.
    low, high = envelope(data["sharpness"].values)
    np.testing.assert_array_equal(drawn["closed form"].get_ydata(), (low + high) / 2)
    assert ((low <= data["sharpness"].values) & (data["sharpness"].values <= high)).all()
    np.testing.assert_array_equal(drawn["numerical"].get_xdata(), compared(data)["step"])
    second, _ = edge.controls(data)
    assert all(axes.get_ylabel() for axes in (*figure.axes, *second.axes))
    assert course in edge.caption(data)


def test_the_caption_says_where_a_training_diverges():
    data = planted_data(edge_sides(2.0, 1.0, draws=1), edge_study.VARIABLES)
    assert f"diverges at step {int(data['diverged_at'])}" in edge.caption(data)


@pytest.mark.parametrize("dense_points", [0, 2])
def test_every_numerical_point_of_a_sweep_is_drawn(dense_points):
    sides = scale_sides(
        key_dimension=4, numeric_points=3, dense_points=dense_points, draws=1, draw_points=2
    )
    data = planted_data(sides, scale_study.VARIABLES)
    figure = scale.draw(data)
    assert len(figure.axes) == 3
    sweep = at_numerical_points(data.sel(sweep="query_key"))
    # The numerical points of one network are lines of their own, all at one abscissa.
    points = [line.get_xydata() for line in figure.axes[0].lines if len(line.get_xdata()) < 9]
    for norm, values in zip(sweep["varied"].values, sweep["numerical"].values, strict=True):
        shown = np.concatenate([xy[:, 1] for xy in points if np.all(xy[:, 0] == norm)])
        np.testing.assert_array_equal(np.sort(shown[np.isfinite(shown)]), values)
    assert "d_K = 4" in scale.caption(data)
    second, caption = scale.controls(data)
    assert len(second.axes) == 9
    assert "all 9" in caption
    assert "dashed: 1e-10" in caption


def test_every_eigenvalue_that_repeats_is_drawn_and_groups_stand_side_by_side():
    data = planted_data(sinks_sides(draws=1), sinks_study.VARIABLES)
    bulk, outliers = sinks.draw(data).axes[:2]
    points = [line for line in bulk.lines if line.get_marker() == "s"]
    assert [len(line.get_xdata()) for line in points] == [6, 6, 6]
    shown = [line for line in outliers.lines if line.get_marker() == "o"]
    # 5 d^2 - 2 d = 39 eigenvalues do not repeat, a fifth of them is shown.
    assert [len(line.get_xdata()) for line in shown] == [8, 8, 8]
    values = np.array([0.5, 1.0, 1.001, 1.002])
    np.testing.assert_allclose(sinks._beside(values), sinks.WIDE * np.array([0, -1, 0, 1]))
    caption = sinks.caption(data)
    assert "81 parameters" in caption
    assert "6 values, each occurring 7 times" in caption
    assert "dashed: 1e-10" in sinks.controls(data)[1]
