"""Correlations of sharpness or trace with norms of matrices, and by how much the best one leads."""

import itertools
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from hessian_papers.drawing import curves
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.ensembles import (
    ACTIVATIONS,
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    counted_teachers,
    positions,
    unfinished,
)
from hessian_papers.studies.correlations.norm_correlation.derived import with_statistics
from hessian_spectra.pictures import style

COLOURS = {"spectral": style.VERMILION, "frobenius": style.BLUE, "nuclear": style.GREEN}
SYMBOLS = {"matrices": "$W_{{{}}}$", "products": r"$\widehat{{W}}_{{{}}}$", "alignments": ""}
NOUNS = {"matrices": "matrix", "products": "product", "alignments": "alignment"}
WHAT = {
    "matrices": "squared norms of the matrices $W_b$",
    "products": "squared norms of the products $Ŵ_b$ of all matrices but $W_b$",
    "alignments": "absolute alignments of both matrices",
}
# Lines of the layers along size, their markers, and the last one's look along depth.
LAYER_LINES, LAYER_MARKERS = ["-", "--", "-.", ":"], "os^vDPX"
LAST_LOOK = {"color": style.VERMILION, "marker": "*", "markersize": 7.0, "linewidth": 1.6}
HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markersize": 3.2}
# Which time and which size is which in the panels of leads, and the side of a time along depth.
TIME_LOOKS: dict[str, dict[str, Any]] = {
    "initialisation": {"linestyle": "--", **HOLLOW},
    "trained": {"linestyle": "-"},
}
TEACHERS = {"color": style.GREY, "linewidth": 0.4, "alpha": 0.5}
SIZE_COLOURS = (style.BLACK, style.BLUE)
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
    if data["along"].item() == "depth":
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
            {"color": shade, "marker": marker, "linewidth": 0.8},
        )
        for layer, shade, marker in zip(layers, shades, cycle(LAYER_MARKERS), strict=False)
    ]
    return [*entries, _Series(f"{symbol.format('B')} (last)", r.sel(layer=r["depth"]), LAST_LOOK)]


def _plot(axes: Axes, line: xr.DataArray, aside: float, **look: Any) -> None:
    """A line where it is defined, with its interval.

    Along size that is a band, along depth bars, for which each line is moved aside.
    """
    line = line.where(line.sel(estimate="value", drop=True).notnull(), drop=True)
    value, low, high = line.transpose("estimate", ...)
    (along,) = value.dims
    x = value[along] + aside
    if not len(x):
        return
    axes.plot(x, value, **({"markersize": 3.5} | look))
    if along == "depth":
        axes.vlines(x, low, high, color=look["color"], linewidth=1.0)
    else:
        axes.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0)


