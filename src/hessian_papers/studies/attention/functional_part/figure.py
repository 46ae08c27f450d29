"""The functional part of the largest eigenvalue and of its bounds, against the weights' norm."""

import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.drawing.bands import draw_mean
from hessian_papers.studies.attention.functional_part.derived import functional_part
from hessian_spectra.pictures import style

# The lines of a panel: a model, or a quantity of self-attention.
MODELS = {
    "attention": ("self-attention", {"color": style.VERMILION, "marker": "*", "markersize": 7.0}),
    "linear": ("two-layer linear", {"color": style.BLUE, "marker": "o", "markersize": 4.0}),
    "relu": ("two-layer ReLU", {"color": style.GREEN, "marker": "s", "markersize": 4.0}),
}
QUANTITIES = {
    "largest eigenvalue": {"color": style.VERMILION, "marker": "*", "markersize": 7.0},
    "lower bound": {"color": style.BLACK, "marker": "v", "markersize": 4.0, "linestyle": "--"},
    "upper bound": {"color": style.BLACK, "marker": "^", "markersize": 4.0, "linestyle": "--"},
}


def draw(data: xr.Dataset) -> Figure:
    """The largest eigenvalue of all models, and the bounds of self-attention."""
    part = functional_part(data)
    figure, (left, right) = style.panels(1, 2, height=2.6, sharey=True)
    for name, (label, look) in MODELS.items():
        of_model = part.sel(model=name, quantity="largest eigenvalue")
        draw_mean(left, of_model, "weight_norm", label=label, **look)
    for quantity, look in QUANTITIES.items():
        of_attention = part.sel(model="attention", quantity=quantity)
        draw_mean(right, of_attention, "weight_norm", label=quantity, **look)
    titles = "(a) largest eigenvalue", "(b) self-attention and its bounds"
    for axes, title in zip((left, right), titles, strict=True):
        axes.axhline(0.5, color=style.GREY, linewidth=0.6)
        axes.set_xscale("log")
        style.mark(axes.xaxis, data["weight_norm"].values.tolist())
        axes.set_xlabel("norm of each weight")
        axes.set_ylim(0, 1)
        style.letter(axes, title)
        axes.legend()
    left.set_ylabel("functional part")
    return figure


def caption(data: xr.Dataset) -> str:
    """The text below the figure."""
    return (
        "|F|/(G + |F|): F of the residuals' part of the largest eigenvalue or its bounds (121), G "
        f"of the Gauss-Newton matrix; grey: half. Bands: 95 %, Student's t over "
        f"{data.sizes['draw']} draws; width {int(data['width'])}."
    )
