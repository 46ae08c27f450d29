"""The picture of statements: where points, intervals and bounds are, and what is no number."""

import math

import numpy as np
import pytest

from hessian_papers.case_axis import Row
from hessian_papers.drawing.curves import series
from hessian_papers.drawing.forest import COLOURS, Block, forest

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


def identities(number):
    """Statements with a bound on round-off, of two cases each."""
    rows = [
        Row(case, 1e-15, NAN, NAN, (-math.inf, 1e-10), "holds", f"{case}-name") for case in "ab"
    ]
    return [Block(f"Identity {place} holds. " * 9, "", rows) for place in range(number)]


def test_identities_share_an_axis():
    common, own = forest([*identities(3), OBSERVED]).axes
    labels = [text.get_text() for text in common.get_yticklabels()]
    assert len(labels) == 6
    assert labels[0].startswith("Identity 0 holds.")
    assert labels[0].endswith("\na")
    assert labels[1::2] == ["b"] * 3
    assert own.get_title(loc="left") == OBSERVED.sentence


def test_many_identities_are_called_by_their_names_in_columns():
    figure = forest(identities(50))
    labels = [[text.get_text() for text in axes.get_yticklabels()] for axes in figure.axes]
    assert [label for part in labels for label in part] == ["a-name", "b-name"] * 50
    assert [*map(len, labels)] == [34, 34, 32]
    assert figure.get_figheight() < 8


@pytest.mark.parametrize("blocks", [[*identities(3), OBSERVED], identities(50)])
def test_all_texts_lie_within_the_figure(blocks):
    figure = forest(blocks)
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= width + 1
        assert box.y1 <= height


def test_points_intervals_and_colours_are_those_of_the_cases():
    axes = forest([OBSERVED]).axes[0]
    points = {line.get_ydata()[0]: line for line in axes.lines if len(line.get_xdata()) == 1}
    intervals = [line for line in axes.lines if len(line.get_xdata()) == 2]
    ticks = axes.get_yticks().tolist()
    for place, tick, row in zip(range(3), ticks, OBSERVED.rows, strict=False):
        assert points[tick].get_xdata()[0] == row.value
        assert points[tick].get_color() == COLOURS[row.outcome]
        assert list(intervals[place].get_xdata()) == [row.low, row.high]
    assert len(intervals) == 3
    assert "not measured" in [text.get_text().strip() for text in axes.texts]


def test_what_is_allowed_is_filled_to_the_end_of_the_axis():
    figure = forest([OBSERVED])
    (panel,) = series(figure)
    right = figure.axes[0].get_xlim()[1]
    for band in panel["bands"]:
        assert (min(band["x"]), max(band["x"])) == pytest.approx((0.5, right))


def test_any_value_is_borne():
    blocks = [
        Block("It is.", "", [Row("", value, NAN, NAN, allowed, "fails")])
        for value in (0.0, math.inf, NAN, -1e-3)
        for allowed in ((-np.inf, 1e-10), (0.0, 1.0))
    ]
    forest(blocks).draw_without_rendering()
