"""Dots with intervals, a row a case, beside what is printed or the bound of a statement."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_spectra.pictures import style

# Colours by what a case says.
COLOURS = {"holds": style.BLUE, "fails": style.VERMILION, "open": style.GREY}
# Inches of a row of so many series, and of what is above and below the rows of a panel.
ROW, EACH, MARGIN = 0.19, 3, 0.75
# How far apart dots of one row stand, of a row's height, and their size.
ASIDE, SIZE = 0.7, 3.5
# The looks of series in turn, and of lines across the rows.
TURN, MARKERS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE), "osD^"
LINE: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.9}
LINES = ("--", ":", "-.")
Looks = Mapping[str, Mapping[str, Any]]


class Dot(NamedTuple):
    """A measured value.

    Attributes:
        row: the label of its row.
        value: where the dot is; NaN if nothing was measured.
        low: lower end of its interval; there is none if it is not finite.
        high: upper end.
        series: what tells it from other dots of the row; dots of a name look alike.
    """

    row: str
    value: float
    low: float = math.nan
    high: float = math.nan
    series: str = ""


class Dots(NamedTuple):
    """The dots on one axis.

    Attributes:
        title: what is above them.
        axis: what their axis has.
        dots: their rows are in the order of their first dots.
        lines: values that are marked across all rows, by what they are.
    """

    title: str
    axis: str
    dots: Sequence[Dot]
    lines: Mapping[str, float] = MappingProxyType({})

    @property
    def rows(self) -> list[str]:
        """The labels of the rows, from the top."""
        return [*dict.fromkeys(dot.row for dot in self.dots)]

    @property
    def series(self) -> list[str]:
        """The names of the series."""
        return [*dict.fromkeys(dot.series for dot in self.dots)]

    @property
    def height(self) -> float:
        """The inches that the panel takes: more of a row where many dots stand in it."""
        return ROW * len(self.rows) * max(1.0, len(self.series) / EACH) + MARGIN


def forest(panels: Sequence[Dots], looks: Looks = MappingProxyType({})) -> Figure:
    """A panel below each other of rows of dots, with a legend above of series and lines.

    Args:
        panels: from the top.
        looks: how the dots of a series look; the others have colours in turn.

    Example:
        >>> panel = Dots("(a) three", "share", [Dot("one", 0.5, 0.4, 0.6), Dot("two", 0.7)])
        >>> [text.get_text() for text in forest([panel]).axes[0].get_yticklabels()]
        ['one', 'two']
    """
    heights = [panel.height for panel in panels]
    figure, grid = style.panels(
        len(panels), 1, height=sum(heights) / len(panels), height_ratios=heights, squeeze=False
    )
    handles: dict[str, Artist] = {}
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        handles |= draw_dots(axes, panel, looks)
    if handles:
        figure.legend(handles=[*handles.values()], loc="outside upper center", ncols=3)
    return figure


def draw_dots(axes: Axes, panel: Dots, looks: Looks = MappingProxyType({})) -> dict[str, Artist]:
    """Draw one panel; the legend's entries of its series and lines by their names."""
    names = panel.series
    known = {name: _look(place, looks.get(name, {})) for place, name in enumerate(names)}
    for dot in panel.dots:
        aside = ASIDE * ((names.index(dot.series) + 0.5) / len(names) - 0.5)
        _draw(axes, panel.rows.index(dot.row) + aside, dot, known[dot.series])
    crossing = {name: LINE | {"linestyle": LINES[k]} for k, name in enumerate(panel.lines)}
    for name, value in panel.lines.items():
        axes.axvline(value, **crossing[name])
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_yticks(range(len(panel.rows)), panel.rows, fontsize=7)
    axes.set_ylim(max(len(panel.rows), 1) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(panel.axis)
    style.letter(axes, panel.title)
    return {name: style.entry(name, **look) for name, look in {**known, **crossing}.items() if name}


def _look(place: int, own: Mapping[str, Any]) -> dict[str, Any]:
    turn = {"color": TURN[place % len(TURN)], "marker": MARKERS[place % len(TURN)]}
    return {"linestyle": "none", "markersize": SIZE, **turn, **own}


def _draw(axes: Axes, place: float, dot: Dot, look: Mapping[str, Any]) -> None:
    if math.isfinite(dot.low) and math.isfinite(dot.high):
        axes.hlines(place, dot.low, dot.high, color=look["color"], linewidth=1.2)
    # By which the series of the figure know it.
    label = ", ".join(filter(None, (dot.row, dot.series)))
    axes.plot([dot.value], [place], **{**look, "label": label})
