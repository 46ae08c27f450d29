"""The size of the outputs at initialisation against the width, a panel for each depth."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_spectra.pictures import style

LOOKS = {
    "sp": (style.GREY, "o", "SP"),
    "ntp": (style.GREEN, "s", "NTP"),
    "mup": (style.BLUE, "^", "μP"),
    "mup_printed": (style.VERMILION, "v", "μP as printed"),
}
LINES = {"linear": "-", "relu": ":"}


def _panel(axes: Axes, data: xr.Dataset) -> None:
    width = data["width"].values
    for scale in data["scale"].values.tolist():
        colour, marker, label = LOOKS[scale]
        for place, activation in enumerate(data["activation"].values.tolist()):
            chosen = data.sel(scale=scale, activation=activation)
            expected = chosen["expected"].values
            axes.plot(width, expected, color=colour, linestyle=LINES[activation], linewidth=1.0)
            low, middle, high = np.quantile(chosen["output"].values, [0.05, 0.5, 0.95], axis=1)
            axes.errorbar(
                width, middle, np.array([middle - low, high - middle]), color=colour,
                marker=marker, markersize=3.5, linestyle="none", elinewidth=0.8,
                markerfacecolor=colour if activation == "linear" else "none",
                label=label if place == 0 else None,
            )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("width $m$")


def draw(data: xr.Dataset) -> Figure:
    """A panel for each depth."""
    depths = data["depth"].values.tolist()
    figure, grid = style.panels(1, len(depths), height=2.4, sharey=True)
    panels = np.atleast_1d(grid)
    for axes, depth, letter in zip(panels, depths, style.letters(), strict=False):
        _panel(axes, data.sel(depth=depth).sortby("width"))
        style.letter(axes, f"({letter}) {depth} layers")
    panels[0].set_ylabel("outputs, root mean square")
    panels[0].legend(loc="upper left", fontsize=6.5)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    return (
        "With the variance that appendix D.1.3 prints for the maximal-update parametrisation (μP) "
        "the outputs at initialisation grow with the width, faster the deeper the network; with "
        "the spectral condition, which this project uses, they shrink like its root, and with the "
        "two others they stay. Median and middle 90 % of "
        f"{data.sizes['draw']} networks a point, full markers for linear and open ones for ReLU "
        "networks; lines (dotted: ReLU) have the expected mean "
        "square. The papers that D.1.3 cites for μP have the condition that is used here."
    )
