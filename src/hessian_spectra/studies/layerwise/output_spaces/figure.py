"""What the weights behind each layer say of its output Hessian, before and after training."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.drawing import style
from hessian_spectra.studies.layerwise.output_spaces.reading import (
    FIRST,
    LAST,
    Reading,
)

# One colour for what is in print, one for the mean Jacobian, in both rows.
LOOKS: dict[str, dict[str, Any]] = {
    "printed": {"color": style.VERMILION, "marker": "o"},
    "jacobian": {"color": style.BLUE, "marker": "s"},
}
NAMES = {
    "printed": "from the product of the weights behind (as printed)",
    "jacobian": "from the mean Jacobian",
}
OVERLAPS = {"printed": "rows", "jacobian": "jacobian"}
ERRORS = {"printed": "printed_error", "jacobian": "jacobian_error"}
# How far the two stand apart beside a layer.
ASIDE = 0.14


def _draw(axes: Axes, reading: Reading, names: dict[str, str], epoch: int) -> None:
    """A number of each layer of each architecture, one point a network."""
    ticks: list[str] = []
    for network in reading.networks:
        layers = reading.layers(network)
        for sign, (held, look) in zip((-1, 1), LOOKS.items(), strict=True):
            values = reading.of(names[held], network, epoch)
            x = len(ticks) + np.arange(len(layers)) + ASIDE * sign
            axes.plot(x, values.T, linestyle="none", markersize=3, alpha=0.6, **look)
            axes.plot(x, values.mean(axis=0), linewidth=0.8, color=look["color"])
        if ticks:
            axes.axvline(len(ticks) - 0.5, color=style.GREY, linewidth=0.6)
        ticks += [f"{layers[0]}\n{network}", *layers[1:]]
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_xlim(-0.6, len(ticks) - 0.4)


def draw(reading: Reading) -> Figure:
    """Overlaps and errors by layer, at the first and the last epoch."""
    figure, grid = style.panels(2, 2, height=2.1, sharey="row", sharex=True)
    epochs = {FIRST: int(reading["epoch"][FIRST]), LAST: int(reading["epoch"][LAST])}
    letters = style.letters()
    for row, names, label in zip(
        grid,
        (OVERLAPS, ERRORS),
        (r"overlap with the top $c-1$ space", r"$\|F - E[M]\| \, / \, \|E[M]\|$"),
        strict=True,
    ):
        for axes, (epoch, number) in zip(row, epochs.items(), strict=True):
            _draw(axes, reading, names, epoch)
            axes.set_ylim(bottom=0)
            when = f"after {number} epochs" if number else "before training"
            style.letter(axes, f"({next(letters)}) {when}")
        row[0].set_ylabel(label)
    handles = [
        Line2D([], [], markersize=3, linewidth=0.8, label=NAMES[held], **look)
        for held, look in LOOKS.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    return (
        "The weights behind a layer predict the top eigenspace of its output Hessian, and the "
        "mean Jacobian predicts it better. One point a trained network, the line their mean. (a, "
        "b) Overlap of the top c − 1 eigenvectors of E[M] with the rows of S = W_L ⋯ W_(p+1) "
        "without their sum, and with those of the mean Jacobian E[G] of the scores by the layer's "
        "outputs. (c, d) Error of F = TᵀE[A]T in the Frobenius norm, T = S/2^(L−p) as in equation "
        "(272), or T = E[G]. In the last layer both are exact."
    )
