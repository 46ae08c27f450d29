"""The figure of the edge of stability: every step is drawn, whether the edge is reached or not."""

import numpy as np
import pytest
from attention_arrays import edge_sides

from hessian_papers.drawing.envelope import envelope
from hessian_papers.studies.attention.attention_edge_of_stability import figure as figures
from hessian_papers.studies.attention.attention_edge_of_stability.reading import Reading

EDGE = "reaches at step"
CALM = "stays below"


@pytest.mark.parametrize(("token", "steps", "course"), [(0.98, 90, EDGE), (0.5, 60, CALM)])
def test_figure_draws_every_step(token, steps, course):
    reading = Reading(edge_sides(token, -token, steps=steps))
    figure = figures.draw(reading)
    sharpness = figure.axes[2]
    assert sharpness.get_ylabel() == r"sharpness $\lambda_{\max}$"
    drawn = {line.get_label(): line for line in sharpness.lines}
    # The line is halfway through the band of the three steps around each.
    low, high = envelope(reading["sharpness"])
    np.testing.assert_array_equal(drawn["closed form"].get_ydata(), (low + high) / 2)
    assert (low <= reading["sharpness"]).all()
    assert (reading["sharpness"] <= high).all()
    np.testing.assert_array_equal(drawn["numerical"].get_xdata(), reading.numeric_steps)
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert course in figures.caption(reading)


def test_caption_says_where_a_run_diverges():
    reading = Reading(edge_sides(2.0, 1.0))
    assert f"diverges at step {reading['diverged_at']}" in figures.caption(reading)
