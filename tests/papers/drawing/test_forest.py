"""The picture of statements: where points, intervals and bounds are, and what is no number."""

import math

import numpy as np
import pytest

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.forest import COLOURS, Block, Row, forest

NAN = math.nan
OBSERVED = Block(
    "Sharpness goes with the norm.",
    "correlation, mean over networks",
    [
        Row("SP", 0.7, 0.6, 0.8, (0.5, math.inf), "holds"),
        Row("μP", 0.3, 0.2, 0.4, (0.5, math.inf), "fails"),
        Row("NTP", 0.5, 0.3, 0.7, (0.5, math.inf), "open"),
        Row("none", NAN, NAN, NAN, (0.5, math.inf), "not measured"),
    ],
)
EXACT = Block("It is exact.", "", [Row("", 1e-15, NAN, NAN, (-math.inf, 1e-10), "holds")])


def test_each_statement_has_a_panel_and_each_case_a_row():
    figure = forest([OBSERVED, EXACT])
    first, second = figure.axes
    assert [text.get_text() for text in first.get_yticklabels()] == ["SP", "μP", "NTP", "none"]
    assert first.get_title(loc="left") == OBSERVED.sentence
    assert first.get_xlabel() == OBSERVED.statistic
    assert (first.get_xscale(), second.get_xscale()) == ("linear", "log")


def test_points_intervals_and_colours_are_those_of_the_cases():
    axes = forest([OBSERVED]).axes[0]
    points = {line.get_ydata()[0]: line for line in axes.lines if len(line.get_xdata()) == 1}
    intervals = [line for line in axes.lines if len(line.get_xdata()) == 2]
    for place, row in enumerate(OBSERVED.rows[:3]):
        assert points[place].get_xdata()[0] == row.value
        assert points[place].get_color() == COLOURS[row.outcome]
        assert list(intervals[place].get_xdata()) == [row.low, row.high]
    assert len(intervals) == 3
    assert "not measured" in [text.get_text().strip() for text in axes.texts]


def test_what_is_allowed_is_filled_to_the_end_of_the_axis():
    figure = forest([OBSERVED])
    (panel,) = series(figure)
    right = figure.axes[0].get_xlim()[1]
    for band in panel["bands"]:
        assert (min(band["x"]), max(band["x"])) == pytest.approx((0.5, right))


@pytest.mark.parametrize("value", [0.0, math.inf, NAN, -1e-3])
def test_any_value_is_borne(value):
    rows = [
        Row("", value, NAN, NAN, allowed, "fails") for allowed in ((-np.inf, 1e-10), (0.0, 1.0))
    ]
    for row in rows:
        forest([Block("It is.", "", [row])]).draw_without_rendering()
