"""Correlations of sharpness or trace with norms of matrices, and by how much the best one leads."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from hessian_spectra.drawing import style
from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.studies.correlations.drawing import (
    STRIP,
    along,
    has_strip,
    outcome_handles,
    outcome_strip,
    outcome_text,
    setting,
)
from hessian_spectra.studies.correlations.norm_correlation.reading import Line, Reading
from hessian_spectra.studies.correlations.reading import NORMS, PARAMETRISATIONS, TIMES

COLOURS = {"spectral": style.VERMILION, "frobenius": style.BLUE, "nuclear": style.GREEN}
SYMBOLS = {"matrices": "$W_{{{}}}$", "products": r"$\widehat{{W}}_{{{}}}$"}
NOUNS = {"matrices": "matrix", "products": "product", "alignments": "alignment"}
WHAT = {
    "matrices": "squared norms of the weight matrices W_b",
    "products": "squared norms of the products Ŵ_b of all weight matrices but W_b",
    "alignments": "absolute alignments",
}
# Line and marker of a factor along size: the alignment, W_1, W_2.
FACTOR_LOOKS: list[tuple[Any, str]] = [("-", "D"), ("-", "o"), ("--", "s")]
# Markers of the layers along depth, and the last one's look.
LAYER_MARKERS = "os^vDPX"
TOP = 1.04  # of the axis of correlations: room for a marker at 1
LAST = {"color": style.VERMILION, "marker": "*", "markersize": 7.0, "linewidth": 1.6}
# Which time is which in the panels of differences, and on which side along depth.
TIME_LOOKS: dict[str, dict[str, Any]] = {
    "initialisation": {
        "color": style.GREY,
        "linestyle": "--",
        "marker": "o",
        "markerfacecolor": "white",
    },
    "trained": {"color": style.BLACK, "linestyle": "-", "marker": "o"},
}
SIDES = {"initialisation": -1, "trained": 1}


@dataclass(frozen=True)
class _Series:
    """One line of a panel of correlations.

    Args:
        label: its entry in the legend.
        layer: the layer of the factor that it shows, or one for each position, ``(x,)``.
        shown: the positions at which it is drawn, ``(x,)``.
        norm: its norm.
        look: how it is drawn.
    """

    label: str
    layer: int | np.ndarray
    shown: np.ndarray
    norm: str
    look: dict[str, Any]


def _series(reading: Reading) -> list[_Series]:
    """The lines of a panel: along size by factor and norm, along depth by layer."""
    return _by_norm(reading) if reading.along == "size" else _by_layer(reading)


def _by_norm(reading: Reading) -> list[_Series]:
    return [
        _Series(
            label=_label(reading, layer, norm),
            layer=layer,
            shown=np.ones(len(reading["position"]), dtype=bool),
            norm=norm,
            look={"color": COLOURS[norm], "linestyle": line, "marker": marker},
        )
        for layer in reading.layers
        for line, marker in [FACTOR_LOOKS[layer]]
        for norm in reading.norms
    ]


def _label(reading: Reading, layer: int, norm: str) -> str:
    group = reading.groups[0]
    if group == "alignments":
        return f"{NORMS[norm]} alignment"
    return f"{SYMBOLS[group].format(layer)}, {NORMS[norm]}"


def _by_layer(reading: Reading) -> list[_Series]:
    depths, layers, norm = reading["position"], reading.layers, reading.highlighted
    symbol = SYMBOLS[reading.groups[0]]
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, max(len(layers) - 1, 1)))
    found = [
        _Series(
            label=symbol.format(layer),
            layer=layer,
            shown=depths > layer,
            norm=norm,
            look={"color": shade, "marker": marker},
        )
        for layer, shade, marker in zip(layers, shades, LAYER_MARKERS, strict=False)
    ]
    everywhere = np.ones(len(depths), dtype=bool)
    last = _Series(f"{symbol.format('B')} (last)", depths, everywhere, norm, dict(LAST))
    return [*found, last]


def _plot(axes: Axes, x: np.ndarray, line: Line, **look: Any) -> None:
    """A line with its interval: a band."""
    defined = np.isfinite(line.value)
    if not defined.any():
        return
    x, value, low, high = (numbers[defined] for numbers in (x, *line))
    # A hundred markers would be a smear.
    markers = {"markersize": 3.2 if len(x) <= 25 else 0.0}
    axes.plot(x, value, **(markers | {"linewidth": 1.1} | look))
    axes.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0)


def _correlations(axes: Axes, reading: Reading, parametrisation: str, time: str) -> None:
    positions = reading["position"].astype(float)
    lines = _series(reading)
    for number, series in enumerate(lines):
        line = reading.line(
            "correlation", parametrisation, time, layer=series.layer, norm=series.norm
        )
        if reading.along == "size":
            _plot(axes, positions, line, **series.look)
            continue
        # Beside each other, so that no interval hides another.
        x = positions[series.shown] + 0.09 * (number - (len(lines) - 1) / 2)
        value, low, high = (numbers[series.shown] for numbers in line)
        look = {"markersize": 3.8, "linewidth": 0.8} | series.look
        axes.plot(x, value, **look)
        axes.vlines(x, low, high, color=series.look["color"], linewidth=1.0)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _lead(reading: Reading) -> tuple[str, dict[str, str], str]:
    """The statistic of the right column, its norm if it has one, and what it is."""
    if len(reading.groups) == 2:
        studied, other = (NOUNS[group] for group in reading.groups)
        return "group_lead", {}, f"best {studied} − best {other}"
    norm = reading.highlighted
    if reading.along == "depth":
        symbol = SYMBOLS[reading.groups[0]]
        return (
            "last_lead",
            {"norm": norm},
            f"{symbol.format('B')} − best other {symbol.format('b')}",
        )
    return "best_norm_lead", {"norm": norm}, f"best {NORMS[norm]} − best other norm"


def _differences(axes: Axes, reading: Reading, parametrisation: str) -> None:
    statistic, of, _ = _lead(reading)
    positions = reading["position"].astype(float)
    for time in reading.times:
        look = TIME_LOOKS[time]
        line = reading.line(statistic, parametrisation, time, **of)
        if reading.along == "size":
            _plot(axes, positions, line, **look)
            continue
        x = positions + 0.12 * SIDES[time]
        axes.plot(x, line.value, markersize=4, **look)
        axes.vlines(x, line.low, line.high, color=look["color"], linewidth=1.0)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _floor(reading: Reading) -> float:
    """A common lower end of the vertical axis: the strip fits below the lowest bar."""
    lowest = float(np.nanmin(reading["correlation_low"], initial=0.0))
    strip = STRIP if has_strip(reading) else 0.03
    return (lowest - strip * TOP) / (1 - strip)


def draw(reading: Reading) -> Figure:
    """For each parametrisation: correlations at both times, and the lead of the best one."""
    names = reading.parametrisations
    figure, grid = style.panels(len(names), 3, height=1.75, squeeze=False)
    if len(names) == 1:
        figure.set_figheight(2.5)
    letters = iter("abcdefghi")
    for name, panels in zip(names, grid, strict=True):
        *at_times, difference = panels
        for axes, time in zip(at_times, reading.times, strict=True):
            _correlations(axes, reading, name, time)
            axes.set_ylim(_floor(reading), TOP)
            axes.yaxis.set_major_locator(MultipleLocator(0.5))
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[time]}")
        _differences(difference, reading, name)
        style.letter(difference, f"({next(letters)}) {PARAMETRISATIONS[name]}, difference of $r$")
        at_times[0].set_ylabel("correlation $r$")
        difference.set_ylabel(_lead(reading)[2].replace(" − ", " −\n"))
        for axes in panels:
            along(axes, reading)
        difference.set_xlim(at_times[-1].get_xlim())
        outcome_strip(at_times[-1], reading, name)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    _legend(figure, reading)
    return figure


def _legend(figure: Figure, reading: Reading) -> None:
    handles: list[Any] = [
        Line2D([], [], label=series.label, **({"markersize": 4.0} | series.look))
        for series in _series(reading)
    ]
    handles += [
        Line2D([], [], label=f"difference {TIMES[time]}", markersize=4, **TIME_LOOKS[time])
        for time in reading.times
    ]
    handles += outcome_handles(reading)
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)


def _mean_text(reading: Reading, parametrisation: str, time: str) -> str | None:
    """The right column's mean over the positions, if it is defined at one."""
    statistic, of, _ = _lead(reading)
    try:
        value, low, high = reading.mean(statistic, parametrisation, time, **of)
    except NothingToMeasure:
        return None
    name = PARAMETRISATIONS[parametrisation]
    return f"{name} {TIMES[time]} {value:+.2f} [{low:+.2f}, {high:+.2f}]"


def caption(reading: Reading) -> str:
    """What is drawn, of how many networks, and the mean lead with its interval."""
    _, _, lead = _lead(reading)
    plain = lead.replace("$", "").replace(r"\widehat{W}", "Ŵ").replace("_{B}", "_B")
    level = f"{100 * float(reading['confidence']):g} %"
    means = [
        text
        for name in reading.parametrisations
        for time in reading.times
        if (text := _mean_text(reading, name, time)) is not None
    ]
    return (
        f"Pearson's correlation of the {reading['target']} with {WHAT[reading.groups[0]]}, over "
        f"{int(reading['networks'])} {reading['activation']} networks of width "
        f"{int(reading['width'])} a point; {setting(reading)}. Bands and bars: {level} BCa "
        f"intervals of {int(reading['resamples'])} bootstrap resamples of the networks, "
        f"paired in the right column. Mean of the right column ({plain}) over the horizontal axis: "
        f"{'; '.join(means) or 'not defined'}. {outcome_text(reading)}"
    )
