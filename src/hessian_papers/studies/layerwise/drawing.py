"""Parts of figures of layer-wise studies: numbers of layers, one point a network."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.layers import own_layers, with_hidden_layers
from hessian_spectra.pictures import style

# The line behind the outliers.
OUTLIERS: dict[str, Any] = {"color": style.GREY, "linewidth": 0.6}


def mark_outliers(axes: Axes, count: Callable[[], int]) -> None:
    """A line behind the outliers, where the study has so many eigenvalues."""
    with contextlib.suppress(NothingToMeasure):
        axes.axvline(count() + 0.5, **OUTLIERS)


def draw_layers(
    axes: Axes,
    data: xr.Dataset,
    looks: Mapping[str, Mapping[str, Any]],
    *,
    aside: float = 0.14,
    **ticks_look: Any,
) -> None:
    """Some numbers of each layer of each architecture side by side, one point a network.

    Args:
        axes: to draw on.
        data: of a study at one epoch.
        looks: how the points of a number look, by its name.
        aside: how far the first and the last of the numbers stand from the layer.
        ticks_look: how the names of the layers look.
    """
    ticks: list[str] = []
    for network in with_hidden_layers(data):
        own = own_layers(data.sel(network=network))
        layers = own["layer"].values.tolist()
        places = np.linspace(-aside, aside, len(looks))
        for place, (name, look) in zip(places, looks.items(), strict=True):
            x = len(ticks) + np.arange(len(layers)) + place
            points = {**look, "label": None, "linestyle": "none", "markersize": 3, "alpha": 0.6}
            axes.plot(x, own[name].transpose("layer", "seed").values, **points)
        if ticks:
            axes.axvline(len(ticks) - 0.5, color=style.GREY, linewidth=0.6)
        ticks += [f"{layers[0]}\n{network}", *layers[1:]]
    axes.set_xticks(range(len(ticks)), ticks, **ticks_look)
    axes.set_xlim(-0.6, len(ticks) - 0.4)
