"""Mean gradients by class and score in the plane, and how they lie together in their own space."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.layerwise.drawing import draw_layers
from hessian_papers.studies.layerwise.logit_gradients.reading import Reading
from hessian_papers.studies.layerwise.reading import FIRST, LAST
from hessian_spectra.pictures import style

LOOKS: dict[str, dict[str, Any]] = {
    "by_score": {"color": style.VERMILION, "marker": "o", "label": "same score"},
    "by_class": {"color": style.BLUE, "marker": "s", "label": "same class"},
}


def _draw_plane(axes: Axes, points: np.ndarray, by: str) -> None:
    """The embedded vectors; a number says of which score or class each is."""
    count = round(len(points) ** 0.5)
    numbers = np.arange(len(points))
    numbers = numbers % count if by == "score" else numbers // count
    for number, colour in enumerate(style.COLOURMAP(np.linspace(0, 1, count))):
        own = points[numbers == number]
        axes.plot(own[:, 0], own[:, 1], marker=f"${number}$", markersize=5, color=colour, ls="")
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_shares(axes: Axes, reading: Reading, epoch: int) -> None:
    """Shares by layer of each architecture, one point a network."""
    draw_layers(axes, reading, epoch, LOOKS, fontsize=6)
    axes.axhline(reading.chance, color=style.BLACK, linewidth=0.6, linestyle=":")
    axes.set_ylim(0, 1.04)


def draw(reading: Reading) -> Figure:
    """A picture by t-SNE, by score before training and by class after it; below it the shares."""
    figure, grid = style.panels(2, 2, height=2.3)
    letters = style.letters()
    for axes, epoch, by in zip(grid[0], (FIRST, LAST), ("score", "class"), strict=True):
        _draw_plane(axes, reading["embedding"][epoch], by)
        style.letter(axes, f"({next(letters)}) {reading.when(epoch)}, by {by}")
    for axes, epoch in zip(grid[1], (FIRST, LAST), strict=True):
        _draw_shares(axes, reading, epoch)
        style.letter(axes, f"({next(letters)}) {reading.when(epoch)}")
    grid[1, 0].set_ylabel("share of nearest neighbours")
    handles = [style.entry(linestyle="none", markersize=3, **look) for look in LOOKS.values()]
    handles += [style.entry("chance", color=style.BLACK, linewidth=0.6, linestyle=":")]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    network = str(reading["network"][0])
    return (
        "Before training mean gradients group by the score that is differentiated, after it in "
        "part by class. "
        "Mean gradients Γ_ij of score j over the images of class i with respect to a layer's "
        f"outputs, weighed by Q, QᵀQ = diag(p) − ppᵀ. (a, b) Those of {reading.layers(network)[0]} "
        f"of the first {network} in the plane by t-SNE, which shows clusters where there are none "
        "as well; a number says which j, or i. (c, d) In their own space: of how many the nearest "
        "neighbour has the same j, or i, one point a network; dotted what is expected of labels at "
        f"random, {reading.chance:.2f}."
    )
