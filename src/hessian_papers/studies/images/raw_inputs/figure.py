"""The sharpness on raw inputs through training, measured and by formulas, and what is learnt.

Above, a panel an image set: the measured sharpness, the formula of the product, which lies on it
once the residual is small, what can be learnt in time, and least squares. Below: how much of the
loss is removed in the eigendirections of the second moments, by eigenvalue times time.
"""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.image_names import image_set
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.images.derived import quotient
from hessian_spectra.pictures import style

Look = dict[str, Any]
COLOURS = (style.BLUE, style.GREEN, style.ORANGE, style.VERMILION)
MEASURED: Look = {"linestyle": "none", "marker": "o", "markersize": 2.8}
PRODUCT: Look = {"linewidth": 1.0}
CUT: Look = {"linewidth": 0.8, "linestyle": ":"}
LIMIT: Look = {"linewidth": 0.9, "linestyle": "--"}
LABELS: Look = {"linewidth": 0.9, "linestyle": "-."}
# The place of epoch 0 on a logarithmic axis.
START = 0.4
KINDS = {
    "measured": MEASURED,
    "formula of the product": PRODUCT,
    r"least squares where $\mu t \geq 1$": CUT,
    "least squares": LIMIT,
    "labels alone, eq. (14)": LABELS,
}


def _shown(data: xr.Dataset) -> xr.Dataset:
    """The networks of the paper's depth, which comes first, that did not diverge.

    Raises:
        NothingToMeasure: all did.
    """
    own = data.isel(depth=0)
    if own["diverged"].all():
        raise NothingToMeasure("no network has a sharpness: all diverged")
    return own


def _mean(values: xr.DataArray) -> xr.DataArray:
    """The geometric mean over replicates."""
    positive = values.where(values > 0)
    return xr.apply_ufunc(np.exp, xr.apply_ufunc(np.log, positive).mean("replicate"))


def _course(axes: Axes, data: xr.Dataset) -> None:
    """The sharpness over the epochs, a colour for each share."""
    epochs = data["epoch"].values.astype(float)
    x = np.where(epochs > 0, epochs, START)
    for colour, share in zip(COLOURS, data["share"].values, strict=False):
        own = data.sel(share=share)
        axes.plot(x, _mean(own["sharpness"]), color=colour, **MEASURED)
        axes.plot(x, _mean(own["product"]), color=colour, **PRODUCT)
        axes.plot(x, _mean(own["cut"]), color=colour, **CUT)
        axes.axhline(float(_mean(own["limit"])), color=colour, **LIMIT)
        axes.axhline(float(_mean(own["labels"])), color=colour, **LABELS)
    axes.set_xscale("log")
    axes.set_yscale("log")
    powers = range(1, int(np.ceil(np.log10(max(epochs[-1], 10.0)))) + 1)
    style.mark(axes.xaxis, [START, *(10.0**power for power in powers)], _epoch)
    axes.set_xlim(START / 1.5, epochs[-1] * 1.5)
    axes.set_xlabel("epoch")
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")


def _epoch(place: float) -> str:
    return "0" if place < 1 else f"$10^{{{np.log10(place):.0f}}}$"


def _directions(axes: Axes, data: xr.Dataset) -> None:
    """The part of the loss that is removed, in the middle of each decade."""
    learnt = data["learnt"].isel(epoch=-1)
    middle = 10.0 ** (data["decade"].values + 0.5)
    for colour, share in zip(COLOURS, data["share"].values, strict=False):
        means = learnt.sel(share=share).mean("replicate")
        known = means.notnull().values
        axes.plot(middle[known], means[known], color=colour, marker="o", markersize=3, linewidth=1)
    axes.axvline(1.0, color=style.GREY, **LIMIT)
    axes.set_xscale("log")
    axes.set_ylim(-0.05, 1.05)
    axes.set_xlabel(r"eigenvalue of $S$ times time, $\mu t$")
    axes.set_ylabel("learnt part of the loss")


def draw(data: xr.Dataset) -> Figure:
    """A column an image set: the course of the sharpness, and what is learnt.

    Raises:
        NothingToMeasure: all networks diverged.
    """
    shown, sources = _shown(data), data["source"].values.tolist()
    number = len(sources)
    width = style.FULL_WIDTH if number > 1 else 3.6
    taller = {"height_ratios": [3, 2]}
    figure, grid = style.panels(
        2, number, height=2.7, width=width, squeeze=False, gridspec_kw=taller
    )
    letters = style.letters()
    for row, drawn in zip(grid, (_course, _directions), strict=True):
        for axes, source in zip(row, sources, strict=True):
            drawn(axes, shown.sel(source=source))
            style.letter(axes, f"({next(letters)}) {image_set(source)}")
    kinds = [style.entry(name, color=style.BLACK, **look) for name, look in KINDS.items()]
    shares = [
        style.entry(f"share {share:g}", color=colour, linewidth=2)
        for colour, share in zip(COLOURS, data["share"].values, strict=False)
    ]
    figure.legend(
        handles=[*kinds, *shares], loc="outside upper center", ncols=3 if number > 1 else 2
    )
    return figure


def caption(data: xr.Dataset) -> str:
    """The marks of the figure, and the setting."""
    shown = _shown(data)
    return (
        f"{int(shown['depth'])} linear layers on {int(data['samples'])} raw images, by the share "
        "of one class; means of replicates. Above: the Hessian's largest eigenvalue and four "
        "formulas. Below: how much of the loss is removed in the eigendirections of S."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The deviation of the product's formula, for each number of layers."""
    _shown(data)
    deviation = abs(quotient(data["product"], data["sharpness"]) - 1).max("share").clip(min=1e-9)
    panels = [
        Panel(
            image_set(source),
            "epoch",
            [
                named(
                    deviation.sel(source=source, drop=True).isel(epoch=slice(1, None)),
                    "deviation of the formula",
                )
            ],
            lambda axes: axes.set_xscale("log"),
        )
        for source in data["source"].values.tolist()
    ]
    return picture(panels), CONTROLS


CONTROLS = (
    "The product's formula relative to the measured sharpness, the largest deviation of all "
    "shares; thin: each replicate. It falls as the residual does, to what finite steps leave of "
    "balance."
)
