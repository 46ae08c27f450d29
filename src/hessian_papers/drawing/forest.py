"""Statements that no figure of a paper shows: each case with its interval and its bound."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from hessian_papers.case_axis import Row, is_logarithmic, limits
from hessian_spectra.pictures import style

# Colours by what a case says.
COLOURS = {"holds": style.BLUE, "fails": style.VERMILION, "open": style.GREY}
# Characters of a line of a sentence, of a statistic and of a case's label.
SENTENCE, STATISTIC, LABEL = 72, 84, 52
# More cases of identities than this are called by their names, in so many columns.
MANY, COLUMNS = 20, 3
# Inches of a line of small text, and what is around it and around an axis in lines.
LINE, GAP, MARGIN = 0.125, 0.2, 3.5
EXACTLY = "What holds exactly, up to round-off"


class Block(NamedTuple):
    """A statement with its cases."""

    sentence: str
    statistic: str
    rows: Sequence[Row]


class Panel(NamedTuple):
    """Cases on one axis: what is above them, what is below, and the label of each case."""

    title: str
    foot: str
    labels: Sequence[str]
    rows: Sequence[Row]

    @property
    def heights(self) -> np.ndarray:
        """The lines that each case takes."""
        return np.array([label.count("\n") + 1 + GAP for label in self.labels])


def _wrapped(text: str, width: int, lines: int = 6) -> str:
    return "\n".join(textwrap.wrap(text, width, max_lines=lines, placeholder=" ..."))


def _own_panel(block: Block) -> Panel:
    labels = [_wrapped(row.label, LABEL) for row in block.rows]
    foot = _wrapped(block.statistic, STATISTIC)
    return Panel(_wrapped(block.sentence, SENTENCE), foot, labels, block.rows)


def _sentences(block: Block) -> Iterator[str]:
    """The names of cases beside those of other statements: the first one has the sentence."""
    for place, row in enumerate(block.rows):
        texts = [_wrapped(block.sentence, LABEL)] * (place == 0) + [row.label] * bool(row.label)
        yield "\n".join(texts)


def _common_panels(blocks: Sequence[Block]) -> list[Panel]:
    """All identities on one axis, or on a few side by side."""
    rows = [row for block in blocks for row in block.rows]
    if len(rows) <= MANY:
        labels = [label for block in blocks for label in _sentences(block)]
        return [Panel(EXACTLY, "error", labels, rows)]
    length = -(-len(rows) // COLUMNS)
    parts = [rows[start : start + length] for start in range(0, len(rows), length)]
    return [
        Panel("" if place else EXACTLY, "error", [row.name for row in part], part)
        for place, part in enumerate(parts)
    ]


def _panels(blocks: Sequence[Block]) -> Iterator[list[Panel]]:
    """The panels that stand side by side, from top to bottom."""
    exact = [block for block in blocks if is_logarithmic(block.rows)]
    if len(exact) > 1:
        yield _common_panels(exact)
    for block in blocks:
        if len(exact) == 1 or block not in exact:
            yield [_own_panel(block)]


def _draw_case(axes: Axes, place: float, height: float, row: Row) -> None:
    left, right = axes.get_xlim()
    low, high = np.clip(row.allowed, left, right)
    ends = [place - height / 2, place + height / 2]
    # Nothing is known of the bound of what was not measured.
    if row.outcome != "not measured":
        axes.fill_betweenx(ends, low, high, color=style.GREEN, alpha=0.13, linewidth=0)
    colour = COLOURS.get(row.outcome, style.BLACK)
    if math.isfinite(row.low) and math.isfinite(row.high):
        axes.plot([max(row.low, left), row.high], [place, place], color=colour, linewidth=1.4)
    if math.isfinite(row.value):
        value = max(row.value, left)
        (point,) = axes.plot([value], [place], "o", color=colour, markersize=3.5, clip_on=False)
        # By which the series of the figure know it.
        point.set_label(row.label or row.name)
    else:
        axes.text(left, place, " not measured", fontsize=6, va="center", color=style.GREY)


def _draw(axes: Axes, panel: Panel, numbers: int) -> None:
    """The cases below each other; an axis of errors has few numbers, with 0 at its left end."""
    axes.grid(visible=False, axis="y")
    if is_logarithmic(panel.rows):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=numbers))
        axes.minorticks_off()
    else:
        axes.xaxis.set_major_locator(MaxNLocator(numbers))
        axes.ticklabel_format(axis="x", useOffset=False)
    axes.set_xlim(*limits(panel.rows))
    places = np.cumsum(panel.heights) - panel.heights / 2
    for place, height, row in zip(places, panel.heights, panel.rows, strict=True):
        _draw_case(axes, float(place), float(height), row)
    axes.set_yticks(places, panel.labels, fontsize=6)
    axes.set_ylim(panel.heights.sum(), 0.0)
    axes.tick_params(axis="x", labelsize=6, pad=2)
    axes.tick_params(axis="y", length=0)
    axes.set_title(panel.title, loc="left", fontsize=7)
    axes.set_xlabel(panel.foot, fontsize=6, labelpad=1)


def forest(blocks: Sequence[Block]) -> Figure:
    """A panel a statement: a point a case, its interval, and in green where the statement holds.

    Statements that hold up to round-off, if there are several, share one axis.
    """
    panels = [*_panels(blocks)]
    heights = [first.heights.sum() for first, *_ in panels]
    texts = "\n".join(f"{first.title}\n{first.foot}" for first, *_ in panels)
    lines = sum(heights) + texts.count("\n") + MARGIN * len(panels)
    figure, grid = style.panels(
        len(panels), 1, height=LINE * lines / len(panels), height_ratios=heights, squeeze=False
    )
    for axes, beside in zip(grid[:, 0], panels, strict=True):
        if len(beside) == 1:
            _draw(axes, beside[0], 6)
            continue
        places = axes.get_subplotspec().subgridspec(1, len(beside))
        axes.remove()
        for place, panel in zip(places, beside, strict=True):
            _draw(figure.add_subplot(place), panel, 3)
    return figure
