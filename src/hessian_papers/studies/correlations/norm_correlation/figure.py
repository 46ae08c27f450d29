"""Correlations of sharpness or trace with norms of matrices, and by how much the best one leads."""

from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from hessian_papers.drawing import curves
from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.ensembles import (
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    positions,
)
from hessian_spectra.pictures import style

COLOURS = {"spectral": style.VERMILION, "frobenius": style.BLUE, "nuclear": style.GREEN}
SYMBOLS = {"matrices": "$W_{{{}}}$", "products": r"$\widehat{{W}}_{{{}}}$", "alignments": ""}
NOUNS = {"matrices": "matrix", "products": "product", "alignments": "alignment"}
WHAT = {
    "matrices": "squared norms of the weight matrices W_b",
    "products": "squared norms of the products Ŵ_b of all weight matrices but W_b",
    "alignments": "absolute alignments",
}
# Lines of the layers along size, their markers, and the last one's look along depth.
LAYER_LINES, LAYER_MARKERS = ["-", "--", "-.", ":"], "os^vDPX"
LAST_LOOK = {"color": style.VERMILION, "marker": "*", "markersize": 7.0, "linewidth": 1.6}
TOP = 1.04  # of the axis of correlations: room for a marker at 1
# Which time is which in the panels of differences, and on which side along depth.
HOLLOW = {"linestyle": "--", "marker": "o", "markerfacecolor": "white"}
TIME_LOOKS: dict[str, dict[str, Any]] = {
    "initialisation": {"color": style.GREY} | HOLLOW,
    "trained": {"color": style.BLACK, "linestyle": "-", "marker": "o"},
}
SIDES = {"initialisation": -0.12, "trained": 0.12}


class _Series(NamedTuple):
    """One line of a panel: its label, the correlations in all panels, and how it is drawn."""

    label: str
    correlations: xr.DataArray
    look: dict[str, Any]


def _series(data: xr.Dataset) -> list[_Series]:
    """The lines of a panel: along size by factor and norm, along depth by layer."""
    group, highlighted = data["group"].values[0], data["highlighted"].item()
    r, symbol = data["correlation"].sel(group=group), SYMBOLS[group]
    layers = [layer for layer in r["layer"].values.tolist() if (layer == 0) == (not symbol)]
    if data["along"] == "depth":
        return _by_layer(r.sel(norm=highlighted), layers, symbol)
    looks = zip(layers, cycle(LAYER_LINES), cycle(LAYER_MARKERS), strict=False)
    # What is drawn last and thick hides beneath no other.
    norms = sorted(data["norm"].values.tolist(), key=lambda norm: norm == highlighted)
    return [
        _Series(
            f"{symbol.format(layer)}, {NORMS[norm]}" if symbol else f"{NORMS[norm]} alignment",
            r.sel(layer=layer, norm=norm),
            {
                "color": COLOURS[norm],
                "linestyle": line,
                "marker": marker if layer else "D",
                "linewidth": 1.8 if norm == highlighted else 0.9,
            },
        )
        for layer, line, marker in looks
        for norm in norms
    ]


def _by_layer(r: xr.DataArray, layers: list[int], symbol: str) -> list[_Series]:
    """The lines of all layers but the last one of each depth, which has a line of its own."""
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, max(len(layers) - 1, 1)))
    entries = [
        _Series(
            symbol.format(layer),
            r.sel(layer=layer).where(r["depth"] != layer),
            {"color": shade, "marker": marker},
        )
        for layer, shade, marker in zip(layers, shades, cycle(LAYER_MARKERS), strict=False)
    ]
    return [*entries, _Series(f"{symbol.format('B')} (last)", r.sel(layer=r["depth"]), LAST_LOOK)]


def _plot(
    axes: Axes, line: xr.DataArray, aside: float, thin: dict[str, float], **look: Any
) -> None:
    """A line with its interval: along size a band; along depth bars, each line moved aside."""
    value, low, high = line.transpose("estimate", ...)
    (along,) = value.dims
    x = line[along]
    if along == "depth":
        axes.plot(x + aside, value, **(thin | look))
        axes.vlines(x + aside, low, high, color=look["color"], linewidth=1.0)
    elif len(x):
        # A hundred markers would be a smear.
        markers = {"markersize": 3.2 if len(x) <= drawing.MARKED else 0.0, "linewidth": 1.1}
        axes.plot(x, value, **(markers | look))
        axes.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0)