def _correlations(axes: Axes, data: xr.Dataset, series: list[_Series]) -> None:
    """The panel of one parametrisation at one time; hollow where most networks were stopped."""
    place = {name: data[name].item() for name in ("parametrisation", "time")}
    x, depth = positions(data), data["along"].item() == "depth"
    stopped = x.isin(unfinished(data)).values & (place["time"] == "trained")
    for number, (_, correlations, look) in enumerate(series):
        aside = 0.09 * (number - (len(series) - 1) / 2) * depth
        line = correlations.sel(place)
        _plot(axes, line, aside, **look)
        if stopped.any():
            marks = look | HOLLOW | {"linestyle": "none", "zorder": 3}
            axes.plot(x[stopped] + aside, line.sel(estimate="value")[stopped], **marks)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _along(axes: Axes, data: xr.Dataset) -> None:
    """Set the horizontal axis: sizes logarithmically where they span a decade, or depths."""
    x = positions(data).values
    ticks = x[:: max(len(x) // 5, 1)].tolist()
    if data["along"].item() == "depth":
        axes.set_xlabel("depth $B$ (layers)")
        axes.set_xlim(x[0] - 0.45, x[-1] + 0.45)  # lines stand beside each other there
    else:
        own = "targets" in data and data["targets"].item() == "own"
        axes.set_xlabel("input size $D$" if own else "input and output size $D$")
        if x[-1] >= 10 * x[0]:
            axes.set_xscale("log")
            ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    style.mark(axes.xaxis, [p for p in ticks if x[0] <= p <= x[-1]])


def draw(data: xr.Dataset) -> Figure:
    """The correlations of each parametrisation at both times; of two sizes the lead at both."""
    if "lead" in data:
        return _leads(data)
    data = with_statistics(data, "correlation")
    data = data.squeeze("depth" if data["along"].item() == "size" else "size")
    names, times = (data[name].values.tolist() for name in ("parametrisation", "time"))
    series = _series(data)
    figure, grid = style.panels(
        len(names), len(times), height=1.75, squeeze=False, sharex=True, sharey=True
    )
    if len(names) == 1:
        figure.set_figheight(2.5)
    letters = style.letters()
    for name, row in zip(names, grid, strict=True):
        for axes, time in zip(row, times, strict=True):
            _correlations(axes, data.sel(parametrisation=name, time=time), series)
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[time]}")
        row[0].set_ylabel("correlation $r$")
        curves.main(row[-1])
    row[0].set_ylim(top=1.04)  # room for a marker at 1
    row[0].yaxis.set_major_locator(MultipleLocator(0.5))
    for axes in grid[-1]:
        _along(axes, data)
    handles = [style.entry(label, **{"markersize": 4.0} | look) for label, _, look in series]
    if len(unfinished(data)):
        marks = {"color": style.GREY, "marker": "o", "linestyle": "none"} | HOLLOW
        handles.append(style.entry("most networks stopped by the epoch limit", **marks))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)
    return figure


