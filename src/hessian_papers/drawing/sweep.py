"""The picture of a sweep: what was measured of each run, over the settings that were swept."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.case_axis import Row, is_logarithmic, limits
from hessian_papers.drawing.forest import COLOURS
from hessian_papers.drawing.variables import COLOURS as IN_TURN
from hessian_papers.drawing.variables import is_wide, row_by_row
from hessian_spectra.pictures import style

# Characters of a line of a sentence and of a statistic, and how many lines each has.
LINE, LINES = 56, 3
MARKS: dict[str, Any] = {"markersize": 3.5, "capsize": 2, "linewidth": 1.0}


def picture(data: xr.Dataset, keys: Sequence[str], chosen: Sequence[str]) -> Figure:
    """A panel a statistic over the first key, those of further keys apart by colour.

    Args:
        data: of the sweep, with the dimensions ``keys`` and ``case``, and of each case ``value``,
            ``low``, ``high``, ``bound_low``, ``bound_high``, ``outcome``, ``sentence`` and
            ``statistic``.
        keys: the settings that were swept.
        chosen: the cases that are drawn.
    """
    figure, places = row_by_row(len(chosen), 2, height=2.5)
    for axes, name in zip(places, chosen, strict=True):
        _panel(axes, data.sel(case=name), keys)
    handles, labels = places[0].get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def _panel(axes: Axes, case: xr.Dataset, keys: Sequence[str]) -> None:
    first, *others = keys
    case = case.isel({first: case["value"].notnull().any(others).values})
    labels = case[first].values
    numbers = labels.dtype.kind in "iuf"
    places = labels if numbers else np.arange(len(labels))
    for colour, name, runs in _curves(case, others):
        value, low, high = (runs[each].values for each in ("value", "low", "high"))
        look = {"color": colour, "label": name, "linestyle": "-" if numbers else "none"}
        axes.errorbar(places, value, [value - low, high - value], marker="o", **MARKS, **look)
        if not others:  # by what each run says, as in the list of statements
            shades = [COLOURS.get(str(each), style.BLACK) for each in runs["outcome"].values]
            axes.scatter(places, value, color=shades, s=18, zorder=3)
    _horizontal(axes, first, labels, places)
    _vertical(axes, case)
    _allowed(axes, case, first, places)
    text = str(case["sentence"].values)
    axes.set_title(_wrapped(text), loc="left", fontsize=6.5)
    axes.set_ylabel(_wrapped(str(case["statistic"].values), LINE * 2 // 3), fontsize=6)


def _wrapped(text: str, width: int = LINE) -> str:
    return "\n".join(textwrap.wrap(text, width, max_lines=LINES, placeholder=" ..."))


def _curves(case: xr.Dataset, others: Sequence[str]) -> Iterator[tuple[Any, str, xr.Dataset]]:
    """The runs of each combination of the further keys: their colour, their name, and they."""
    shape = tuple(case.sizes[key] for key in others)
    numbers = len(others) == 1 and case[others[0]].dtype.kind in "iuf"
    shades = style.COLOURMAP(np.linspace(0, 1, max(math.prod(shape), 1)))
    for number, place in enumerate(np.ndindex(shape)):
        runs = case.isel(dict(zip(others, place, strict=True)))
        name = ", ".join(f"{key} {runs[key].item()}" for key in others)
        colour = shades[number] if numbers else IN_TURN[number % len(IN_TURN)]
        yield (colour if others else style.GREY), name, runs


def _horizontal(axes: Axes, key: str, labels: np.ndarray, places: np.ndarray) -> None:
    axes.set_xlabel(key.replace("_", " "))
    if labels.dtype.kind in "iuf" and is_wide(labels.astype(float), 10.0):
        axes.set_xscale("log")
    if len(labels) <= 8:
        names = dict(zip(places.tolist(), labels.tolist(), strict=True))
        style.mark(axes.xaxis, [*names], lambda place: f"{names[place]}")


def _vertical(axes: Axes, case: xr.Dataset) -> None:
    """An axis that shows the bound beside what was measured, logarithmic where the values are."""
    names = ("value", "low", "high", "bound_low", "bound_high")
    columns = [case[name].values.ravel().tolist() for name in names]
    rows = [Row(value, low, high, (a, b)) for value, low, high, a, b in zip(*columns, strict=True)]
    if is_wide(np.array(columns[:3])) or is_logarithmic(rows):
        style.logarithmic(axes)
        axes.set_ylim(axes.get_ylim())  # no room more for what is in green
    else:
        axes.set_ylim(*limits(rows))


def _allowed(axes: Axes, case: xr.Dataset, key: str, places: np.ndarray) -> None:
    """In green where the statement holds, if that is the same for all further keys."""
    bounds = [case[name].transpose(key, ...).values for name in ("bound_low", "bound_high")]
    rows = [bound.reshape(len(places), -1) for bound in bounds]
    known = [row[:, ~np.isnan(row).all(axis=0)] for row in rows]
    if not all(row.size and np.allclose(row, row[:, :1], equal_nan=True) for row in known):
        return
    low, high = (np.clip(row[:, 0], *axes.get_ylim()) for row in known)
    look: dict[str, Any] = {"color": style.GREEN, "alpha": 0.13, "linewidth": 0}
    if len({*zip(low, high, strict=True)}) == 1:
        axes.axhspan(low[0], high[0], **look)
    else:
        axes.fill_between(places, low, high, **look)
