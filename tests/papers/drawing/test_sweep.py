"""The picture of a sweep: a panel a statistic, its intervals, and where the statement holds."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.sweep import picture
from hessian_spectra.pictures import style

WIDTHS, KINDS, CASES = [1, 10, 100], ["linear", "relu"], ["growing", "bounded"]


def sweep(outcome="holds"):
    value = np.array([[[1.0, 0.5], [2.0, 0.4]], [[10.0, 0.5], [20.0, np.nan]], [[100.0, 0.6]] * 2])
    dims = ("width", "kind", "case")
    bound = np.ones_like(value)
    numbers = {"value": value, "low": value / 2, "high": value * 2}
    numbers |= {"bound_low": -np.inf * bound, "bound_high": [5.0, 0.55] * bound}
    texts = {"sentence": ["It grows.", "It does not."], "statistic": ["size", "share"]}
    return xr.Dataset(
        {name: (dims, array) for name, array in numbers.items()}
        | {name: ("case", words) for name, words in texts.items()}
        | {"outcome": (dims, np.full(value.shape, outcome))},
        {"width": WIDTHS, "kind": KINDS, "case": CASES},
    )


def test_a_second_key_is_told_by_colour_and_axes_are_what_the_values_ask_for():
    figure = picture(sweep(), ["width", "kind"], CASES)
    first, second = series(figure)
    assert [panel["title"] for panel in (first, second)] == ["It grows.", "It does not."]
    assert [panel["scales"] for panel in (first, second)] == [["log", "log"], ["log", "linear"]]
    assert first["curves"][0]["x"] == WIDTHS
    assert first["curves"][0]["y"] == [1.0, 10.0, 100.0]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["kind linear", "kind relu"]


@pytest.mark.parametrize(
    ("outcome", "colour"), [("holds", style.BLUE), ("fails", style.VERMILION), ("open", style.GREY)]
)
def test_over_one_key_points_say_whether_the_statement_holds(outcome, colour):
    figure = picture(sweep(outcome).isel(kind=0, drop=True), ["width"], CASES[1:])
    (axes,) = figure.axes
    (points,) = [each for each in axes.collections if len(each.get_offsets()) == len(WIDTHS)]
    assert {to_hex(each).upper() for each in points.get_facecolors()} == {colour}
    # What is allowed reaches from below to the bound, within what is seen.
    (allowed,) = [
        patch for patch in axes.patches if to_hex(patch.get_facecolor()) == to_hex(style.GREEN)
    ]
    low, high = axes.get_ylim()
    assert allowed.get_y() == pytest.approx(low)
    assert allowed.get_y() + allowed.get_height() == pytest.approx(0.55)
    assert high > 1.2


def test_words_stand_side_by_side_and_no_line_joins_them():
    figure = picture(sweep().isel(width=0, drop=True), ["kind"], CASES[:1])
    (axes,) = figure.axes
    figure.draw_without_rendering()
    assert [text.get_text() for text in axes.get_xticklabels()] == KINDS
    assert {line.get_linestyle() for line in axes.lines} == {"None"}


def test_a_run_that_failed_takes_no_place():
    data = sweep().isel(kind=0, drop=True)
    data["value"][0] = np.nan
    (axes,) = picture(data, ["width"], CASES[1:]).figure.axes
    assert axes.get_xlim()[0] > 5
