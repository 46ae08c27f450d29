"""What the weights behind each layer say of its output Hessian, before and after training."""

from typing import Any

from matplotlib.figure import Figure

from hessian_papers.studies.layerwise.drawing import draw_layers
from hessian_papers.studies.layerwise.output_spaces.reading import Reading
from hessian_papers.studies.layerwise.reading import FIRST, LAST
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
OVERLAPS = {"printed": "rows", "jacobian": "jacobian"}
ERRORS = {"printed": "printed_error", "jacobian": "jacobian_error"}


def draw(reading: Reading) -> Figure:
    """Overlaps and errors by layer, at the first and the last epoch."""
    figure, grid = style.panels(2, 2, height=2.1, sharey="row", sharex=True)
    letters = style.letters()
    for row, names, label in zip(
        grid,
        (OVERLAPS, ERRORS),
        (r"overlap with the top $c-1$ space", r"$\|F - E[M]\| \, / \, \|E[M]\|$"),
        strict=True,
    ):
        looks = {names[held]: look for held, look in LOOKS.items()}
        for axes, epoch in zip(row, (FIRST, LAST), strict=True):
            draw_layers(axes, reading, epoch, looks, means=True)
            axes.set_ylim(bottom=0)
            style.letter(axes, f"({next(letters)}) {reading.when(epoch)}")
        row[0].set_ylabel(label)
    handles = [
        style.entry(NAMES[held], markersize=3, linewidth=0.8, **look)
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
