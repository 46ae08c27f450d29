"""The overlap of the weights' rows with the top space of E[M], layer by layer, in training."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.drawing.forest import Dot, Dots, forest
from hessian_papers.formulas import raised
from hessian_papers.ledger.bounds import estimate_of, needs
from hessian_papers.studies.layerwise.layers import (
    hidden_layers,
    when,
    with_hidden_layers,
)
from hessian_papers.studies.layerwise.output_spaces.claims import better_reading
from hessian_spectra.pictures import style

JACOBIAN = "mean Jacobian"


def _dots(data: xr.Dataset) -> Iterator[Dot]:
    """The rows of S at each epoch, and the mean Jacobian at the last one, layer by layer."""
    for network in with_hidden_layers(data):
        chosen = data.sel(network=network)
        own = hidden_layers(chosen)
        if own["rows"].isel(epoch=-1).isnull().any():
            continue
        rows, last = better_reading(chosen.isel(epoch=-1)), own.isel(epoch=-1)
        epochs = [own.isel(epoch=place) for place in range(own.sizes["epoch"])]
        parts = [(f"rows of S, {when(each)}", each[rows]) for each in epochs]
        for name, values in [*parts, (f"{JACOBIAN}, {when(last)}", last["jacobian"])]:
            for layer in own["layer"].values.tolist():
                yield Dot(
                    f"{raised(network)}, {layer}", *estimate_of(values.sel(layer=layer)), name
                )


def draw(data: xr.Dataset) -> Figure:
    """A row a layer, with means over networks and their intervals."""
    dots = [*_dots(data)]
    needs(dots, "this configuration has no network whose layers have enough outputs")
    *epochs, jacobian = dict.fromkeys(dot.series for dot in dots)
    shades = style.COLOURMAP(np.linspace(0, 1, len(epochs)))
    looks = {
        name: {"color": shade, "marker": "o"} for name, shade in zip(epochs, shades, strict=True)
    }
    looks[jacobian] = {"color": style.BLACK, "marker": "s"}
    return forest([Dots("", "overlap with the top eigenvectors of E[M]", dots)], looks)


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the picture, and the setting."""
    return (
        f"Means over {data.sizes['seed']} networks, with Student's 95 % intervals. Circles: the "
        "rows of S, the product of the weights after the layer, without their sum. Squares: the "
        "mean Jacobian. Table 8 has the overlaps at minima; they stand beside ours below."
    )
