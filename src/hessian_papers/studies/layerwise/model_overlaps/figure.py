"""Overlaps by the dimension of the spaces, a row for each architecture, a panel for each layer."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hessian_papers.studies.layerwise.model_overlaps.reading import CURVES, Layer, Reading
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


def _draw_layer(axes: Axes, layer: Layer, alike: np.ndarray) -> None:
    """The overlaps of one layer; dimensions are on a logarithmic axis, so that early peaks show.

    Args:
        axes: where.
        layer: the layer.
        alike: which pairs of networks were trained with the same settings, ``(Q,)``.
    """
    k = np.arange(1, layer.reach + 1)
    curves = layer.curves["overlap"]
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    axes.fill_between(k, mean - spread, mean + spread, color=style.BLUE, alpha=0.18, linewidth=0)
    for name in CURVES:
        axes.plot(k, layer.curves[name].mean(axis=0), **LOOKS[name])
    if alike.any() and not alike.all():
        axes.plot(k, curves[alike].mean(axis=0), **ALIKE)
    axes.plot(k, k / (layer.outputs * layer.inputs), **LOOKS["chance"])
    low = np.arange(1, min(layer.outputs, layer.reach) + 1)
    height = layer.first_inputs.mean()
    # The theorem's line may leave the panel: what is measured decides its height.
    highest = max(layer.curves[name].mean(axis=0).max() for name in CURVES)
    top = 1.12 * max(highest, (mean + spread).max())
    theorem = np.full(len(low), height) if layer.last else height * low / layer.outputs
    axes.plot(low, theorem, **LOOKS["theorem"])
    axes.axvline(layer.outputs, color=style.BLACK, linewidth=0.6)
    if 1 <= layer.satisfied < layer.outputs:
        axes.axvline(layer.satisfied, color=style.BLACK, linewidth=0.6, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(1, max(layer.reach, 2))
    axes.set_ylim(0, top)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=6.5)


def draw(reading: Reading) -> Figure:
    """Each layer's overlap with what the factors predict of it."""
    rows = {network: reading.layers(network) for network in reading.networks}
    columns = max(map(len, rows.values()))
    figure, grid = style.panels(len(rows), columns, height=1.75, squeeze=False)
    names = style.letters()
    for (network, layers), row in zip(rows.items(), grid, strict=True):
        for axes, layer in zip(row, layers, strict=False):
            _draw_layer(axes, layer, ~reading.differing)
            style.letter(axes, f"({next(names)}) {layer.name}, m = {layer.outputs}")
        for axes in row[len(layers) :]:
            axes.set_visible(False)
        row[0].set_ylabel(f"{network}\noverlap")
    for axes in grid[-1]:
        axes.set_xlabel("dimension k")
    looks = [*LOOKS.values(), *([ALIKE] if reading.differing.any() else [])]
    handles = [style.entry(**look) for look in looks]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    differing = reading.differing
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
        f"{int(reading['images'])} images, in {reading.seeds} networks of one architecture that "
        f"were trained independently: mean over their pairs, shaded the standard deviation{also}. "
        "Beside it the overlap of the layers' Kronecker approximations, what is expected of it "
        "when the outputs of one network are permuted at random (in the last layer they are the "
        "classes, and have an order), (k/m) (t₁·t₁')² of Theorem G.1 up to the output dimension m "
        "(solid vertical line; in the last layer (t₁·t₁')²), and k/(m n), that of random spaces. "
        "Dotted vertical line: the largest k at which τ_k γ_1 > τ_1 γ_2 in all networks, where not "
        "m, up to which the theorem's first input direction is alone."
    )
