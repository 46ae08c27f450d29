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
    axes.set_xlabel("t-SNE, first axis (no unit)")
    axes.set_xticks([])
    axes.set_yticks([])


def draw(data: xr.Dataset) -> Figure:
    """A picture by t-SNE, by score before training and by class after it."""
    figure, planes = style.panels(1, 2, height=2.6)
    for axes, mark, epoch, by in zip(planes, "ab", (0, -1), ("score", "class"), strict=True):
        at = data.isel(epoch=epoch)
        _draw_plane(axes, at["embedding"], by)
        style.letter(axes, f"({mark}) {when(at)}, by {by}")
    planes[0].set_ylabel("t-SNE, second axis (no unit)")
    return figure


def caption(data: xr.Dataset) -> str:
    """The key to the figure."""
    network = str(data["network"].values[0])
    return (
        "Mean gradients $Γ_{ij}$ of score j over class i with respect to the "
        f"outputs of {layer_names(data, network)[0]} of the first {network}, weighted by Q, "
        r"$Q^⊤Q = \operatorname{diag}(p) - pp^⊤$; by t-SNE, which shows clusters even where none "
        "exist. Numbers: j or i."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The shares of nearest neighbours of the same score or class, among the vectors themselves."""
    figure, row = style.panels(1, 2, height=2.3)
    for axes, mark, epoch in zip(row, "ab", (0, -1), strict=True):
        at = data.isel(epoch=epoch)
        draw_layers(axes, at, LOOKS, fontsize=6)
        axes.axhline(chance(data), color=style.BLACK, linewidth=0.6, linestyle=":")
        axes.set_ylim(0, 1.04)
        style.letter(axes, f"({mark}) {when(at)}")
    row[0].set_ylabel("share of nearest neighbours")
    handles = [style.entry(linestyle="none", markersize=3, **look) for look in LOOKS.values()]
    handles += [style.entry("chance", color=style.BLACK, linewidth=0.6, linestyle=":")]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure, (
        "In their own space: of how many mean gradients the nearest neighbour has the same j, or "
        "i, one point a network; dotted what is expected of labels at random, "
        f"{chance(data):.2f}."
    )
