"""The figure of the edge of stability: every step is drawn, whether the edge is reached or not."""

import numpy as np
import pytest
from attention_arrays import edge_sides
from claims_contract import planted_data

from hessian_papers.drawing.bands import envelope
from hessian_papers.studies.attention.attention_edge_of_stability import figure as figures
from hessian_papers.studies.attention.attention_edge_of_stability.study import VARIABLES
from hessian_papers.studies.trainings import compared

EDGE = "has reached $2/η$"
CALM = "stays below"


@pytest.mark.parametrize(("token", "steps", "course"), [(0.98, 90, EDGE), (0.5, 60, CALM)])
def test_figure_draws_every_step(token, steps, course):
    data = planted_data(edge_sides(token, -token, steps=steps), VARIABLES)
    figure = figures.draw(data)
    sharpness = figure.axes[2]
    assert sharpness.get_ylabel() == r"sharpness $\lambda_{\max}$"
    drawn = {line.get_label(): line for line in sharpness.lines}
    # The line is halfway through the band of the three steps around each.
    low, high = envelope(data["sharpness"].values)
    np.testing.assert_array_equal(drawn["closed form"].get_ydata(), (low + high) / 2)
    assert (low <= data["sharpness"].values).all()
    assert (data["sharpness"].values <= high).all()
    np.testing.assert_array_equal(drawn["numerical"].get_xdata(), compared(data)["step"])
    second, _ = figures.controls(data)
    assert all(axes.get_ylabel() for axes in (*figure.axes, *second.axes))
    assert course in figures.caption(data)


def test_caption_says_where_a_run_diverges():
    data = planted_data(edge_sides(2.0, 1.0), VARIABLES)
    assert f"diverges at step {int(data['diverged_at'])}" in figures.caption(data)
