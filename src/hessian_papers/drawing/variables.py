"""Pictures of variables: what a study adds to a paper's panels, such as errors and controls.

A panel says which variables it shows, over which coordinate; what they are called, how curves are
told apart and which axes are logarithmic follows from their names, labels and attributes.
"""

import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from hessian_papers.drawing.errors import FLOOR, error_axis
from hessian_spectra.pictures import style

Look = Mapping[str, Any]
Looks = Mapping[str, Look]
# The unit of relative errors of what is exact but for rounding: they have an axis of their own.
ROUNDING = "of rounding"
# Dimensions of what is repeated: all of it looks alike.
ALIKE = ("draw", "seed", "teacher", "replicate", "head", "layer")
# A curve, a level across a panel, the points of errors, and what repeats beneath its mean.
PLAIN: Look = {"color": style.BLACK, "markersize": 3.5}
LEVEL: Look = {"color": style.BLACK, "linewidth": 0.8, "linestyle": "--"}
ERROR: Look = {"color": style.COLOURS["error"], "linestyle": "none", "marker": ".", "markersize": 3}
THIN: Look = {"linewidth": 0.5, "alpha": 0.6, "markersize": 1}
COLOURS = (style.BLUE, style.VERMILION, style.GREEN, style.ORANGE, style.PURPLE, style.SKY)
MARKERS = "os^Dv"
# An axis of positive numbers is logarithmic where the largest is so many times the smallest.
WIDE = 30.0
# What a band has, and how it looks.
ESTIMATES = ("value", "low", "high")
BAND: Look = {"alpha": 0.2, "linewidth": 0}
# Characters of a line of an axis' name.
LINE = 30


class Panel(NamedTuple):
    """Variables over one of their coordinates.

    Attributes:
        title: what is above them.
        along: the coordinate, which may itself differ from curve to curve.
        values: the variables. A dimension with labels tells curves apart, the first by colour and
            the second by marker; one without labels, or of :data:`ALIKE`, does not, and beneath
            the mean of such curves each is thin. What does not have the coordinate's dimension is
            a level across the panel; what is :func:`banded` has a band around it.
        drawn: draws what else there is.
    """

    title: str
    along: str
    values: Sequence[xr.DataArray]
    drawn: Callable[[Axes], Any] = lambda axes: None


def named(values: xr.DataArray, name: str, *, rounding: bool = False) -> xr.DataArray:
    """Values with what they are called, which stands along their axis.

    Args:
        values: any.
        name: for example ``relative error``.
        rounding: whether they are errors of what is exact but for rounding.

    Example:
        >>> named(xr.DataArray([0.0]), "relative error", rounding=True).attrs
        {'long_name': 'relative error', 'units': 'of rounding'}
    """
    return values.assign_attrs(long_name=name, **({"units": ROUNDING} if rounding else {}))


def banded(value: xr.DataArray, low: xr.DataArray, high: xr.DataArray) -> xr.DataArray:
    """Values within a band, which is drawn around their curve.

    Example:
        >>> banded(xr.DataArray([1.0]), xr.DataArray([0.5]), xr.DataArray([2.0])).estimate.values
        array(['value', 'low', 'high'], dtype='<U5')
    """
    return xr.concat([value, low, high], xr.Variable("estimate", [*ESTIMATES]))


def picture(
    panels: Sequence[Panel],
    looks: Looks = MappingProxyType({}),
    *,
    columns: int = 3,
    entries: Sequence[Artist] = (),
) -> Figure:
    """A figure of panels, with a legend above of what tells curves apart.

    Args:
        panels: from left to right, row by row.
        looks: how curves look, and as ``label`` what they are called, by the names of variables
            and by labels; of what is not there the colours and markers come in turn.
        columns: of panels, at most.
        entries: further ones of the legend.
    """
    figure, places = row_by_row(len(panels), columns, height=2.2)
    handles: dict[str, Artist] = {}
    for axes, letter, panel in zip(places, style.letters(), panels, strict=False):
        for values in panel.values:
            for name, look in _draw(axes, values, panel.along, looks):
                mark = {"marker": "o"} if look.get("linestyle") == "none" else {}
                handles.setdefault(name, style.entry(name, **{**mark, **look}))
        _finish(axes, panel)
        style.letter(axes, f"({letter}) {panel.title}")
    if len(shown := [*entries, *handles.values()]) > 1:
        figure.legend(handles=shown, loc="outside upper center", ncols=4)
    return figure


