"""Top eigenvalues and eigenspaces of the full Hessian, exact and from its forms."""

import contextlib
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.full_output.derived import outliers
from hessian_spectra.pictures import style

# The two forms are often one line: the printed one is drawn wide below the other.
LOOKS: dict[str, dict[str, Any]] = {
    "printed": {"color": style.VERMILION, "linewidth": 3.0, "alpha": 0.5},
    "corrected": {"color": style.BLUE, "linewidth": 1.2},
}
NAMES = {"printed": "as printed", "corrected": "with the lengths of the mean inputs first"}
EXACT: dict[str, Any] = {
    "color": style.BLACK,
    "marker": "o",
    "markersize": 2.5,
    "linestyle": "none",
}


def _draw_values(axes: Axes, data: xr.Dataset) -> None:
    """Mean eigenvalues over the networks of an architecture."""
    means = data.mean("seed", skipna=False)
    index = np.arange(1, data.sizes["rank"] + 1)
    for form, look in LOOKS.items():
        axes.plot(index, means["approximation"].sel(form=form), **look)
    axes.plot(index, means["hessian"], **EXACT)
    if (means["hessian"] > 0).all():
        style.logarithmic(axes)
    axes.set_xlabel("index of the eigenvalue")


def _draw_overlaps(axes: Axes, data: xr.Dataset) -> None:
    """Overlaps of the first k, their mean and each network's."""
    index = np.arange(1, data.sizes["rank"] + 1)
    for form, look in LOOKS.items():
        overlaps = data["overlap"].sel(form=form)
        axes.plot(index, overlaps.mean("seed", skipna=False), **look)
        if form == "corrected":
            axes.plot(index, overlaps.values.T, color=look["color"], linewidth=0.5, alpha=0.4)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("dimension k")


def _mark_classes(axes: Axes, data: xr.Dataset) -> None:
    with contextlib.suppress(NothingToMeasure):
        axes.axvline(outliers(data), color=style.GREY, linewidth=0.8, linestyle=":")


def draw(data: xr.Dataset) -> Figure:
    """A row of eigenvalues and one of overlaps, a column an architecture."""
    networks = data["network"].values
    figure, grid = style.panels(2, len(networks), height=2.1, squeeze=False, sharey="row")
    letters = style.letters()
    for row, paint, label in zip(
        grid, (_draw_values, _draw_overlaps), ("eigenvalue", "overlap of the top k"), strict=True
    ):
        for axes, network in zip(row, networks, strict=True):
            paint(axes, data.sel(network=network))
            _mark_classes(axes, data)
            style.letter(axes, f"({next(letters)}) {network}")
        row[0].set_ylabel(label)
    handles = [style.entry(NAMES[form], **look) for form, look in LOOKS.items()]
    handles.append(style.entry("full Hessian", **EXACT))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    return (
        "The second derivative by the outputs of all layers tells much of the full Hessian's top, "
        "but not all of it. The full Hessian is that of all weights and biases; means over "
        f"{data.sizes['seed']} networks after {int(data['epoch'])} epochs; thin lines: one "
        "network each. Upper row: eigenvalues. Lower row: overlap of the first k eigenvectors. The "
        "dotted line is at as many as there are classes, less one."
    )
