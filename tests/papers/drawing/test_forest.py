"""Rows of dots: where dots, intervals and lines are, and what is no number."""

import math

import pytest

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.forest import Dot, Dots, forest
from hessian_papers.drawing.overlay import OLD, underlay

PANEL = Dots(
    "(a) correlation",
    "mean over networks",
    [
        Dot("SP", 0.7, 0.6, 0.8, "ours"),
        Dot("SP", 0.5, series="printed"),
        Dot("NTP", 0.25, -math.inf, math.inf, "ours"),
        Dot("none", math.nan, math.nan, math.nan, "ours"),
    ],
    {"chance": 0.4},
)


def test_each_row_has_its_dots_intervals_and_lines():
    axes = forest([PANEL]).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["SP", "NTP", "none"]
    dots = {line.get_label(): line for line in axes.lines}
    assert dots["SP, ours"].get_xdata()[0] == 0.7
    assert dots["SP, ours"].get_ydata()[0] < dots["SP, printed"].get_ydata()[0] < 0.5
    intervals = [path.vertices[:, 0].tolist() for c in axes.collections for path in c.get_paths()]
    assert intervals == [[0.6, 0.8]]
    assert series(axes.figure)[0]["thresholds"] == [{"axis": "x", "value": 0.4}]


def test_dots_of_a_series_look_alike_and_the_legend_names_them():
    figure = forest([PANEL, PANEL._replace(title="(b)")], {"printed": {"color": "black"}})
    for axes in figure.axes:
        colours = {line.get_label(): line.get_color() for line in axes.lines}
        assert colours["SP, ours"] == colours["NTP, ours"] != colours["SP, printed"] == "black"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ours", "printed", "chance"]


@pytest.mark.parametrize("count", [1, 2, 6])
def test_all_texts_lie_within_the_figure(count):
    dots = [
        Dot("a rather long label", float(place), series=f"series {place}") for place in range(count)
    ]
    figure = forest([PANEL, Dots("", "axis", dots)])
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    for part in (*figure.axes, *figure.legends):
        box = part.get_tightbbox()
        assert min(box.x0, box.y0) >= -1
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1


def test_nothing_is_laid_under_rows_which_are_cases():
    """The cases of another run may be in other places."""
    figure = forest([PANEL])
    underlay(figure, series(forest([PANEL])))
    assert OLD["color"] not in {line.get_color() for line in figure.axes[0].lines}