def row_by_row(number: int, columns: int, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, row by row.

    Args:
        number: of panels, at least one.
        columns: of panels, at most.
        options: of :func:`hessian_spectra.pictures.style.panels`.

    Example:
        >>> figure, panels = row_by_row(3, 2)
        >>> len(panels), len(figure.axes)
        (3, 3)
    """
    columns = min(columns, number)
    figure, grid = style.panels(-(-number // columns), columns, squeeze=False, **options)
    for axes in grid.flat[number:]:
        axes.remove()
    return figure, [*grid.flat[:number]]


def _draw(axes: Axes, values: xr.DataArray, along: str, looks: Looks) -> Iterator[tuple[str, Look]]:
    """Draw the curves of a variable; the name and the look of each thing that tells them apart."""
    inner = values[along].dims[-1] if along in values.coords else None
    whole = (inner, "estimate", *ALIKE)
    apart = [d for d in values.dims if d in values.coords and d not in whole]
    base = PLAIN if inner in values.dims else LEVEL
    if _is_error(values):
        base = ERROR
    for place in np.ndindex(*(values.sizes[dim] for dim in apart)):
        chosen = values.isel(dict(zip(apart, place, strict=True)))
        if inner in chosen.dims:
            chosen = chosen.dropna(inner, how="all")
        if not chosen.size:
            continue
        parts = [*_parts(values, dict(zip(apart, place, strict=True)), looks)]
        look = dict(itertools.chain(base.items(), *(part.items() for _, part in parts)))
        # By which the series of the figure know it.
        label = ", ".join(name for name, _ in parts if name)
        look["label"] = label or values.attrs.get("long_name", "")
        if inner in chosen.dims:
            _curve(axes, chosen, chosen[along], look)
        else:
            axes.axhline(float(chosen), **look)
        yield from ((name, {**base, **part}) for name, part in parts if name)


def _parts(
    values: xr.DataArray, place: Mapping[Any, int], looks: Looks
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The labels of a curve and its variable: what each is called, and how it looks."""
    for number, (dim, at) in enumerate(place.items()):
        label, size = values[dim].values.tolist()[at], values.sizes[dim]
        known, numbers = looks.get(str(label), {}), not isinstance(label, str)
        look: dict[str, Any] = {"marker": MARKERS[at % len(MARKERS)]} if number == 1 else {}
        if number == 0:
            shades = style.COLOURMAP(np.linspace(0, 1, size))
            look["color"] = shades[at] if numbers else COLOURS[at % len(COLOURS)]
        text = f"{dim} {label:g}".replace("_", " ") if numbers else label
        yield known.get("label", text), _without_name({**look, **known})
    own = looks.get(str(values.name))
    name = "" if own is None else own.get("label", str(values.name))
    yield name, _without_name(own or {})


def _without_name(look: Look) -> dict[str, Any]:
    return {key: value for key, value in look.items() if key != "label"}


def _curve(axes: Axes, values: xr.DataArray, along: xr.DataArray, look: Look) -> None:
    """One curve, or curves that look alike and their mean; around what is banded its band."""
    if "estimate" in values.dims:
        values, low, high = (values.sel(estimate=name, drop=True) for name in ESTIMATES)
        axes.fill_between(along, low, high, color=look["color"], **BAND)
    inner = along.dims[-1]
    x, y = (each.transpose(inner, ...) for each in xr.broadcast(along, values))
    if _is_error(values):
        y = y.clip(min=FLOOR)
    alike = [dim for dim in y.dims if dim != inner]
    rows = (each.values.reshape(len(y), -1) for each in (x, y))
    if look.get("linestyle") == "none":  # points that look alike are one curve
        axes.plot(*(row[y.notnull().values.reshape(row.shape)] for row in rows), **look)
        return
    several = {*alike} & {*ALIKE}
    if len(y) == 1 and not look.get("marker"):
        look = {**look, "marker": "."}  # a line of one point is none
    axes.plot(*rows, **{**look, **(THIN if several else {})})
    if several:
        axes.plot(x.mean(alike), y.mean(alike), **look)


def _is_error(values: xr.DataArray) -> bool:
    return values.attrs.get("units") == ROUNDING


def _finish(axes: Axes, panel: Panel) -> None:
    """The axes of a panel: their names, and whether they are logarithmic."""
    curves = [values for values in panel.values if panel.along in values.coords]
    if curves:
        _horizontal(axes, np.concatenate([values[panel.along].values.ravel() for values in curves]))
        axes.set_xlabel(panel.along if "$" in panel.along else panel.along.replace("_", " "))
        _vertical(axes, panel, curves)
    panel.drawn(axes)


def _horizontal(axes: Axes, x: np.ndarray) -> None:
    if x.dtype.kind == "f" and is_wide(x):
        axes.set_xscale("log")
    elif x.dtype.kind in "fiu" and (x[x == x] % 1 == 0).all():
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


def _vertical(axes: Axes, panel: Panel, curves: Sequence[xr.DataArray]) -> None:
    name = next((values.attrs["long_name"] for values in curves if "long_name" in values.attrs), "")
    axes.set_ylabel("\n".join(textwrap.wrap(name, LINE, break_long_words=False)))
    numbers = np.concatenate([values.values.ravel() for values in panel.values])
    if any(map(_is_error, curves)):
        axes.set_yscale("log")
        error_axis(axes, top=max(1e-8, 10 * float(np.nanmax(numbers, initial=0.0))))
        axes.yaxis.set_major_locator(LogLocator(numticks=4))
        axes.yaxis.set_minor_locator(NullLocator())
    elif is_wide(numbers):
        style.logarithmic(axes)


def is_wide(numbers: np.ndarray, times: float = WIDE) -> bool:
    """Whether positive numbers are better told apart on a logarithmic axis.

    Example:
        >>> is_wide(np.array([1.0, 100.0])), is_wide(np.array([0.0, 100.0]))
        (True, False)
    """
    known = numbers[np.isfinite(numbers)]
    return bool(known.size and known.min() > 0 and known.max() >= times * known.min())
