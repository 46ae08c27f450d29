"""Statements that no figure of a paper shows: each case with its interval and its bound."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from hessian_papers.drawing.cases import Row, is_logarithmic, limits
from hessian_spectra.pictures import style

# Colours by what a case says.
COLOURS = {"holds": style.BLUE, "fails": style.VERMILION, "open": style.GREY}
# Characters of a line of a sentence, of a statistic and of a case's label.
SENTENCE, STATISTIC, LABEL = 124, 142, 52
# More cases of identities than this are called by their names, in so many columns.
MANY, COLUMNS = 20, 3
# Inches of a line and of a character of small text, and around an axis.
LINE, CHARACTER, MARGIN = 0.125, 0.047, 0.1
EXACTLY = "What holds exactly, up to round-off"


class Block(NamedTuple):
    """A statement with its cases."""

    sentence: str
    statistic: str
    rows: Sequence[Row]


class Panel(NamedTuple):
    """Cases on one axis.

    Attributes:
        title: what is above them.
        foot: what is below the axis.
        labels: of each case, in lines.
        rows: the cases.
        columns: how many panels stand side by side, and the place of this one.
    """

    title: str
    foot: str
    labels: Sequence[str]
    rows: Sequence[Row]
    columns: tuple[int, int] = (1, 0)

    @property
    def inches(self) -> tuple[float, float, float]:
        """Heights of what is above the axis, of the cases, and of what is below."""
        above, below = (LINE * _lines(text) for text in (self.title, self.foot))
        cases = sum(map(_height, self.labels))
        return above + 0.2, LINE * cases, below + 0.28


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _height(label: str) -> float:
    """The lines that a case takes: a little more than its label has."""
    return _lines(label) + 0.2


def _wrapped(text: str, width: int, lines: int = 3) -> str:
    return "\n".join(textwrap.wrap(text, width, max_lines=lines, placeholder=" ..."))


def _own_panel(block: Block) -> Panel:
    labels = [_wrapped(row.label, LABEL) for row in block.rows]
    return Panel(
        _wrapped(block.sentence, SENTENCE, 4), _wrapped(block.statistic, STATISTIC), labels,
        block.rows,
    )  # fmt: skip


def _sentences(block: Block) -> Iterator[str]:
    """The names of cases beside those of other statements: the first one has the sentence."""
    for place, row in enumerate(block.rows):
        texts = [_wrapped(block.sentence, LABEL, 4)] * (place == 0) + [row.label] * bool(row.label)
        yield "\n".join(texts)


def _common_panels(blocks: Sequence[Block]) -> Iterator[Panel]:
    """All identities on one axis, or on a few side by side."""
    rows = [row for block in blocks for row in block.rows]
    if len(rows) <= MANY:
        labels = [label for block in blocks for label in _sentences(block)]
        yield Panel(EXACTLY, "error", labels, rows)
        return
    length = -(-len(rows) // COLUMNS)
    for column in range(COLUMNS):
        part = rows[column * length : (column + 1) * length]
        title = " " if column else EXACTLY
        yield Panel(title, "error", [row.name for row in part], part, (COLUMNS, column))


def _panels(blocks: Sequence[Block]) -> Iterator[Panel]:
    exact = [block for block in blocks if is_logarithmic(block.rows)]
    if len(exact) > 1:
        yield from _common_panels(exact)
    for block in blocks:
        if len(exact) == 1 or block not in exact:
            yield _own_panel(block)


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
        axes.plot([value], [place], "o", color=colour, markersize=3.5, clip_on=False)
    else:
        axes.text(left, place, " not measured", fontsize=6, va="center", color=style.GREY)


def _mark_errors(axes: Axes, numbers: int) -> None:
    """A logarithmic axis with few numbers; an error of 0 stands at its left end."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=numbers))
    axes.minorticks_off()


def _draw(axes: Axes, panel: Panel) -> None:
    axes.grid(visible=False, axis="y")
    if is_logarithmic(panel.rows):
        _mark_errors(axes, 6 if panel.columns[0] == 1 else 3)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.ticklabel_format(axis="x", useOffset=False)
    axes.set_xlim(*limits(panel.rows))
    heights = np.array([*map(_height, panel.labels)])
    places = np.cumsum(heights) - heights / 2
    for place, height, row in zip(places, heights, panel.rows, strict=True):
        _draw_case(axes, float(place), float(height), row)
    axes.set_yticks(places, panel.labels, fontsize=6)
    axes.set_ylim(heights.sum(), 0.0)
    axes.tick_params(axis="x", labelsize=6, pad=2)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(panel.foot, fontsize=6, labelpad=1)


def _place(axes: Axes, panel: Panel, size: tuple[float, float], top: float, left: float) -> None:
    """Put a panel below a height of its figure, in inches, its title at the left margin."""
    figure_width, figure_height = size
    above, cases, _ = panel.inches
    columns, column = panel.columns
    whole = (figure_width - MARGIN) / columns
    width = whole - left - MARGIN
    x, y = MARGIN + column * whole + left, top - above - cases
    axes.set_position(
        (x / figure_width, y / figure_height, width / figure_width, cases / figure_height)
    )
    axes.set_title(panel.title, loc="left", fontsize=7, x=-left / width, pad=4)
    axes.xaxis.set_label_coords(0.5 if columns > 1 else -left / width, -0.22 / cases)
    axes.xaxis.label.set(ha="center" if columns > 1 else "left", va="top")


def _left(panels: Sequence[Panel]) -> float:
    """Inches of the longest label of some panels."""
    lines = [line for panel in panels for label in panel.labels for line in label.split("\n")]
    return MARGIN + CHARACTER * max(map(len, lines))


def forest(blocks: Sequence[Block]) -> Figure:
    """A panel a statement: a point a case, its interval, and in green where the statement holds.

    Statements that hold up to round-off, if there are several, share one axis.
    """
    panels = [*_panels(blocks)]
    heights = [sum(panel.inches) for panel in panels if panel.columns[1] == 0]
    figure, grid = style.panels(len(panels), 1, height=sum(heights) / len(panels), squeeze=False)
    figure.set_layout_engine("none")
    size = figure.get_figwidth(), figure.get_figheight()
    top = size[1]
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        _draw(axes, panel)
        alike = [other for other in panels if other.columns[0] == panel.columns[0]]
        _place(axes, panel, size, top, _left(alike))
        columns, column = panel.columns
        if column == columns - 1:
            top -= heights.pop(0)
    return figure
