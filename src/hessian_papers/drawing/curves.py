"""The numbers that a figure draws: its panels' curves, for charts that are drawn elsewhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from hessian_papers.drawing.interactive import Chart

# What :func:`main` marks.
_MAIN = "main panel"
# So many points of a curve and so many digits, at most.
POINTS, DIGITS = 400, 6
# Fewer points without a mark are ends of a guide to the eye.
FEWEST = 3


def main(axes: Axes) -> None:
    """Mark the panel whose curves tell the most, where that is not the one of most names."""
    axes.set_gid(_MAIN)


def series(figure: Figure) -> list[Chart]:
    """All that a figure's panels draw, as numbers.

    A line is named by its own label, or by the legend's entry that looks like it. What is not
    finite is left out.

    Returns:
        Of each panel ``title``, ``x`` and ``y``, what is written at the panel and its axes, or at
        those of its column and row where a grid says it once; ``scales``, those of both axes;
        ``main``, whether it is marked; ``curves``, of each its ``name`` (empty if it has none), its
        points ``x`` and ``y``, and whether it is a ``line`` or ``points``; ``bands``, the corners
        of each as ``x`` and ``y``; ``thresholds``, the ``value`` of each line across the panel and
        its ``axis``; and ``images``, the rows of each. Panels that draw nothing are left out.

    Example:
        >>> figure = Figure()
        >>> axes = figure.subplots()
        >>> line, level = axes.plot([1, 2, 3], [1, 4, 9], "o"), axes.axhline(5)
        >>> (panel,) = series(figure)
        >>> panel["curves"]
        [{'name': '', 'drawn': 'points', 'x': [1.0, 2.0, 3.0], 'y': [1.0, 4.0, 9.0]}]
        >>> panel["thresholds"]
        [{'axis': 'y', 'value': 5.0}]
    """
    return [panel for _, panel in panels_of(figure)]


def panels_of(figure: Figure) -> list[tuple[Axes, Chart]]:
    """The axes of a figure that draw something, each with its part of :func:`series`."""
    kinds = ("curves", "bands", "thresholds", "images")
    panels = [(axes, _panel(axes, _looks(figure.legends))) for axes in figure.axes]
    return [(axes, panel) for axes, panel in panels if any(panel[kind] for kind in kinds)]


def _panel(axes: Axes, shared: Mapping[tuple[str, ...], str]) -> Chart:
    return {
        "title": axes.get_title(loc="left") or axes.get_title(),
        "x": axes.get_xlabel() or _beside(axes, "colspan", Axes.get_xlabel),
        "y": axes.get_ylabel() or _beside(axes, "rowspan", Axes.get_ylabel),
        "scales": [axes.get_xscale(), axes.get_yscale()],
        "main": axes.get_gid() == _MAIN,
        "curves": list(_curves(axes, shared)),
        "bands": list(_bands(axes)),
        "thresholds": list(_thresholds(axes)),
        "images": [_rows(image.get_array()) for image in axes.images],
    }


def _beside(axes: Axes, span: str, name: Callable[[Axes], str]) -> str:
    """The name of an axis that a grid of panels says once: of a panel in the same column or row."""
    own = axes.get_subplotspec()
    if own is None:
        return ""
    for other in axes.figure.axes:
        place = other.get_subplotspec()
        alike = place is not None and place.get_gridspec() is own.get_gridspec()
        if alike and getattr(place, span) == getattr(own, span) and name(other):
            return name(other)
    return ""


def _rounded(numbers: Any) -> list[float]:
    return [float(f"{number:.{DIGITS}g}") for number in numbers]


def _rows(values: Any) -> list[list[float | None]]:
    """The rows of an image, with three digits; nothing where there is none."""
    rows = np.ma.filled(np.ma.masked_invalid(np.asarray(values, dtype=float)), np.nan)
    return [[float(f"{x:.3g}") if np.isfinite(x) else None for x in row] for row in rows]


def _bands(axes: Axes) -> Iterator[Chart]:
    """The areas between curves, as the corners of each piece."""
    for collection in axes.collections:
        if isinstance(collection, PolyCollection):
            for path in collection.get_paths():
                corners = np.asarray(path.vertices, dtype=float)
                points = _thinned(corners[np.isfinite(corners).all(axis=1)])
                if len(points) >= FEWEST:
                    x, y = map(_rounded, points.T)
                    yield {"x": x, "y": y}


def _thresholds(axes: Axes) -> Iterator[Chart]:
    """The lines across the whole panel, which marks along one of its sides are not."""
    across = {"y": axes.get_yaxis_transform(which="grid"), "x": axes.get_xaxis_transform("grid")}
    for line in (line for line in axes.lines if line.get_linestyle() != "None"):
        for axis, transform in across.items():
            if line.get_transform() == transform:
                values = np.asarray(line.get_ydata() if axis == "y" else line.get_xdata(), float)
                if len(values) and np.isfinite(values).all():
                    yield {"axis": axis, "value": _rounded(values[:1])[0]}


def _thinned(points: np.ndarray) -> np.ndarray:
    """Points ``(k, 2)``, evenly fewer if there are too many."""
    if len(points) <= POINTS:
        return points
    return np.asarray(points[np.linspace(0, len(points) - 1, POINTS).round().astype(int)])


def _look(line: Line2D) -> tuple[str, ...]:
    return tuple(map(str, (line.get_color(), line.get_linestyle(), line.get_marker())))


def _looks(legends: Sequence[Legend]) -> dict[tuple[str, ...], str]:
    """The names in some legends by the look of what they name."""
    return {
        _look(handle): text.get_text()
        for legend in legends
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
        if isinstance(handle, Line2D)
    }


def _curves(axes: Axes, shared: Mapping[tuple[str, ...], str]) -> Iterator[Chart]:
    """The lines of a panel, thinned and rounded; a line is named by its label or by the legend."""
    legend = axes.get_legend()
    names = {**shared, **_looks([] if legend is None else [legend])}
    for line in (line for line in axes.lines if line.get_transform() == axes.transData):
        label = str(line.get_label())
        # Matplotlib's own labels begin with an underscore.
        name = names.get(_look(line), "") if label.startswith("_") else label
        points = np.array([line.get_xdata(), line.get_ydata()], dtype=float).T
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) >= (FEWEST if line.get_marker() in ("None", "", None) else 1):
            x, y = map(_rounded, _thinned(points).T)
            alone = line.get_linestyle() == "None" or len(points) == 1
            drawn = "points" if alone else "line"
            yield {"name": name, "drawn": drawn, "x": x, "y": y}
