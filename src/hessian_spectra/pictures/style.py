"""The look that all figures share."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import ascii_lowercase
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

# Okabe and Ito's palette: distinguishable with every common form of colour blindness, and by
# lightness in print.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
YELLOW = "#F0E442"
BLACK = "#000000"
GREY = "#7F7F7F"

# One colour for one thing, in every figure.
COLOURS = {
    "bulk": GREY,
    "outlier 1": VERMILION,
    "outlier 2": BLUE,
    "outlier 3": GREEN,
    "cell +": VERMILION,
    "cell -": BLUE,
    "trace": PURPLE,
    "loss": BLACK,
    "error": BLACK,
}

# For what varies continuously, less its lightest end, which would not show on white.
COLOURMAP = ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.92, 256)))

# How the two sides of every comparison are drawn: the closed form as a line or an open ring on
# top of the numeric points.
NUMERIC: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.5, "alpha": 0.55}
EXACT: dict[str, Any] = {"linewidth": 1.2}
EXACT_RING: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 7,
    "markerfacecolor": "none",
}

_STYLE: Any = {
    "font.size": 8,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.35,
    "lines.linewidth": 1.2,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "hessian-spectra",
}

FULL_WIDTH = 6.75  # inches: the text width of a two-column paper
COLUMN_WIDTH = 3.25  # one of its columns


def panels(
    rows: int = 1,
    columns: int = 1,
    *,
    height: float = 2.4,
    width: float = FULL_WIDTH,
    **options: Any,
) -> tuple[Figure, Any]:
    """A figure with ``rows`` x ``columns`` axes, each ``height`` inches high.

    Returns:
        The figure and its axes: one ``Axes`` for a single panel, else an array of them.
    """
    mpl.rcParams.update(_STYLE)
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def words(text: str) -> Figure:
    """A figure that says why nothing is drawn."""
    figure, axes = panels(height=0.8)
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", wrap=True)
    return figure


def bands(heights: Mapping[str, float]) -> tuple[Figure, Any]:
    """A figure in parts, one below the other, each with its own heading.

    Args:
        heights: of each part, in inches, by its heading.

    Returns:
        The figure and its parts, which make axes of their own.
    """
    mpl.rcParams.update(_STYLE)
    inches = list(heights.values())
    figure = Figure(figsize=(FULL_WIDTH, sum(inches)), layout="constrained")
    parts = figure.subfigures(len(inches), 1, squeeze=False, height_ratios=inches)[:, 0]
    for place, (part, heading) in enumerate(zip(parts, heights, strict=True)):
        part.suptitle(heading, x=0.01, ha="left", fontweight="bold")
        part.set_facecolor("#f4f4f4" if place % 2 else "white")
    return figure, parts


def letters() -> Iterator[str]:
    """The names of panels, however many there are: a to z, then aa, ab, ..., zz, aaa.

    Example:
        >>> names = letters()
        >>> [next(names) for _ in range(28)][-3:]
        ['z', 'aa', 'ab']
    """
    for length in itertools.count(1):
        yield from map("".join, itertools.product(ascii_lowercase, repeat=length))


def letter(axes: Axes, text: str) -> None:
    """Write a panel's title, such as ``(a) scale of the query and key weights``."""
    axes.set_title(text, loc="left")


def look(color: Any, marker: str | None = None, label: str | None = None, **more: Any) -> Any:
    """The look of a line or a band as matplotlib's keywords, those that are given.

    Example:
        >>> look(BLUE, "o", "theory", linewidth=1.2)
        {'color': '#0072B2', 'marker': 'o', 'label': 'theory', 'linewidth': 1.2}
    """
    given = {"color": color, "marker": marker, "label": label, **more}
    return {name: value for name, value in given.items() if value is not None}


def entry(label: str, **look: Any) -> Line2D:
    """A line or marker of a legend."""
    return Line2D([], [], label=label, **look)


def mark(
    axis: Axis, ticks: Iterable[float | int], text: Callable[[float], str] = "{:g}".format
) -> None:
    """Ticks at fixed places alone, with a text each."""
    axis.set_major_locator(FixedLocator([*ticks]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda place, _: text(float(place))))


def logarithmic(axes: Axes) -> None:
    """A logarithmic vertical axis of what is drawn, with few numbers however short it is."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 100 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 10 * low else (1, 3)))
    axes.yaxis.set_minor_formatter(NullFormatter())
