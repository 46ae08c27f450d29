"""Correlations of sharpness or trace with norms of matrices, and by how much the best one leads."""

from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from hessian_papers.drawing import curves
from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.norm_correlation.reading import LAST, Line, Reading
from hessian_papers.studies.correlations.reading import NORMS, PARAMETRISATIONS, TIMES
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
    """One line of a panel of correlations: its label, factor and norm, and how it is drawn."""

    label: str
    layer: int
    norm: str
    look: dict[str, Any]


def _series(reading: Reading) -> list[_Series]:
    """The lines of a panel: along size by factor and norm, along depth by layer."""
    symbol = SYMBOLS[reading.groups[0]]
    if reading.along == "depth":
        return _by_layer(reading, symbol)
    looks = zip(reading.layers, cycle(LAYER_LINES), cycle(LAYER_MARKERS), strict=False)
    # What is drawn last and thick hides beneath no other.
    norms = sorted(reading.norms, key=lambda norm: norm == reading.highlighted)
    widths = [1.8 if norm == reading.highlighted else 0.9 for norm in norms]
    return [
        _Series(
            f"{symbol.format(layer)}, {NORMS[norm]}" if symbol else f"{NORMS[norm]} alignment",
            layer,
            norm,
            {
                "color": COLOURS[norm],
                "linestyle": line,
                "marker": marker if layer else "D",
                "linewidth": width,
            },
        )
        for layer, line, marker in looks
        for norm, width in zip(norms, widths, strict=True)
    ]


def _by_layer(reading: Reading, symbol: str) -> list[_Series]:
    layers, norm = reading.layers, reading.highlighted
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, max(len(layers) - 1, 1)))
    entries = [
        _Series(symbol.format(layer), layer, norm, {"color": shade, "marker": marker})
        for layer, shade, marker in zip(layers, shades, cycle(LAYER_MARKERS), strict=False)
    ]
    return [*entries, _Series(f"{symbol.format('B')} (last)", LAST, norm, LAST_LOOK)]


def _plot(
    axes: Axes, reading: Reading, line: Line, aside: float, thin: dict[str, float], **look: Any
) -> None:
    """A line with its interval: along size a band; along depth bars, each line moved aside."""
    x, value, low, high = line
    if reading.along == "depth":
        axes.plot(x + aside, value, **(thin | look))
        axes.vlines(x + aside, low, high, color=look["color"], linewidth=1.0)
    elif len(x):
        # A hundred markers would be a smear.
        markers = {"markersize": 3.2 if len(x) <= drawing.MARKED else 0.0, "linewidth": 1.1}
        axes.plot(x, value, **(markers | look))
        axes.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0)


def _correlations(axes: Axes, reading: Reading, parametrisation: str, time: str) -> None:
    lines = _series(reading)
    for number, (_, layer, norm, look) in enumerate(lines):
        line = reading.line("correlation", parametrisation, time, layer=layer, norm=norm)
        # The last layer of each depth has a line of its own.
        shown = (line.position != layer) | (reading.along == "size")
        line = Line(*(numbers[shown] for numbers in line))
        aside = 0.09 * (number - (len(lines) - 1) / 2)
        _plot(axes, reading, line, aside, {"markersize": 3.8, "linewidth": 0.8}, **look)
        if time == "trained":
            x = line.position + aside * (reading.along == "depth")
            drawing.mark_unfinished(axes, reading, parametrisation, x, line, look)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _lead(reading: Reading) -> tuple[str, dict[str, str], str]:
    """The statistic of the right column, its norm if it has one, and what it is."""
    if len(reading.groups) == 2:
        studied, other = (NOUNS[group] for group in reading.groups)
        return "group_lead", {}, f"best {studied} − best {other}"
    norm = reading.highlighted
    if reading.along == "size":
        return "best_norm_lead", {"norm": norm}, f"best {NORMS[norm]} − best other norm"
    last, other = (SYMBOLS[reading.groups[0]].format(layer) for layer in "Bb")
    return "last_lead", {"norm": norm}, f"{last} − best other {other}"


def _differences(axes: Axes, reading: Reading, parametrisation: str) -> None:
    statistic, of, _ = _lead(reading)
    for time in reading.times:
        if int(reading["teachers"]) > 1:
            look = {"color": TIME_LOOKS[time]["color"], "linewidth": 0.4, "alpha": 0.5}
            x = reading["position"] + SIDES[time] * (reading.along == "depth")
            axes.plot(x, reading.each_teacher(statistic, parametrisation, time, **of).T, **look)
        line = reading.line(statistic, parametrisation, time, **of)
        _plot(axes, reading, line, SIDES[time], {"markersize": 4.0}, **TIME_LOOKS[time])
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def draw(reading: Reading) -> Figure:
    """For each parametrisation: correlations at both times, and the lead of the best one."""
    names = reading.parametrisations
    figure, grid = style.panels(len(names), 3, height=1.75, squeeze=False)
    if len(names) == 1:
        figure.set_figheight(2.5)
    letters = style.letters()
    lowest = float(np.nanmin(reading["correlation_low"], initial=0.0))
    for name, panels in zip(names, grid, strict=True):
        *at_times, difference = panels
        for axes, time in zip(at_times, reading.times, strict=True):
            _correlations(axes, reading, name, time)
            axes.set_ylim(drawing.foot(reading, lowest, TOP, room=0.03), TOP)
            axes.yaxis.set_major_locator(MultipleLocator(0.5))
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[time]}")
        curves.main(at_times[-1])
        _differences(difference, reading, name)
        style.letter(difference, f"({next(letters)}) {PARAMETRISATIONS[name]}, difference of $r$")
        at_times[0].set_ylabel("correlation $r$")
        difference.set_ylabel(_lead(reading)[2].replace(" − ", " −\n"))
        for axes in panels:
            drawing.along(axes, reading)
        difference.set_xlim(at_times[-1].get_xlim())
        drawing.outcome_strip(at_times[-1], reading, name)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    looks = {series.label: {"markersize": 4.0} | series.look for series in _series(reading)}
    looks |= {f"difference {TIMES[t]}": {"markersize": 4} | TIME_LOOKS[t] for t in reading.times}
    handles: list[Any] = [style.entry(label, **look) for label, look in looks.items()]
    handles += drawing.unfinished_handles(reading) + drawing.outcome_handles(reading)
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)
    return figure


def caption(reading: Reading) -> str:
    """What is drawn, how to read it, and of how many networks."""
    lead = _lead(reading)[2].replace("$", "").replace(r"\widehat{W}", "Ŵ").replace("_{B}", "_B")
    level = f"{100 * float(reading['confidence']):g} %"
    return (
        f"Which matrices and norms go with the {reading['target']}: Pearson's correlation with "
        f"{WHAT[reading.groups[0]]}, and in the right column {lead}. Bands and bars: {level} BCa "
        f"intervals of {int(reading['resamples'])} bootstrap resamples of teachers and networks, "
        "paired in the right column, where thin lines are single teachers. "
        f"{drawing.networks(reading)}; {drawing.setting(reading)}. {drawing.outcome_text(reading)}"
    )
