"""The marks that a caption names are looked for in what the panels draw, not in their legends."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.pictures import style
from tests.pipelines.marks import NAMED, undrawn, unmatched

# A word, and what draws it.
DRAWN = {
    "dashed": lambda axes: axes.axhline(1, linestyle="--"),
    "dotted": lambda axes: axes.vlines([1], 0, 1, linestyle=":"),
    "rings": lambda axes: axes.plot([1], [1], **style.EXACT_RING),
    "hollow": lambda axes: axes.scatter([1], [1], facecolors="none", edgecolors="k"),
    "filled": lambda axes: axes.plot([1], [1], "s"),
    "diamonds": lambda axes: axes.plot([1], [1], "D"),
    "crosses": lambda axes: axes.plot([1], [1], "x"),
    "triangles": lambda axes: axes.plot([1], [1], "^"),
    "bands": lambda axes: axes.fill_between([0, 1], [0, 0], [1, 2]),
    "shaded": lambda axes: axes.axhspan(0, 1),
    "bars": lambda axes: axes.errorbar([1], [1], [0.5]),
    "green": lambda axes: axes.plot([1, 2], [1, 2], color=style.GREEN),
    "blue": lambda axes: axes.plot([1, 2], [1, 2], color=style.BLUE),
    "red": lambda axes: axes.plot([1, 2], [1, 2], color=style.VERMILION),
    "grey": lambda axes: axes.plot([1, 2], [1, 2], color=style.GREY),
    "black": lambda axes: axes.plot([1, 2], [1, 2], color=style.BLACK),
}


@pytest.fixture
def axes():
    return Figure().subplots()


@pytest.mark.parametrize("word", DRAWN)
def test_a_mark_is_seen_where_it_is_drawn_and_missed_where_it_is_not(axes, word):
    text = f"Lines: the closed form; {word}: the numbers."
    axes.plot([1, 2], [1, 2], color=style.YELLOW)
    assert undrawn(axes.figure, text) == [word]
    DRAWN[word](axes)
    assert undrawn(axes.figure, text) == []


def test_every_word_is_tried():
    assert all(any(re.fullmatch(pattern, word) for word in DRAWN) for pattern in NAMED)


def test_the_key_of_a_legend_is_no_mark_nor_what_is_not_finite_or_seen(axes):
    axes.plot([1, 2], [np.nan, np.nan], "--")
    axes.axhline(1, linestyle="--").set_visible(False)
    axes.legend(handles=[Line2D([], [], linestyle="--", label="bound")])
    assert undrawn(axes.figure, "Dashed: the bound.") == ["dashed"]


def test_a_word_within_another_is_none(axes):
    assert undrawn(axes.figure, "What is undashed, numbered, or reddened says nothing.") == []


@pytest.mark.parametrize(
    ("look", "missing"),
    [
        ({"color": style.BLUE}, False),
        ({"color": style.GREEN}, True),
        ({"color": style.GREY, "linestyle": "--"}, False),
        ({"color": style.GREY, "linestyle": ":"}, True),
        ({"color": style.BLACK, "marker": "s", "linestyle": "none"}, True),
    ],
)
def test_an_entry_of_a_legend_has_its_line(axes, look, missing):
    """A colour has one of that colour; a grey dash or a marker, one of that shape in any."""
    axes.plot([1, 2], [1, 2], "--", color=style.BLUE)
    axes.figure.legend(handles=[style.entry("bound", **look), style.entry(" ", linestyle="none")])
    assert unmatched(axes.figure) == ["bound"] * missing
