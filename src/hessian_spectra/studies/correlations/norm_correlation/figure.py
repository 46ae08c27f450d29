"""Correlations of sharpness or trace with norms of matrices, and by how much the best one leads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays
from hessian_spectra.studies.correlations.drawing import (
    OUTCOMES,
    PARAMETRISATIONS,
    STRIP,
    TIMES,
    along,
    listed,
    outcome_handles,
    outcome_strip,
    outcome_text,
)

SIDES = ("correlation",)

NORMS = {"spectral": "spectral", "frobenius": "Frobenius", "nuclear": "nuclear"}
COLOURS = {"spectral": style.VERMILION, "frobenius": style.BLUE, "nuclear": style.GREEN}
SYMBOLS = {"matrices": "$W_{{{}}}$", "products": r"$\widehat{{W}}_{{{}}}$"}
NOUNS = {"matrices": "matrix", "products": "product", "alignments": "alignment"}
# Line and marker of a factor along size: the alignment, W_1, W_2.
FACTOR_LOOKS: list[tuple[Any, str]] = [("-", "D"), ("-", "o"), ("--", "s")]
# Markers of the layers along depth, and the last one's look.
LAYER_MARKERS = "os^vDPX"
TOP = 1.04  # of the axis of correlations: room for a marker at 1
LAST = {"color": style.VERMILION, "marker": "*", "markersize": 7.0, "linewidth": 1.6}
# Which time is which in the panels of differences.
TIME_LOOKS: list[dict[str, Any]] = [
    {"color": style.GREY, "linestyle": "--", "marker": "o", "markerfacecolor": "white"},
    {"color": style.BLACK, "linestyle": "-", "marker": "o"},
]


@dataclass(frozen=True)
class _Series:
    """One line of a panel of correlations.

    Args:
        label: its entry in the legend.
        factor: which factor it shows at each position, ``(x,)``; −1 for none.
        norm: the index of its norm.
        look: how it is drawn.
    """

    label: str
    factor: np.ndarray
    norm: int
    look: dict[str, Any]


def _series(arrays: Arrays) -> list[_Series]:
    """The lines of a panel: along size by factor and norm, along depth by layer."""
    first = np.flatnonzero(arrays["group"] == arrays["quantities"][0])
    positions = arrays["position"]
    if str(arrays["along"]) == "size":
        return [
            _Series(
                label=_label(arrays, factor, norm),
                factor=np.full(len(positions), factor),
                norm=column,
                look={"color": COLOURS[norm], "linestyle": line, "marker": marker},
            )
            for factor in first.tolist()
            for line, marker in [FACTOR_LOOKS[int(arrays["layer"][factor])]]
            for column, norm in enumerate(arrays["norm"].tolist())
        ]
    column = _highlighted(arrays)
    layers = arrays["layer"][first].tolist()
    symbol = SYMBOLS[str(arrays["quantities"][0])]
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, max(len(layers) - 1, 1)))
    found = [
        _Series(
            label=symbol.format(layer),
            factor=np.where(positions > layer, factor, -1),
            norm=column,
            look={"color": shade, "marker": marker},
        )
        for layer, factor, shade, marker in zip(layers, first, shades, LAYER_MARKERS, strict=False)
    ]
    last = np.array([first[layers.index(depth)] for depth in positions.tolist()])
    return [*found, _Series(symbol.format("B") + " (last)", last, column, dict(LAST))]


def _label(arrays: Arrays, factor: int, norm: str) -> str:
    if arrays["group"][factor] == "alignments":
        return f"{NORMS[norm]} alignment"
    symbol = SYMBOLS[str(arrays["group"][factor])].format(arrays["layer"][factor])
    return f"{symbol}, {NORMS[norm]}"


def _highlighted(arrays: Arrays) -> int:
    return int(arrays["norm"].tolist().index(str(arrays["highlighted"])))


def _numbers(arrays: Arrays, name: str, index: tuple[Any, ...]) -> Iterator[np.ndarray]:
    """A statistic and both ends of its interval."""
    for suffix in ("", "_low", "_high"):
        yield arrays[name + suffix][index]


def _plot(
    axes: Axes, x: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray, **look: Any
) -> None:
    """A line with its interval: a band if it is dense along x, else bars."""
    defined = np.isfinite(value)
    if not defined.any():
        return
    x, value, low, high = (numbers[defined] for numbers in (x, value, low, high))
    # A hundred markers would be a smear.
    markers = {"markersize": 3.2 if len(x) <= 25 else 0.0}
    axes.plot(x, value, **(markers | {"linewidth": 1.1} | look))
    axes.fill_between(x, low, high, color=look["color"], alpha=0.13, linewidth=0)


def _correlations(axes: Axes, arrays: Arrays, row: int, time: int) -> None:
    positions = arrays["position"].astype(float)
    lines = _series(arrays)
    for number, series in enumerate(lines):
        present = np.flatnonzero(series.factor >= 0)
        index = (row, present, time, series.factor[present], series.norm)
        value, low, high = _numbers(arrays, "correlation", index)
        if str(arrays["along"]) == "size":
            _plot(axes, positions[present], value, low, high, **series.look)
            continue
        # Beside each other, so that no interval hides another.
        x = positions[present] + 0.09 * (number - (len(lines) - 1) / 2)
        look = {"markersize": 3.8, "linewidth": 0.8} | series.look
        axes.plot(x, value, **look)
        axes.vlines(x, low, high, color=series.look["color"], linewidth=1.0)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _lead(arrays: Arrays) -> tuple[str, tuple[Any, ...], str]:
    """The statistic of the right column, its index after the time, and what it is."""
    groups = arrays["quantities"].tolist()
    if len(groups) == 2:
        return "group_lead", (), f"best {NOUNS[groups[0]]} − best {NOUNS[groups[1]]}"
    column = _highlighted(arrays)
    if str(arrays["along"]) == "depth":
        symbol = SYMBOLS[groups[0]]
        return "last_lead", (column,), f"{symbol.format('B')} − best other {symbol.format('b')}"
    norm = NORMS[str(arrays["highlighted"])]
    return "best_norm_lead", (column,), f"best {norm} − best other norm"


def _differences(axes: Axes, arrays: Arrays, row: int) -> None:
    name, index, _ = _lead(arrays)
    positions = arrays["position"].astype(float)
    for time, look in enumerate(TIME_LOOKS):
        numbers = _numbers(arrays, name, (row, slice(None), time, *index))
        if str(arrays["along"]) == "size":
            _plot(axes, positions, *numbers, **look)
            continue
        value, low, high = numbers
        x = positions + 0.12 * (2 * time - 1)
        axes.plot(x, value, markersize=4, **look)
        axes.vlines(x, low, high, color=look["color"], linewidth=1.0)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _floor(arrays: Arrays) -> float:
    """A common lower end of the vertical axis: the strip fits below the lowest bar."""
    lowest = float(np.nanmin(arrays["correlation_low"], initial=0.0))
    strip = STRIP if any(arrays[name].any() for name in OUTCOMES) else 0.03
    return (lowest - strip * TOP) / (1 - strip)


def draw(correlation: Arrays) -> Figure:
    """For each parametrisation: correlations at both times, and the lead of the best one."""
    rows = len(correlation["parametrisation"])
    figure, grid = style.panels(rows, 3, height=1.75, squeeze=False)
    if rows == 1:
        figure.set_figheight(2.5)
    letters = iter("abcdefghi")
    for row, name in enumerate(correlation["parametrisation"].tolist()):
        for time, when in enumerate(correlation["time"].tolist()):
            axes = grid[row, time]
            _correlations(axes, correlation, row, time)
            axes.set_ylim(_floor(correlation), TOP)
            axes.yaxis.set_major_locator(MultipleLocator(0.5))
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[when]}")
        _differences(grid[row, 2], correlation, row)
        style.letter(grid[row, 2], f"({next(letters)}) {PARAMETRISATIONS[name]}, difference of $r$")
        grid[row, 0].set_ylabel("correlation $r$")
        grid[row, 2].set_ylabel(_lead(correlation)[2].replace(" − ", " −\n"))
        for axes in grid[row]:
            along(axes, correlation)
        grid[row, 2].set_xlim(grid[row, 1].get_xlim())
        outcome_strip(grid[row, 1], correlation, row)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    _legend(figure, correlation)
    return figure


def _legend(figure: Figure, arrays: Arrays) -> None:
    handles: list[Any] = [
        Line2D([], [], label=series.label, **({"markersize": 4.0} | series.look))
        for series in _series(arrays)
    ]
    handles += [
        Line2D([], [], label=f"difference {TIMES[when]}", markersize=4, **look)
        for when, look in zip(arrays["time"].tolist(), TIME_LOOKS, strict=True)
    ]
    handles += outcome_handles(arrays)
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)


def caption(correlation: Arrays) -> str:
    """What is drawn, of how many networks, and the mean lead with its interval."""
    name, index, lead = _lead(correlation)
    plain = lead.replace("$", "").replace(r"\widehat{W}", "Ŵ").replace("_{B}", "_B")
    group = str(correlation["quantities"][0])
    what = "absolute alignments" if group == "alignments" else f"squared norms of {_noun(group)}"
    fixed = int(correlation["fixed"])
    if str(correlation["along"]) == "size":
        setting = f"depth {fixed}, D = K = {listed(correlation['position'])}"
    else:
        setting = f"D = K = {fixed}, depths {listed(correlation['position'])}"
    level = f"{100 * float(correlation['confidence']):g} %"
    means = []
    for row, parametrisation in enumerate(correlation["parametrisation"].tolist()):
        for time, when in enumerate(correlation["time"].tolist()):
            where = (row, 0, time, *index)
            value, low, high = (float(x) for x in _numbers(correlation, f"mean_{name}", where))
            if np.isfinite(value):
                means.append(
                    f"{PARAMETRISATIONS[parametrisation]} {TIMES[when]} {value:+.2f} "
                    f"[{low:+.2f}, {high:+.2f}]"
                )
    return (
        f"Pearson's correlation of the {correlation['target']} with {what}, over "
        f"{int(correlation['networks'])} {correlation['activation']} networks of width "
        f"{int(correlation['width'])} a point; {setting}. Bands and bars: {level} BCa "
        f"intervals of {int(correlation['resamples'])} bootstrap resamples of the networks, "
        f"paired in the right column. Mean of the right column ({plain}) over the horizontal axis: "
        f"{'; '.join(means) or 'not defined'}. {outcome_text(correlation)}"
    )


def _noun(group: str) -> str:
    if group == "matrices":
        return "the weight matrices W_b"
    return "the products Ŵ_b of all weight matrices but W_b"