def _correlations(axes: Axes, data: xr.Dataset, series: list[_Series]) -> None:
    """The panel of one parametrisation at one time."""
    place = {name: data[name].item() for name in ("parametrisation", "time")}
    depth = data["along"].item() == "depth"
    for number, (_, correlations, look) in enumerate(series):
        line = _defined(correlations.sel(place))
        aside = 0.09 * (number - (len(series) - 1) / 2) * depth
        _plot(axes, line, aside, {"markersize": 3.8, "linewidth": 0.8}, **look)
        if data["time"] == "trained":
            drawing.mark_unfinished(axes, data, line.sel(estimate="value"), aside, look)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _defined(line: xr.DataArray) -> xr.DataArray:
    """A statistic along sizes or depths, where it is defined."""
    return line.where(line.sel(estimate="value", drop=True).notnull(), drop=True)


def _lead(data: xr.Dataset) -> tuple[str, dict[str, str], str]:
    """The statistic of the right column, its norm if it has one, and what it is."""
    groups, norm = data["group"].values.tolist(), data["highlighted"].item()
    if len(groups) == 2:
        studied, other = (NOUNS[group] for group in groups)
        return "group_lead", {}, f"best {studied} − best {other}"
    if data["along"] == "size":
        return "best_norm_lead", {"norm": norm}, f"best {NORMS[norm]} − best other norm"
    last, other = (SYMBOLS[groups[0]].format(layer) for layer in "Bb")
    return "last_lead", {"norm": norm}, f"{last} − best other {other}"


def _differences(axes: Axes, data: xr.Dataset) -> None:
    """The panel of one parametrisation."""
    statistic, of, _ = _lead(data)
    x, depth = positions(data), data["along"].item() == "depth"
    for time in data["time"].values.tolist():
        now, aside = data.sel({"time": time, **of}), SIDES[time] * depth
        if data.sizes["teacher"] > 1:
            look = {"color": TIME_LOOKS[time]["color"], "linewidth": 0.4, "alpha": 0.5}
            axes.plot(x + aside, now[f"each_{statistic}"].transpose(..., "teacher"), **look)
        _plot(axes, _defined(now[statistic]), aside, {"markersize": 4.0}, **TIME_LOOKS[time])
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def draw(data: xr.Dataset) -> Figure:
    """For each parametrisation: correlations at both times, and the lead of the best one."""
    data = drawing.squeezed(data)
    names, times = (data[name].values.tolist() for name in ("parametrisation", "time"))
    series = _series(data)
    figure, grid = style.panels(len(names), 3, height=1.75, squeeze=False)
    if len(names) == 1:
        figure.set_figheight(2.5)
    letters = style.letters()
    lowest = min(0.0, float(data["correlation"].sel(estimate="low").min()))
    for name, panels in zip(names, grid, strict=True):
        *at_times, difference = panels
        of_one = data.sel(parametrisation=name)
        for axes, time in zip(at_times, times, strict=True):
            _correlations(axes, of_one.sel(time=time), series)
            axes.set_ylim(drawing.foot(data, lowest, TOP, room=0.03), TOP)
            axes.yaxis.set_major_locator(MultipleLocator(0.5))
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[time]}")
        curves.main(at_times[-1])
        _differences(difference, of_one)
        style.letter(difference, f"({next(letters)}) {PARAMETRISATIONS[name]}, difference of $r$")
        at_times[0].set_ylabel("correlation $r$")
        difference.set_ylabel(_lead(data)[2].replace(" − ", " −\n"))
        for axes in panels:
            drawing.along(axes, data)
        difference.set_xlim(at_times[-1].get_xlim())
        drawing.outcome_strip(at_times[-1], of_one)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    looks = {label: {"markersize": 4.0} | look for label, _, look in series}
    looks |= {f"difference {TIMES[t]}": {"markersize": 4} | TIME_LOOKS[t] for t in times}
    handles: list[Any] = [style.entry(label, **look) for label, look in looks.items()]
    handles += drawing.unfinished_handles(data) + drawing.outcome_handles(data)
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is drawn, how to read it, and of how many networks."""
    lead = _lead(data)[2].replace(r"\widehat{W}", "Ŵ")
    studied = WHAT[data["group"].values[0]]
    return (
        f"Which matrices and norms go with the {data['target'].item()}: Pearson's correlation with "
        f"{studied}, and in the right column {lead}. Bands and bars: {drawing.intervals(data)}, "
        "paired in the right column, where thin lines are single teachers. "
        f"{drawing.networks(data)}; {drawing.setting(data)}. {drawing.outcome_text(data)}"
    )
