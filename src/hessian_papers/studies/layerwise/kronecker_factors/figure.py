"""Errors of Kronecker products, and of their steps, from the start of a training to its end."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from hessian_papers.formulas import raised
from hessian_papers.studies.layerwise.kronecker_factors.derived import middle_damping
from hessian_papers.studies.layerwise.layers import own_layers
from hessian_spectra.pictures import style

Look = Mapping[str, Any]
Looks = Mapping[str, Look]
DASHED: Look = {"linestyle": "--", "fillstyle": "none"}
PRODUCTS: Looks = {
    "expand": style.look(style.VERMILION, "o", "KFAC's, as in the paper (expand)"),
    "reduce": style.look(style.ORANGE, "s", "sums over positions (reduce)"),
    "weighted": style.look(style.BLUE, "^", "weighted by curvature"),
    "nearest": style.look(style.BLACK, "v", "nearest in the Frobenius norm"),
}
EKFAC, SOAP = "KFAC's, eigenvalues corrected (EKFAC)", "weighted, eigenvalues corrected (SOAP's)"
CORRECTED: Looks = {
    "expand, corrected": style.look(style.VERMILION, "o", EKFAC, **DASHED),
    "weighted, corrected": style.look(style.BLUE, "^", SOAP, **DASHED),
}
PLAIN = {"color": style.GREY, "linestyle": ":", "label": "the gradient itself"}


# Losses that are drawn end here.
LEAST = 1e-12


def _curve(axes: Axes, losses: xr.DataArray, values: xr.DataArray, look: Look) -> None:
    """The mean over seeds by the mean loss, with the range."""
    mean, low, high = (getattr(values, of)("seed") for of in ("mean", "min", "max"))
    axes.plot(losses, mean, markersize=3, **{**look, "label": None})
    axes.fill_between(losses, low, high, color=look["color"], alpha=0.15, linewidth=0)


def _shown(data: xr.Dataset, looks: Looks) -> Looks:
    """The forms that some layer has: sums over positions are of convolutions alone."""
    some = bool(data["convolution"].any())
    return {form: look for form, look in looks.items() if some or form != "reduce"}


def _drawn(data: xr.Dataset, name: str, looks: Looks, label: str) -> tuple[Figure, list[Axes]]:
    """A panel for each layer, a row for each network; one number of all forms by the loss."""
    rows = {name: own_layers(data.sel(network=name)) for name in data["network"].values.tolist()}
    columns = max(own.sizes["layer"] for own in rows.values())
    figure, grid = style.panels(
        len(rows), columns, height=1.7 if len(rows) > 1 else 2.3, squeeze=False
    )
    letters, panels = style.letters(), []
    for (network, own), row in zip(rows.items(), grid, strict=True):
        losses = own["loss"].mean("seed").clip(min=LEAST)
        for axes, layer in zip(row, own["layer"].values, strict=False):
            values = own.sel(layer=layer)
            for form, look in looks.items():
                if form != "reduce" or values["convolution"]:
                    _curve(axes, losses, values[name].sel(form=form), look)
            if name == "decrease":
                _curve(axes, losses, values["plain_decrease"], PLAIN)
            axes.set_xscale("log")
            axes.invert_xaxis()
            axes.xaxis.set_major_locator(LogLocator(numticks=3))
            axes.xaxis.set_minor_locator(NullLocator())
            style.letter(axes, f"({next(letters)}) {layer}")
            axes.set_xlabel("loss, falling")
            panels.append(axes)
        for axes in row[own.sizes["layer"] :]:
            axes.remove()
        row[0].set_ylabel(f"{raised(network)}\n{label}")
    return figure, panels


def draw(data: xr.Dataset) -> Figure:
    """The spectral error of each product."""
    looks = _shown(data, PRODUCTS)
    figure, panels = _drawn(data, "spectral", looks, "error over the norm")
    errors = data["spectral"].sel(form=list(looks))
    for axes in panels:
        axes.axhline(1, color=style.GREY, linewidth=0.6)
        axes.set_yscale("log")
        # All of each band: the errors of single networks reach far above the mean.
        axes.set_ylim(float(errors.min()) / 1.2, max(float(errors.max()), 1.0) * 1.2)
    handles = [style.entry(**look) for look in looks.values()]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the setting."""
    return (
        "Spectral norm of a Kronecker product minus the Hessian of a layer, over that of the "
        f"Hessian, from initialisation to the end; means over {data.sizes['seed']} networks, "
        f"shaded their range. Line: the error of the zero matrix. {int(data['images'])} images."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The decrease along the step of each form."""
    looks = _shown(data, {**PRODUCTS, **CORRECTED})
    damping = middle_damping(data)
    figure, panels = _drawn(data.sel(damping=damping), "decrease", looks, "decrease")
    for axes in panels:
        axes.set_ylim(0, 1.03)
    handles = [style.entry(**look) for look in (*looks.values(), PLAIN)]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure, (
        "Decrease of the quadratic model along the damped step of each form, at its best length, "
        f"over that of the exact step. The damping is {damping:g} of the largest eigenvalue."
    )
