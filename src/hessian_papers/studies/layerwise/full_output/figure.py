"""Top eigenvalues and eigenspaces of the full Hessian, exact and from its form."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.formulas import raised
from hessian_papers.studies.layerwise.drawing import mark_outliers
from hessian_papers.studies.layerwise.full_output.derived import outliers
from hessian_spectra.pictures import style

FORM = {"color": style.BLUE, "label": "from the second derivative by the outputs of all layers"}
EXACT = {**style.NUMERIC, "color": style.BLACK, "markersize": 2.5, "label": "full Hessian"}


def draw(data: xr.Dataset) -> Figure:
    """A row an architecture: its eigenvalues, and the overlap of its top spaces."""
    networks, index = data["network"].values, np.arange(1, data.sizes["rank"] + 1)
    figure, grid = style.panels(len(networks), 2, height=1.9, squeeze=False)
    letters = style.letters()
    for network, row in zip(networks, grid, strict=True):
        own = data.sel(network=network, form="printed")
        means = own.mean("seed", skipna=False)
        row[0].plot(index, means["approximation"], **FORM)
        row[0].plot(index, means["hessian"], **EXACT)
        if (means["hessian"] > 0).all():
            style.logarithmic(row[0])
        row[1].plot(index, own["overlap"].values.T, color=style.BLUE, linewidth=0.5, alpha=0.4)
        row[1].plot(index, means["overlap"], color=style.BLUE)
        row[1].set_ylim(0, 1.02)
        row[0].set_ylabel("eigenvalue")
        row[1].set_ylabel("overlap of the first k")
        for axes in row:
            style.letter(axes, f"({next(letters)}) {raised(network)}")
            mark_outliers(axes, partial(outliers, data))
    grid[-1, 0].set_xlabel("index i of the eigenvalue")
    grid[-1, 1].set_xlabel("dimension k")
    handles = [style.entry(**look) for look in (FORM, EXACT)]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the setting."""
    return (
        f"It is that of all weights and biases; means over {data.sizes['seed']} networks after "
        f"{int(data['epoch'])} epochs. Left: eigenvalues. Right: overlap of the first k "
        "eigenvectors; thin: one network each. Vertical: $c - 1$, of c classes."
    )
