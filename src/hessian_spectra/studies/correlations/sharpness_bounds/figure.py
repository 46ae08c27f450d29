"""The sharpness over D.3.3's maximum and over the sum of the same terms."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

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

LOOKS = {
    "maximum": (style.BLUE, "s", "over the largest layer term (D.3.3)"),
    "sum": (style.VERMILION, "o", "over the sum of the layer terms"),
}


def _level(arrays: Arrays, name: str, level: float) -> np.ndarray:
    """A quantile of the ratios, ``(p, x, 2)``."""
    column = int(np.argmin(np.abs(arrays["level"] - level)))
    return np.asarray(arrays[f"ratio_{name}"][..., column])


def _panel(axes: Axes, arrays: Arrays, row: int, time: int) -> None:
    x = arrays["position"].astype(float)
    markers = 3.4 if len(x) <= 25 else 0.0
    for name, (colour, marker, _) in LOOKS.items():
        middle, low, high, least, most = (
            _level(arrays, name, level)[row, :, time] for level in (0.5, 0.025, 0.975, 0.0, 1.0)
        )
        axes.plot(x, middle, color=colour, marker=marker, markersize=markers)
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        for end in (least, most):
            axes.plot(x, end, color=colour, linewidth=0.6, linestyle=":")
    axes.axhline(1, color=style.BLACK, linewidth=0.8)
    axes.set_yscale("log")
    along(axes, arrays)


def _vertical_axis(grid: np.ndarray, arrays: Arrays) -> None:
    """One range and one set of ticks for all panels."""
    extremes = np.stack([arrays[f"ratio_{name}"] for name in LOOKS])
    least, most = float(np.nanmin(extremes)), float(np.nanmax(extremes))
    known = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    bottom, top = np.log(min(least, 1) / 1.04), np.log(max(most, 1) * 1.04)
    if any(arrays[name].any() for name in OUTCOMES):
        bottom = (bottom - STRIP * top) / (1 - STRIP)  # the strip fits below
    for axes in grid.flat:
        axes.set_ylim(np.exp(bottom), np.exp(top))
        axes.yaxis.set_major_locator(FixedLocator([t for t in known if least / 2 < t < 2 * most]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def draw(correlation: Arrays) -> Figure:
    """Medians, central 95 % and the whole range over the networks, at both times."""
    names = correlation["parametrisation"].tolist()
    figure, grid = style.panels(2, len(names), height=2.0, squeeze=False, sharey=True)
    letters = iter("abcdefghijkl")
    for time, when in enumerate(correlation["time"].tolist()):
        for column, name in enumerate(names):
            axes = grid[time, column]
            _panel(axes, correlation, column, time)
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[when]}")
        grid[time, 0].set_ylabel("sharpness ratio")
    _vertical_axis(grid, correlation)
    for column in range(len(names)):
        grid[0, column].set_xlabel("")
        outcome_strip(grid[1, column], correlation, column)
    handles: list[Any] = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=f"sharpness {label}")
        for colour, marker, label in LOOKS.values()
    ]
    handles += [
        Patch(color=style.GREY, alpha=0.4, label="central 95 % of the networks"),
        Line2D([], [], color=style.GREY, linestyle=":", label="smallest and largest"),
        *outcome_handles(correlation),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, columnspacing=1.6)
    return figure


def caption(correlation: Arrays) -> str:
    """What is drawn, and the pooled ratios."""
    middle = int(np.argmin(np.abs(correlation["level"] - 0.5)))
    parts = []
    for time, when in enumerate(correlation["time"].tolist()):
        pooled = {name: correlation[f"pooled_{name}"][:, time] for name in LOOKS}
        texts = [
            f"{PARAMETRISATIONS[parametrisation]} {found['maximum'][middle]:.2f} "
            f"[{found['maximum'][0]:.2f}, {found['maximum'][-1]:.2f}] and "
            f"{found['sum'][middle]:.2f} [{found['sum'][0]:.2f}, {found['sum'][-1]:.2f}]"
            for row, parametrisation in enumerate(correlation["parametrisation"].tolist())
            for found in [{name: pooled[name][row] for name in LOOKS}]
        ]
        parts.append(f"{TIMES[when]} {'; '.join(texts)}")
    along_size = str(correlation["along"]) == "size"
    positions = listed(correlation["position"])
    fixed = int(correlation["fixed"])
    setting = (
        f"depth {fixed}, D = K = {positions}"
        if along_size
        else f"D = K = {fixed}, depths {positions}"
    )
    return (
        f"The sharpness of {int(correlation['networks'])} linear networks of width "
        f"{int(correlation['width'])} a point ({setting}) over the largest of the layers' terms "
        "σ_max²(left product) σ_max²(right product), which D.3.3 derives from a block-diagonal "
        "Hessian, and over their sum, the largest eigenvalue of the generalised Gauss-Newton "
        "matrix on whitened inputs; the inputs here are a Gaussian sample, white on average only. "
        "Medians and ranges over all networks of a parametrisation, maximum and sum: "
        f"{'. '.join(parts)}. {outcome_text(correlation)}"
    )
