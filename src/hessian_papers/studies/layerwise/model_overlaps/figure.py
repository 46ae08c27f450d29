"""Overlaps by the dimension of the spaces, a row for each architecture, a panel for each layer."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hessian_papers.studies.layerwise.model_overlaps.derived import (
    CURVES,
    layers,
    paired,
    satisfied,
)
from hessian_spectra.pictures import style

LOOKS: dict[str, dict[str, Any]] = {
    "overlap": {"color": style.BLUE, "label": "Hessians, with the deviation over pairs"},
    "kronecker": {"color": style.ORANGE, "label": "Kronecker approximations", "linewidth": 0.9},
    "permuted": {
        "color": style.VERMILION,
        "label": "expected over permutations of outputs",
        "linestyle": "--",
        "linewidth": 0.9,
    },
    "theorem": {"color": style.GREEN, "label": "Theorem G.1", "linestyle": ":", "linewidth": 1.4},
    "chance": {"color": style.GREY, "label": "random spaces", "linewidth": 0.9},
}

# Of the pairs of networks that were trained with the same settings, where not all were.
ALIKE: dict[str, Any] = {
    "color": style.PURPLE,
    "label": "Hessians, trained alike",
    "linestyle": "-.",
    "linewidth": 0.9,
}


def _draw_layer(axes: Axes, layer: xr.Dataset) -> None:
    """The overlaps of one layer; dimensions are on a logarithmic axis, so that early peaks show."""
    k, outputs = layer["rank"].values, int(layer["outputs"])
    mean, spread = layer["overlap"].mean("pair").values, layer["overlap"].std("pair").values
    axes.fill_between(k, mean - spread, mean + spread, color=style.BLUE, alpha=0.18, linewidth=0)
    curves = {name: layer[name].mean("pair").values for name in CURVES}
    for name, curve in curves.items():
        axes.plot(k, curve, **LOOKS[name])
    alike = ~layer["differing"]
    if alike.any() and not alike.all():
        axes.plot(k, layer["overlap"].where(alike).mean("pair").values, **ALIKE)
    axes.plot(k, k / (outputs * int(layer["inputs"])), **LOOKS["chance"])
    low, height = k[:outputs], layer["first_inputs"].mean().item()
    # The theorem's line may leave the panel: what is measured decides its height.
    top = 1.12 * max(*(curve.max() for curve in curves.values()), (mean + spread).max())
    theorem = np.full(len(low), height) if layer["last"] else height * low / outputs
    axes.plot(low, theorem, **LOOKS["theorem"])
    axes.axvline(outputs, color=style.BLACK, linewidth=0.6)
    if 1 <= satisfied(layer) < outputs:
        axes.axvline(satisfied(layer), color=style.BLACK, linewidth=0.6, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(1, max(len(k), 2))
    axes.set_ylim(0, top)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=6.5)


def draw(data: xr.Dataset) -> Figure:
    """Each layer's overlap with what the factors predict of it."""
    networks = data["network"].values.tolist()
    rows = {network: layers(data.sel(network=network)) for network in networks}
    columns = max(map(len, rows.values()))
    figure, grid = style.panels(len(rows), columns, height=1.75, squeeze=False)
    names = style.letters()
    for (network, own), row in zip(rows.items(), grid, strict=True):
        for axes, layer in zip(row, own, strict=False):
            _draw_layer(axes, layer)
            title = f"{layer['layer'].item()}, m = {int(layer['outputs'])}"
            style.letter(axes, f"({next(names)}) {title}")
        for axes in row[len(own) :]:
            axes.set_visible(False)
        row[0].set_ylabel(f"{network}\noverlap")
    for axes in grid[-1]:
        axes.set_xlabel("dimension k")
    looks = [*LOOKS.values(), *([ALIKE] if paired(data)["differing"].any() else [])]
    handles = [style.entry(**look) for look in looks]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    differing = paired(data)["differing"].values
    also = (
        f", and the mean over those {(~differing).sum()} of {len(differing)} whose networks were "
        "trained with the same rate, momentum and weight decay"
        if differing.any()
        else ""
    )
    return (
        "Top eigenspaces of a layer overlap between networks that were trained independently, "
        "more than random spaces would. "
        f"Overlap of the top k eigenspaces of a layer's Hessian, of the loss on "
        f"{int(data['images'])} images, in {data.sizes['seed']} networks of one architecture that "
        f"were trained independently: mean over their pairs, shaded the standard deviation{also}. "
        "Beside it the overlap of the layers' Kronecker approximations, what is expected of it "
        "when the outputs of one network are permuted at random (in the last layer they are the "
        "classes, and have an order), (k/m) (t₁·t₁')² of Theorem G.1 up to the output dimension m "
        "(solid vertical line; in the last layer (t₁·t₁')²), and k/(m n), that of random spaces. "
        "Dotted vertical line: the largest k at which τ_k γ_1 > τ_1 γ_2 in all networks, where not "
        "m, up to which the theorem's first input direction is alone."
    )
