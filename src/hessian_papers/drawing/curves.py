"""The curves of a figure's main panel as numbers, for charts that are drawn elsewhere."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

# What :func:`main` marks.
_MAIN = "main panel"
# So many curves, of so many points each, and so many digits, at most.
CURVES, POINTS, DIGITS = 12, 400, 6
# Fewer points are an end of a guide to the eye.
FEWEST = 3

Chart = dict[str, Any]


def main(axes: Axes) -> None:
    """Mark the panel whose curves tell the most, where that is not the one of most names."""
    axes.set_gid(_MAIN)


def chart(figure: Figure) -> Chart:
    """The named curves of a figure's main panel.

    A line is named by its own label, or by the legend's entry that looks like it. Lines without a
    name are left out, and so is what is not finite. The main panel is that with the most names, of
    several the first, among those that are marked, if any is.

    Returns:
        ``title``, ``x`` and ``y``, what is written at the panel and its axes; and ``curves``, of
        each its ``name``, numbered where several have it, and its points ``x`` and ``y``. Empty if
        no panel has a named line.

    Example:
        >>> figure = Figure()
        >>> axes = figure.subplots()
        >>> _ = axes.plot([1, 2, 3, 4], [1.0, float("nan"), 9.0, 16.0], label="squares")
        >>> chart(figure)["curves"]
        [{'name': 'squares', 'x': [1.0, 3.0, 4.0], 'y': [1.0, 9.0, 16.0]}]
    """
    shared = _looks(figure.legends)
    panels = [(axes, list(_curves(axes, shared))) for axes in figure.axes]
    marked = [panel for panel in panels if panel[0].get_gid() == _MAIN]
    axes, curves = max(
        marked or panels, key=lambda panel: len({name for name, _ in panel[1]}), default=(None, [])
    )
    if axes is None or not curves:
        return {}
    labels = {
        "title": axes.get_title(loc="left") or axes.get_title(),
        "x": axes.get_xlabel(),
        "y": axes.get_ylabel(),
    }
    return {**labels, "curves": list(_numbered(curves[:CURVES]))}


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


def _curves(axes: Axes, shared: Mapping[tuple[str, ...], str]) -> Iterator[tuple[str, np.ndarray]]:
    """The named lines of a panel with their points ``(k, 2)``."""
    legend = axes.get_legend()
    names = {**shared, **_looks([] if legend is None else [legend])}
    for line in axes.lines:
        label = str(line.get_label())
        # Matplotlib's own labels begin with an underscore.
        name = names.get(_look(line), "") if label.startswith("_") else label
        points = np.array([line.get_xdata(), line.get_ydata()], dtype=float).T
        points = points[np.isfinite(points).all(axis=1)]
        if name and len(points) >= FEWEST:
            yield name, points


def _numbered(curves: Sequence[tuple[str, np.ndarray]]) -> Iterator[dict[str, Any]]:
    """The curves evenly thinned and rounded, each with a name of its own."""
    counts, seen = Counter(name for name, _ in curves), Counter[str]()
    for name, points in curves:
        seen[name] += 1
        if len(points) > POINTS:
            points = points[np.linspace(0, len(points) - 1, POINTS).round().astype(int)]
        x, y = ([float(f"{number:.{DIGITS}g}") for number in part] for part in points.T)
        yield {"name": f"{name}, {seen[name]}" if counts[name] > 1 else name, "x": x, "y": y}
