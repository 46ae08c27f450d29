"""Statements that no figure of a paper shows: each case with its interval and its bound."""

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_spectra.pictures import style

# Colours by what a case says.
COLOURS = {"holds": style.BLUE, "fails": style.VERMILION, "open": style.GREY}
# A bound of at most so much is one on round-off, and where its axis begins.
ROUND_OFF, FLOOR = 1e-6, 1e-18
# Inches of a case, and of a statement beside its cases; characters of a line.
CASE, HEADING, WIDE = 0.17, 0.62, 105


class Row(NamedTuple):
    """One case of a statement.

    Attributes:
        label: what tells it from the others.
        value: measured; NaN if nothing was.
        low: lower end of its interval; NaN if there is none.
        high: upper end.
        allowed: the smallest and the largest value with which the statement holds.
        outcome: what it says: ``holds``, ``fails``, ``open`` or ``not measured``.
    """

    label: str
    value: float
    low: float
    high: float
    allowed: tuple[float, float]
    outcome: str


class Block(NamedTuple):
    """A statement with its cases."""

    sentence: str
    statistic: str
    rows: Sequence[Row]


def _is_logarithmic(rows: Sequence[Row]) -> bool:
    """Whether values are errors beside a bound on round-off."""
    return all(0 < row.allowed[1] <= ROUND_OFF for row in rows)


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    """What the axis shows: all values, intervals and bounds, with some room."""
    if _is_logarithmic(rows):
        values = [row.value for row in rows if math.isfinite(row.value)]
        return FLOOR, 10 * max(1.0, *values, 1.0)
    ends = [end for row in rows for end in (row.value, row.low, row.high, *row.allowed)]
    known = [end for end in ends if math.isfinite(end)] or [0.0]
    room = 0.06 * (max(known) - min(known)) or 1.0
    return min(known) - room, max(known) + room


def _draw_case(axes: Axes, place: int, row: Row) -> None:
    left, right = axes.get_xlim()
    low, high = np.clip(row.allowed, left, right)
    ends = [place - 0.5, place + 0.5]
    axes.fill_betweenx(ends, low, high, color=style.GREEN, alpha=0.13, linewidth=0)
    colour = COLOURS.get(row.outcome, style.BLACK)
    if math.isfinite(row.low) and math.isfinite(row.high):
        axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.4)
    if math.isfinite(row.value):
        axes.plot([max(row.value, left)], [place], "o", color=colour, markersize=4)
    else:
        axes.text(left, place, " not measured", fontsize=6, va="center", color=style.GREY)


def _draw(axes: Axes, block: Block) -> None:
    axes.grid(visible=False, axis="y")
    axes.set_xscale("log" if _is_logarithmic(block.rows) else "linear")
    axes.set_xlim(*_limits(block.rows))
    for place, row in enumerate(block.rows):
        _draw_case(axes, place, row)
    axes.set_yticks(range(len(block.rows)), [row.label for row in block.rows], fontsize=6)
    axes.set_ylim(len(block.rows) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=6)
    axes.set_title(textwrap.fill(block.sentence, WIDE), loc="left", fontsize=7)
    axes.set_xlabel(textwrap.shorten(block.statistic, WIDE, placeholder=" ..."), fontsize=6)


def forest(blocks: Sequence[Block]) -> Figure:
    """A panel a statement: a point a case, its interval, and in green where the statement holds."""
    heights = [HEADING + CASE * len(block.rows) for block in blocks]
    figure, grid = style.panels(
        len(blocks), 1, height=sum(heights) / len(blocks), squeeze=False, height_ratios=heights
    )
    for axes, block in zip(grid[:, 0], blocks, strict=True):
        _draw(axes, block)
    return figure