def draw_over(recorded: xr.Dataset, data: xr.Dataset) -> tuple[Figure, str]:
    """The figure of a recorded run with the correlations of a smaller one on top, and its caption.

    Intervals of a few networks reach from -1 to 1: of the smaller run the points alone are drawn.

    Raises:
        NothingToMeasure: a lead is what is drawn, of which a point says nothing, or other axes.
    """
    if "lead" in data or data["along"].item() != recorded["along"].item():
        raise NothingToMeasure("a lead is drawn with its interval, other axes by themselves")
    figure, panels = draw(recorded), with_statistics(data, "correlation")
    panels = panels.squeeze("depth" if data["along"].item() == "size" else "size")
    names, times = (recorded[name].values.tolist() for name in ("parametrisation", "time"))
    for axes, (name, time) in zip(figure.axes, itertools.product(names, times), strict=True):
        if name in panels["parametrisation"] and time in panels["time"]:
            for _, correlations, look in _series(panels):
                line = correlations.sel(parametrisation=name, time=time, estimate="value")
                marks = HOLLOW | {"marker": "x", "linestyle": "none", "color": look["color"]}
                axes.plot(positions(panels), line, **marks | {"markersize": 5.0})
    number = int(data["networks"])
    said = f"Crosses: today's run, {number} networks of width {int(data['width'])} per point"
    return figure, f"The recorded run: {caption(recorded)} {said}, without its intervals."


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The lead of the best norm, factor or group over the others, and how to read it.

    Raises:
        NothingToMeasure: nothing leads another, as the lead is what is drawn already, or of one
            norm.
    """
    statistic, of, lead = _lead(data)
    data = data if "lead" in data else with_statistics(data, statistic)
    if "lead" in data or not np.isfinite(data[statistic].sel(of)).any():
        raise NothingToMeasure("there is no lead beside what is drawn")
    thin = "; thin lines: single teachers" if data.sizes["teacher"] > 1 else ""
    text = f"By how much the best one leads, {_read(lead)}. {_intervals(data)}, paired{thin}."
    return _leads(data), text


def _lead(data: xr.Dataset) -> tuple[str, dict[str, str], str]:
    """The statistic of a lead, its norm if it has one, and what it is."""
    last, other = (SYMBOLS["products"].format(layer) for layer in "Bb")
    text = f"{last} − best other {other}"
    if "lead" in data:
        return "lead", {}, text
    groups, norm = data["group"].values.tolist(), data["highlighted"].item()
    if len(groups) == 2:
        studied, other = (NOUNS[group] for group in groups)
        return "group_lead", {}, f"best {studied} − best {other}"
    if data["along"].item() == "size":
        return "best_norm_lead", {"norm": norm}, f"best {NORMS[norm]} − best other norm"
    return "last_lead", {"norm": norm}, text


def _leads(data: xr.Dataset) -> Figure:
    """A panel for each parametrisation: a lead at both times, at each size of two."""
    statistic, of, text = _lead(data)
    names, times = (data[name].values.tolist() for name in ("parametrisation", "time"))
    other = "depth" if data["along"].item() == "size" else "size"
    colours = dict(zip(data[other].values.tolist(), SIZE_COLOURS, strict=False))
    figure, (panels,) = style.panels(1, len(names), height=2.4, squeeze=False, sharey=True)
    looks = {}
    for axes, name, letter in zip(panels, names, style.letters(), strict=False):
        for (size, colour), time in itertools.product(colours.items(), times):
            look = {"color": colour, "marker": "o", **TIME_LOOKS[time]}
            panel = data.sel({other: size, "parametrisation": name, "time": time, **of})
            aside = SIDES[time] * (other == "size")
            if f"each_{statistic}" in data and data.sizes["teacher"] > 1:
                each = panel[f"each_{statistic}"].transpose(..., "teacher")
                axes.plot(positions(data) + aside, each, **TEACHERS)
            _plot(axes, panel[statistic], aside, **look)
            place = f"$D$ = {size}, " if len(colours) > 1 else ""
            looks[f"{place}{TIMES[time]}"] = {"markersize": 4.0} | look
        axes.axhline(0, color=style.BLACK, linewidth=0.6)
        style.letter(axes, f"({letter}) {PARAMETRISATIONS[name]}")
        _along(axes, data)
    panels[0].set_ylabel(f"difference of $r$:\n{text}")
    handles = [style.entry(label, **look) for label, look in looks.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def caption(data: xr.Dataset) -> str:
    """The text below the figure: what is drawn, how to read it, and of how many networks."""
    if "lead" in data:
        drawn = f"By how much the product without the last matrix leads, {_read(_lead(data)[2])}"
    else:
        target, group = data["target"].item(), data["group"].values[0]
        drawn = f"Pearson's correlation of the {target} with {WHAT[group]}"
    number, width = int(data["networks"]), int(data["width"])
    kind = ACTIVATIONS[data["activation"].item()]
    sizes, depths = (_listed(data[name].values) for name in ("size", "depth"))
    ends = {"at the epoch limit": "epoch_limit", "diverged, left out": "diverged"}
    counts = [f"{int(data[name].sum())} {how}" for how, name in ends.items() if data[name].any()]
    return (
        f"{drawn}. {_intervals(data)}. Per point {number} {kind} networks of width {width}, "
        f"{counted_teachers(data)}; {_sizes(data)} {sizes}; depth {depths}"
        f"{''.join(f'; {count}' for count in counts)}."
    )


def _sizes(data: xr.Dataset) -> str:
    """The sizes' symbols in a caption, with the data set that inputs are from and what is fitted.

    Example:
        >>> _sizes(xr.Dataset({"data": "houses", "targets": "own"}))
        'D columns of houses predict its targets, $D =$'
    """
    if "data" not in data:
        return "$D = K =$"
    own = data["targets"].item() == "own"
    what = "its targets, $D =$" if own else "the targets of a linear teacher, $D = K =$"
    return f"D columns of {data['data'].item()} predict {what}"


def _read(symbols: str) -> str:
    """A lead's symbols in a caption, where a letter of Unicode has its hat."""
    return symbols.replace(r"\widehat{W}", "Ŵ")


def _intervals(data: xr.Dataset) -> str:
    """The drawn intervals, as text."""
    marks = "Bars" if data["along"].item() == "depth" else "Bands"
    return f"{marks}: {100 * float(data['confidence']):g} %, {data['interval'].item()}"


def _listed(labels: np.ndarray) -> str:
    """Sizes or depths as text, a long series by its ends."""
    if len(labels) <= 10:
        return ", ".join(map(str, labels.tolist()))
    return f"{labels[0]} to {labels[-1]} ({len(labels)} values)"
