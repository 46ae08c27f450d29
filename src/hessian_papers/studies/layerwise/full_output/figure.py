"""Top eigenvalues and eigenspaces of the full Hessian, exact and from its forms."""

import contextlib
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.full_output.reading import CORRECTED, PRINTED, Reading
from hessian_spectra.pictures import style

# The two forms are often one line: the printed one is drawn wide below the other.
LOOKS: dict[str, dict[str, Any]] = {
    PRINTED: {"color": style.VERMILION, "linewidth": 3.0, "alpha": 0.5},
    CORRECTED: {"color": style.BLUE, "linewidth": 1.2},
}
NAMES = {PRINTED: "as printed", CORRECTED: "with the lengths of the mean inputs first"}
EXACT: dict[str, Any] = {
    "color": style.BLACK,
    "marker": "o",
    "markersize": 2.5,
    "linestyle": "none",
}


def _draw_values(axes: Axes, reading: Reading, network: str) -> None:
    """Mean eigenvalues over the networks."""
    exact = reading.of("hessian", network).mean(axis=0)
    index = np.arange(1, len(exact) + 1)
    for form, look in LOOKS.items():
        axes.plot(index, reading.of("forms", network, form).mean(axis=0), **look)
    axes.plot(index, exact, **EXACT)
    if exact.min(initial=np.inf) > 0:
        style.logarithmic(axes)
    axes.set_xlabel("index of the eigenvalue")


def _draw_overlaps(axes: Axes, reading: Reading, network: str) -> None:
    """Overlaps of the first k, their mean and each network's."""
    for form, look in LOOKS.items():
        overlaps = reading.of("overlap", network, form)
        index = np.arange(1, overlaps.shape[1] + 1)
        axes.plot(index, overlaps.mean(axis=0), **look)
        if form == CORRECTED:
            axes.plot(index, overlaps.T, color=look["color"], linewidth=0.5, alpha=0.4)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("dimension k")


def _mark_classes(axes: Axes, reading: Reading) -> None:
    with contextlib.suppress(NothingToMeasure):
        axes.axvline(reading.outliers, color=style.GREY, linewidth=0.8, linestyle=":")


def draw(reading: Reading) -> Figure:
    """A row of eigenvalues and one of overlaps, a column an architecture."""
    figure, grid = style.panels(2, len(reading.networks), height=2.1, squeeze=False, sharey="row")
    letters = style.letters()
    for row, paint, label in zip(
        grid, (_draw_values, _draw_overlaps), ("eigenvalue", "overlap of the top k"), strict=True
    ):
        for axes, network in zip(row, reading.networks, strict=True):
            paint(axes, reading, network)
            _mark_classes(axes, reading)
            style.letter(axes, f"({next(letters)}) {network}")
        row[0].set_ylabel(label)
    handles = [style.entry(NAMES[form], **look) for form, look in LOOKS.items()]
    handles.append(style.entry("full Hessian", **EXACT))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    return (
        "The second derivative by the outputs of all layers tells much of the full Hessian's top, "
        "but not all of it. The full Hessian is that of all weights and biases; means over "
        f"{len(reading['seed'])} networks after {int(reading['epoch'])} epochs; thin lines: one "
        "network each. Upper row: eigenvalues. Lower row: overlap of the first k eigenvectors. The "
        "dotted line is at as many as there are classes, less one."
    )
