"""The series of a figure over those of another state: the old ones pale, the new ones on top."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.scale import SymmetricalLogScale
from matplotlib.ticker import FixedLocator

from hessian_papers.drawing.curves import panels_of
from hessian_papers.drawing.interactive import Chart
from hessian_papers.drawing.variables import COLOURS, row_by_row
from hessian_spectra.pictures import style

# The old curves: paler than anything that a figure draws, and wider than what is drawn over them.
OLD: Any = {"color": "#BDBDBD", "linewidth": 2.0, "zorder": 0.9}
_OLD_POINTS: Any = {"linestyle": "none", "marker": "o", "markersize": 4.5, "markeredgewidth": 0}
# Numbers of a record have six digits; what is smaller is round-off.
_RELATIVE, _ABSOLUTE = 2e-5, 1e-12
# Old points may widen a panel up to so many times.
_WIDEST = 4.0
# More names are no legend.
_NAMES = 12
Pair = tuple[Chart | None, Chart]


def counterparts(old: Sequence[Chart], new: Sequence[Chart]) -> list[Pair]:
    """The panels of a figure, each with that of another state that it is compared with.

    They are matched by their place, and by their titles where there are more or fewer of them.

    Args:
        old: what the other state draws, see :func:`curves.series`.
        new: what this one draws.

    Example:
        >>> first, second = {"title": "(a) loss"}, {"title": "(b) sharpness"}
        >>> counterparts([first, second], [second])
        [({'title': '(b) sharpness'}, {'title': '(b) sharpness'})]
    """
    if len(old) == len(new):
        return [*zip(old, new, strict=True)]
    titles = {panel["title"]: panel for panel in old}
    return [(titles.get(panel["title"]), panel) for panel in new]


def differing(old: Sequence[Chart], new: Sequence[Chart]) -> list[Pair]:
    """The :func:`counterparts` that do not draw the same numbers; round-off is the same."""
    return [pair for pair in counterparts(old, new) if pair[0] is None or not _alike(*pair)]


def _alike(old: Any, new: Any) -> bool:
    """Whether two parts of a record are the same up to rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_alike(old[key], new[key]) for key in new)
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return False
        if all(isinstance(value, int | float) for value in (*old, *new)):
            return bool(np.allclose(old, new, rtol=_RELATIVE, atol=_ABSOLUTE))
        return all(itertools.starmap(_alike, zip(old, new, strict=True)))
    if isinstance(old, float) and isinstance(new, float):
        return bool(np.isclose(old, new, rtol=_RELATIVE, atol=_ABSOLUTE))
    return bool(old == new)


def underlay(figure: Figure, old: Sequence[Chart]) -> None:
    """Draw the curves and bands of another state under those of a figure, panel by panel.

    Panels whose positions along an axis are names of cases are left as they are: a record does not
    say which case stood where. What lies far beyond the figure's own points does not squeeze them.

    Args:
        figure: what is drawn over them.
        old: what the other state draws.
    """
    panels = panels_of(figure)
    pairs = counterparts(old, [chart for _, chart in panels])
    for (axes, _), (below, _) in zip(panels, pairs, strict=True):
        if below is not None and not any(map(_has_names, (axes.xaxis, axes.yaxis))):
            own = axes.get_xlim()
            _draw_old(axes, below)
            if _span(axes, axes.get_xlim()) > _WIDEST * _span(axes, own):
                axes.set_xlim(own)


def _has_names(axis: Axis) -> bool:
    """Whether positions along an axis are called otherwise than by their numbers."""
    locator, called = axis.get_major_locator(), axis.get_major_formatter()
    if not isinstance(locator, FixedLocator):
        return False
    places = axis.get_majorticklocs().tolist()
    pairs = zip(places, called.format_ticks(places), strict=True)
    try:
        return not all(np.isclose(place, float(name or place)) for place, name in pairs)
    except ValueError:
        return True


def _span(axes: Axes, limits: tuple[float, float]) -> float:
    """The length of an interval on a figure's axis, which may be logarithmic."""
    low, high = axes.xaxis.get_transform().transform(np.array(limits))
    return float(abs(high - low))


def _draw_old(axes: Axes, panel: Chart) -> None:
    for band in panel["bands"]:
        axes.fill(band["x"], band["y"], color=OLD["color"], alpha=0.35, linewidth=0, zorder=0.8)
    for curve in panel["curves"]:
        points = _OLD_POINTS if curve["drawn"] == "points" else {}
        axes.plot(curve["x"], curve["y"], **OLD, **points)
        _show(axes, curve)


