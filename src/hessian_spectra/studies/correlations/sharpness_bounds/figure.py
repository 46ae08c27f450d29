"""The sharpness over D.3.3's maximum and over the sum of the same terms."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from hessian_spectra.drawing import style
from hessian_spectra.studies.correlations.drawing import (
    OUTCOMES,
    STRIP,
    along,
    listed,
    outcome_handles,
    outcome_strip,
    outcome_text,
)
from hessian_spectra.studies.correlations.reading import PARAMETRISATIONS, TIMES
from hessian_spectra.studies.correlations.sharpness_bounds.reading import Reading

LOOKS = {
    "maximum": (style.BLUE, "s", "over the largest layer term (D.3.3)"),
    "sum": (style.VERMILION, "o", "over the sum of the layer terms"),
}


def _panel(axes: Axes, reading: Reading, row: int, time: int) -> None:
    x = reading["position"].astype(float)
    markers = 3.4 if len(x) <= 25 else 0.0
    for name, (colour, marker, _) in LOOKS.items():
        middle, low, high, least, most = (
            reading.quantile(name, level)[row, :, time] for level in (0.5, 0.025, 0.975, 0.0, 1.0)
        )
        axes.plot(x, middle, color=colour, marker=marker, markersize=markers)
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        for end in (least, most):
            axes.plot(x, end, color=colour, linewidth=0.6, linestyle=":")
    axes.axhline(1, color=style.BLACK, linewidth=0.8)
    axes.set_yscale("log")
    along(axes, reading)


def _vertical_axis(grid: np.ndarray, reading: Reading) -> None:
    """One range and one set of ticks for all panels."""
    extremes = np.stack([reading[f"ratio_{name}"] for name in LOOKS])
    least, most = float(np.nanmin(extremes)), float(np.nanmax(extremes))
    known = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    bottom, top = np.log(min(least, 1) / 1.04), np.log(max(most, 1) * 1.04)
    if any(reading[name].any() for name in OUTCOMES):
        bottom = (bottom - STRIP * top) / (1 - STRIP)  # the strip fits below
    for axes in grid.flat:
        axes.set_ylim(np.exp(bottom), np.exp(top))
        axes.yaxis.set_major_locator(FixedLocator([t for t in known if least / 2 < t < 2 * most]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def draw(reading: Reading) -> Figure:
    """Medians, central 95 % and the whole range over the networks, at both times."""
    names = reading["parametrisation"].tolist()
    figure, grid = style.panels(2, len(names), height=2.0, squeeze=False, sharey=True)
    letters = iter("abcdefghijkl")
    for time, when in enumerate(reading["time"].tolist()):
        for column, name in enumerate(names):
            axes = grid[time, column]
            _panel(axes, reading, column, time)
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[when]}")
        grid[time, 0].set_ylabel("sharpness ratio")
    _vertical_axis(grid, reading)
    for column in range(len(names)):
        grid[0, column].set_xlabel("")
        outcome_strip(grid[1, column], reading, column)
    handles: list[Any] = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=f"sharpness {label}")
        for colour, marker, label in LOOKS.values()
    ]
    handles += [
        Patch(color=style.GREY, alpha=0.4, label="central 95 % of the networks"),
        Line2D([], [], color=style.GREY, linestyle=":", label="smallest and largest"),
        *outcome_handles(reading),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, columnspacing=1.6)
    return figure


def caption(reading: Reading) -> str:
    """What is drawn, and the pooled ratios."""
    middle = int(np.argmin(np.abs(reading["level"] - 0.5)))
    parts = []
    for time, when in enumerate(reading["time"].tolist()):
        pooled = {name: reading[f"pooled_{name}"][:, time] for name in LOOKS}
        texts = [
            f"{PARAMETRISATIONS[parametrisation]} {found['maximum'][middle]:.2f} "
            f"[{found['maximum'][0]:.2f}, {found['maximum'][-1]:.2f}] and "
            f"{found['sum'][middle]:.2f} [{found['sum'][0]:.2f}, {found['sum'][-1]:.2f}]"
            for row, parametrisation in enumerate(reading["parametrisation"].tolist())
            for found in [{name: pooled[name][row] for name in LOOKS}]
        ]
        parts.append(f"{TIMES[when]} {'; '.join(texts)}")
    along_size = str(reading["along"]) == "size"
    positions = listed(reading["position"])
    fixed = int(reading["fixed"])
    setting = (
        f"depth {fixed}, D = K = {positions}"
        if along_size
        else f"D = K = {fixed}, depths {positions}"
    )
    return (
        f"The sharpness of {int(reading['networks'])} linear networks of width "
        f"{int(reading['width'])} a point ({setting}) over the largest of the layers' terms "
        "σ_max²(left product) σ_max²(right product), which D.3.3 derives from a block-diagonal "
        "Hessian, and over their sum, the largest eigenvalue of the generalised Gauss-Newton "
        "matrix on whitened inputs; the inputs here are a Gaussian sample, white on average only. "
        "Medians and ranges over all networks of a parametrisation, maximum and sum: "
        f"{'. '.join(parts)}. {outcome_text(reading)}"
    )
