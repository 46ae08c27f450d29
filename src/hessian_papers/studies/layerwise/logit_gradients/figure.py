"""Mean gradients by class and score in the plane, and how they lie together in their own space."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.layerwise.drawing import draw_layers
from hessian_papers.studies.layerwise.layers import layer_names, when
from hessian_papers.studies.layerwise.logit_gradients.derived import chance
from hessian_spectra.pictures import style

LOOKS: dict[str, dict[str, Any]] = {
    "by_score": {"color": style.VERMILION, "marker": "o", "label": "same score"},
    "by_class": {"color": style.BLUE, "marker": "s", "label": "same class"},
}


def _draw_plane(axes: Axes, points: xr.DataArray, by: str) -> None:
    """The embedded vectors; a number says of which score or class each is."""
    colours = style.COLOURMAP(np.linspace(0, 1, points.sizes[by]))
    for number, colour in zip(points[by].values, colours, strict=True):
        x, y = (points.sel({by: number, "axis": axis}).values for axis in "xy")
        axes.plot(x, y, marker=f"${number}$", markersize=5, color=colour, ls="")
    axes.set_xticks([])
    axes.set_yticks([])


def draw(data: xr.Dataset) -> Figure:
    """A picture by t-SNE, by score before training and by class after it; below it the shares."""
    figure, grid = style.panels(2, 2, height=2.3)
    for (plane, shares), epoch, by, (upper, lower) in zip(
        grid.T, (0, -1), ("score", "class"), (("a", "c"), ("b", "d")), strict=True
    ):
        at = data.isel(epoch=epoch)
        _draw_plane(plane, at["embedding"], by)
        style.letter(plane, f"({upper}) {when(at)}, by {by}")
        draw_layers(shares, at, LOOKS, fontsize=6)
        shares.axhline(chance(data), color=style.BLACK, linewidth=0.6, linestyle=":")
        shares.set_ylim(0, 1.04)
        style.letter(shares, f"({lower}) {when(at)}")
    grid[1, 0].set_ylabel("share of nearest neighbours")
    handles = [style.entry(linestyle="none", markersize=3, **look) for look in LOOKS.values()]
    handles += [style.entry("chance", color=style.BLACK, linewidth=0.6, linestyle=":")]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    network = str(data["network"].values[0])
    layer = layer_names(data, network)[0]
    return (
        "Before training mean gradients group by the score that is differentiated, after it in "
        "part by class. "
        "Mean gradients Γ_ij of score j over the images of class i with respect to a layer's "
        f"outputs, weighed by Q, QᵀQ = diag(p) − ppᵀ. (a, b) Those of {layer} "
        f"of the first {network} in the plane by t-SNE, which shows clusters where there are none "
        "as well; a number says which j, or i. (c, d) In their own space: of how many the nearest "
        "neighbour has the same j, or i, one point a network; dotted what is expected of labels at "
        f"random, {chance(data):.2f}."
    )
