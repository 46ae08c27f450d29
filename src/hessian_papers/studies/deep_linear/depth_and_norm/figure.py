"""The sharpness of balanced solutions against depth and label norm, and what depth does to it."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.studies.deep_linear.depth_and_norm.derived import error
from hessian_spectra.pictures import style

NORM = r"label norm $\|Y\|_2/\sqrt{n}$"
Look = dict[str, Any]
FLATTEST: Look = {"color": style.ORANGE, "linestyle": "--", "linewidth": 1.3}
POINTS: Look = style.NUMERIC | {"alpha": 0.8}
LOOKS: dict[str, Look] = {
    "curve": {"label": ""},
    "predicted": {"label": ""},
    "sharpness": POINTS | {"label": ""},
    "error": POINTS | {"label": ""},
    "one": {"label": "", "linewidth": 0.7, "linestyle": "-"},
    "smallest": {"color": style.ORANGE, "marker": "v", "markersize": 6, "linestyle": "none"},
    "leading": {"color": style.VERMILION, "linestyle": "--", "label": "leading factor $(L + 1)/L$"},
}


def _levels(data: xr.Dataset) -> np.ndarray:
    """Round numbers 1, 2, 5, 10, ... around the numbers that are compared."""
    predicted = data["predicted"].values
    low, high = predicted.min(), predicted.max()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    steps = (decades[:, None] * [1, 2, 5]).ravel()
    first = max(int(np.searchsorted(steps, low)) - 1, 0)
    return steps[first : int(np.searchsorted(steps, high)) + 1]


def draw(data: xr.Dataset) -> Figure:
    """The contours of the sharpness, with the numbers on top."""
    figure, axes = style.panels(height=2.8, width=4.5)
    levels, discs = _levels(data), data["sharpness"].stack(network=("depth", "norm"))
    # The discs have the colours of the bands: they vanish in them where the numbers agree.
    scale = BoundaryNorm(levels, style.COLOURMAP.N, extend="min")
    surface = np.maximum(data["contour"].values.T, levels[0] / 10)
    x, y = data["real_depth"].values, data["contour_norm"].values
    filled = axes.contourf(x, y, surface, levels, norm=scale, cmap=style.COLOURMAP, extend="min")
    axes.contour(x, y, surface, levels, colors="white", linewidths=0.4)
    inside = data["contour_flattest"].values > 1
    axes.plot(data["contour_flattest"].values[inside], y[inside], **FLATTEST)
    look: Look = {"norm": scale, "cmap": style.COLOURMAP, "s": 16, "edgecolors": "white"}
    axes.scatter(discs["depth"], discs["norm"], c=discs.values, **look).set_clip_on(False)
    axes.set_xlim(1, x[-1])
    axes.set_ylim(0, y[-1])
    bar = figure.colorbar(filled, ax=axes, label=r"sharpness $\lambda_{\max}$", aspect=25)
    bar.set_ticks(levels[1:].tolist(), labels=[f"{level:g}" for level in levels[1:]])
    bar.ax.minorticks_off()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("depth L (layers)")
    axes.set_ylabel(NORM)
    axes.grid(visible=False)
    return figure


def caption(_: xr.Dataset) -> str:
    """The marks of the figure."""
    return (
        "Largest Hessian eigenvalue of balanced linear networks with zero loss against depth and "
        "label norm. Contours: eq. (14); discs: numerical, at random networks, in the same "
        r"colours. Dashed: the depth $\ln(σ_x^2 n/‖Y‖_2^2)$ of smallest sharpness, where above 1."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The sharpness along depth, the factor that each layer adds, and the errors."""
    curve = named(data["curve"].rename(real_depth="depth"), r"sharpness $\lambda_{\max}$")
    inside = (data["flattest_depth"] > 1) & (data["flattest_depth"] < data["real_depth"].max())
    lowest = data["flattest"].where(inside).assign_coords(depth=data["flattest_depth"])
    name = r"$\lambda_{\max}(L+1)\,/\,\lambda_{\max}(L)$"
    leading = data["depth"].reset_coords(drop=True).assign_coords(depth=data["depth"])
    factors = [
        named(values.shift(depth=-1) / values, name)
        for values in (data["predicted"], data["sharpness"], leading.rename("leading"))
    ]
    panels = [
        Panel("along depth", "depth", [curve, data["sharpness"], lowest.rename("smallest")]),
        Panel("one layer more", "depth", [*factors, xr.DataArray(1.0, name="one")]),
        Panel(
            "equation and numbers",
            "depth",
            [named(error(data).rename("error"), "relative error of eq. (14)", rounding=True)],
        ),
    ]
    return picture(panels, LOOKS), CONTROLS


CONTROLS = (
    "Lines: eq. (14), a colour for each label norm; points: numerical. (a) The sharpness along "
    "depth. (b) The factor of one layer more; dashed: the leading factor L alone, which is all of "
    r"the growth at $‖Y‖_2 = \sqrt n σ_x$. (c) By how much equation and numbers differ; dashed: "
    "the tolerance, 1e-10."
)
