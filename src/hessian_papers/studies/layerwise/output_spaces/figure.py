"""What the weights behind each layer say of its output Hessian, before and after training."""

from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.studies.layerwise.drawing import draw_layers
from hessian_papers.studies.layerwise.layers import when
from hessian_spectra.pictures import style

# One colour for what is in print, one for the mean Jacobian, in both rows.
LOOKS: dict[str, dict[str, Any]] = {
    "printed": {"color": style.VERMILION, "marker": "o"},
    "jacobian": {"color": style.BLUE, "marker": "s"},
}
NAMES = {
    "printed": "from the product of the weights behind (as printed)",
    "jacobian": "from the mean Jacobian",
}
# What each row of panels shows of them, and its axis.
ROWS = {
    r"overlap with the top $c-1$ space": {"printed": "rows", "jacobian": "jacobian"},
    r"$\|F - E[M]\| \, / \, \|E[M]\|$": {
        "printed": "printed_error",
        "jacobian": "jacobian_error",
    },
}


def draw(data: xr.Dataset) -> Figure:
    """Overlaps and errors by layer, at the first and the last epoch."""
    figure, grid = style.panels(2, 2, height=2.1, sharey="row", sharex=True)
    letters = style.letters()
    for row, (label, names) in zip(grid, ROWS.items(), strict=True):
        looks = {names[of]: look for of, look in LOOKS.items()}
        for axes, epoch in zip(row, (0, -1), strict=True):
            at = data.isel(epoch=epoch)
            draw_layers(axes, at, looks, means=True)
            axes.set_ylim(bottom=0)
            style.letter(axes, f"({next(letters)}) {when(at)}")
        row[0].set_ylabel(label)
    handles = [
        style.entry(NAMES[of], markersize=3, linewidth=0.8, **look) for of, look in LOOKS.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    return (
        "The weights behind a layer predict the top eigenspace of its output Hessian, and the "
        "mean Jacobian predicts it better. One point a trained network, the line their mean. (a, "
        "b) Overlap of the top c − 1 eigenvectors of E[M] with the rows of S = W_L ⋯ W_(p+1) "
        "without their sum, and with those of the mean Jacobian E[G] of the scores by the layer's "
        "outputs. (c, d) Error of F = TᵀE[A]T in the Frobenius norm, T = S/2^(L−p) as in equation "
        "(272), or T = E[G]. In the last layer both are exact."
    )