def _show(axes: Axes, curve: Chart) -> None:
    """Widen axes whose limits are set by hand, so that a curve is seen as a whole."""
    for name in "xy":
        low, high = getattr(axes, f"get_{name}lim")()
        logarithmic = getattr(axes, f"get_{name}scale")() == "log"
        shown = [number for number in curve[name] if number > 0 or not logarithmic]
        if low < high:
            getattr(axes, f"set_{name}lim")(min([low, *shown]), max([high, *shown]), auto=None)


def compared(pairs: Sequence[Pair], names: tuple[str, str]) -> Figure:
    """The panels of a figure that differ, drawn from the numbers of both states.

    Args:
        pairs: from :func:`differing`, at least one.
        names: those of the old state, which is pale, and of the new one. Of images, which cannot
            lie over each other, both stand side by side, in the same colours.
    """
    cells = [cell for pair in pairs for cell in _cells(pair, names)]
    figure, places = row_by_row(len(cells), 2)
    known = dict.fromkeys(curve["name"] for cell in cells for curve in cell.new["curves"])
    colours = dict(zip(known, itertools.cycle(COLOURS), strict=False))
    for axes, cell in zip(places, cells, strict=True):
        style.letter(axes, cell.title)
        axes.set(xlabel=cell.new["x"], ylabel=cell.new["y"])
        if cell.image is None:
            _draw_both(axes, cell, colours)
        else:
            shown = axes.imshow(
                cell.image,
                vmin=cell.limits[0],
                vmax=cell.limits[1],
                cmap=style.COLOURMAP,
                aspect="auto",
            )
            axes.grid(visible=False)
            figure.colorbar(shown, ax=axes)
    _legend(figure, colours, names)
    return figure


class _Cell(NamedTuple):
    """The content of one panel: both states' curves, or an image of one of them."""

    title: str
    old: Chart | None
    new: Chart
    image: Any = None
    limits: tuple[float, float] = (0.0, 1.0)


def _cells(pair: Pair, names: tuple[str, str]) -> Iterator[_Cell]:
    old, new = pair
    images = [[np.array(rows, dtype=float) for rows in panel["images"]] if panel else []
              for panel in pair]  # fmt: skip
    if new["curves"] or new["bands"] or not images[1]:
        yield _Cell(new["title"], old, new)
    for both in itertools.zip_longest(*images):
        known = np.concatenate([image[np.isfinite(image)] for image in both if image is not None])
        limits = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        for name, image in zip(names, both, strict=True):
            if image is not None:
                yield _Cell(f"{new['title']}, {name}", old, new, image, limits)


def _draw_both(axes: Axes, cell: _Cell, colours: Mapping[str, str]) -> None:
    for axis, scale in zip("xy", cell.new["scales"], strict=True):
        axes.set(**{f"{axis}scale": scale if scale != "symlog" else _symlog(axis, cell.new)})
    if cell.old is not None:
        _draw_old(axes, cell.old)
    for band in cell.new["bands"]:
        axes.fill(band["x"], band["y"], color=style.BLUE, alpha=0.15, linewidth=0)
    for curve in cell.new["curves"]:
        points = {"linestyle": "none", "marker": "o", "markersize": 2.5}
        look = points if curve["drawn"] == "points" else {"linewidth": 1.2}
        axes.plot(curve["x"], curve["y"], color=colours[curve["name"]], **look)
    for line in cell.new["thresholds"]:
        across = axes.axhline if line["axis"] == "y" else axes.axvline
        across(line["value"], color=style.BLACK, linewidth=0.8, linestyle="--")


def _symlog(axis: str, panel: Chart) -> SymmetricalLogScale:
    """A symmetric logarithmic scale that is linear below the smallest number that is drawn."""
    sizes = np.abs(np.concatenate([[0.0], *(curve[axis] for curve in panel["curves"])]))
    least = max(sizes[sizes > 0].min(initial=1.0), 1e-8 * sizes.max())
    return SymmetricalLogScale(None, linthresh=float(least))


def _legend(figure: Figure, colours: Mapping[str, str], names: tuple[str, str]) -> None:
    """Which state is pale, and what the colours of the other are."""
    old, new = names
    known = {name: colour for name, colour in colours.items() if name}
    entries = [style.entry(old, **OLD), *(
        style.entry(f"{new}: {name}", color=colour) for name, colour in known.items()
    )]  # fmt: skip
    if not known or len(known) > _NAMES:
        entries = [entries[0], style.entry(new, color=next(iter(colours.values()), style.BLUE))]
    figure.legend(handles=entries, loc="outside upper center", ncols=min(3, len(entries)))
