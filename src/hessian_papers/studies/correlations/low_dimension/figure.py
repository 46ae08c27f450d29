"""The lead of the product without the last matrix against the depth, at both sizes."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.ensembles import PARAMETRISATIONS, TIMES
from hessian_spectra.pictures import style

COLOURS = (style.VERMILION, style.BLUE)  # of the smaller size and the larger one
MARKERS = ("o", "s")
TIME_LOOKS: dict[str, dict[str, Any]] = {
    "initialisation": {"linestyle": "--", "markerfacecolor": "white"},
    "trained": {"linestyle": "-"},
}
# How far lines stand beside each other.
ASIDE = 0.07


def _looks(data: xr.Dataset) -> dict[tuple[int, str], dict[str, Any]]:
    """How each line is drawn."""
    return {
        (size, time): {"color": colour, "marker": marker, "markersize": 4.0} | TIME_LOOKS[time]
        for size, colour, marker in zip(data["size"].values.tolist(), COLOURS, MARKERS, strict=True)
        for time in data["time"].values.tolist()
    }


def _panel(axes: Axes, data: xr.Dataset) -> None:
    for number, ((size, time), look) in enumerate(_looks(data).items()):
        value, low, high = data["lead"].sel(size=size, time=time).transpose("estimate", "depth")
        x = data["depth"] + (number - 1.5) * ASIDE
        axes.plot(x, value, linewidth=0.9, **look)
        axes.vlines(x, low, high, color=look["color"], linewidth=0.9)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    drawing.along(axes, data)


def draw(data: xr.Dataset) -> Figure:
    """A panel for each parametrisation."""
    names = data["parametrisation"].values.tolist()
    figure, grid = style.panels(1, len(names), height=2.3, sharey=True, squeeze=False)
    for axes, name, letter in zip(grid[0], names, style.letters(), strict=False):
        _panel(axes, data.sel(parametrisation=name))
        style.letter(axes, f"({letter}) {PARAMETRISATIONS[name]}")
    grid[0, 0].set_ylabel(r"$r$ of $\widehat{W}_{B}$ − best other $\widehat{W}_{b}$")
    handles = [
        style.entry(f"$D = K = {size}$, {TIMES[time]}", **look)
        for (size, time), look in _looks(data).items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    low, high = data["size"].values
    stopped, diverged = (int(data[name].max()) for name in ("epoch_limit", "diverged"))
    ends = "all trained until the smallest learning rate reached its plateau"
    if stopped or diverged:
        ends = f"at most {stopped} of them stopped by the epoch limit, {diverged} diverged"
    return (
        "The lead of the product without the last matrix, Ŵ_B, over the best other product, with "
        f"few inputs and with more, D = K = {low} and {high}: by how much the correlation of its "
        "squared spectral norm with the sharpness exceeds the other's. Bars: "
        f"{drawing.intervals(data)}. "
        f"{drawing.networks(data)}, depths {drawing.listed(data['depth'].values)}; {ends}."
    )
