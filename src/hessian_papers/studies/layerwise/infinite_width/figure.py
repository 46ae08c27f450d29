"""What tends to its limit with growing width, what does not, and to what instead."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.infinite_width.derived import measured, over_draws
from hessian_spectra.pictures import style

# One colour for what is in print, one for what is right given the weights, wherever they stand.
PRINTED, RIGHT, COPY, LAYER = style.VERMILION, style.BLUE, style.GREEN, style.PURPLE
LOOKS: dict[str, dict[str, Any]] = {
    "rectified": {"linestyle": "-", "marker": "o"},
    "gaussian": {"linestyle": ":", "marker": "s", "markerfacecolor": "none"},
}
LAWS = {"rectified": "rectified Gaussian inputs", "gaussian": "Gaussian inputs"}
NAMES = {
    PRINTED: "as printed",
    RIGHT: "given the weights",
    COPY: r"$M$ beside $M^*$",
    LAYER: r"$H$, of the first layer's weights",
    style.GREY: "what the sampling would add",
}


def _by_law(data: xr.Dataset, name: str) -> Iterator[tuple[dict[str, Any], xr.DataArray]]:
    """A quantity under each law under which it is measured, and how the law looks."""
    for law in data["law"].values:
        with contextlib.suppress(NothingToMeasure):
            yield LOOKS[law], measured(data.sel(law=law), name)


def _line(axes: Axes, data: xr.Dataset, name: str, colour: str, *, root: bool = False) -> None:
    """The mean over draws of each law against the width, with its interval.

    On axes of logarithms a mean that is not positive is left out, and an interval ends at 1e-9.
    """
    for look, values in _by_law(data, name):
        value, low, high = over_draws(values)
        if axes.get_yscale() == "log":
            low = np.maximum(low, 1e-9)
            value = np.where(value > 0, value, np.nan)
        if root:
            value, low, high = (np.sqrt(end) for end in (value, low, high))
        shown = np.isfinite(value)
        if not shown.any():
            continue
        bars = np.array([value - low, high - value])[:, shown]
        axes.errorbar(
            values["width"].values[shown],
            value[shown],
            np.maximum(bars, 0),
            color=colour,
            markersize=3,
            elinewidth=0.7,
            **look,
        )


def _noise(axes: Axes, data: xr.Dataset, name: str, *, root: bool = False) -> None:
    """What the sampling alone would add, a grey line for each law."""
    for look, values in _by_law(data, name):
        noise = values.mean("draw")
        noise = noise[noise.values > 0]
        if noise.size:
            heights = np.sqrt(noise) if root else noise
            line = {"linestyle": look["linestyle"], "linewidth": 0.8}
            axes.plot(noise["width"], heights, color=style.GREY, **line)


def _decades(axes: Axes) -> None:
    """A logarithmic axis from a third of the smallest mean on: intervals may reach below 0."""
    shown = np.concatenate([np.zeros(0), *(line.get_ydata() for line in axes.lines)])
    if not shown.size:  # as of H, which Gaussian inputs lack
        return
    axes.set_ylim(bottom=shown.min() / 3)
    low, high = axes.get_ylim()
    if high / low < 100:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def _limits(axes: Axes, data: xr.Dataset) -> None:
    """The right limits of the projected norms, and the printed one."""
    for law in data["law"].values:
        look = {"linestyle": LOOKS[law]["linestyle"], "linewidth": 0.8}
        axes.axhline(float(data["projected_limit"].sel(law=law)), color=RIGHT, **look)
    axes.axhline(1.0, color=PRINTED, linewidth=0.8, linestyle="--")


def draw(data: xr.Dataset) -> Figure:
    """Spaces and gaps of M and H; errors of M* and of E[A]; norms of what is projected."""
    data = data.sortby("width")
    widths = data["width"].values
    figure, grid = style.panels(2, 3, height=2.3)
    spaces, gaps, layer, forms, norms, laws = grid.flat
    logarithmic = (spaces, gaps, layer, forms, laws)
    for axes in logarithmic:
        axes.set_yscale("log")
    for name, colour in (("printed_space", PRINTED), ("space", RIGHT), ("independence", COPY)):
        _line(spaces, data, name, colour)
    _line(gaps, data, "ratio", COPY)
    _line(gaps, data, "layer_ratio", LAYER)
    _line(layer, data, "layer", LAYER)
    _line(norms, data, "projected", RIGHT)
    for axes, name in ((forms, "formula"), (laws, "softmax")):
        _line(axes, data, f"printed_{name}", PRINTED, root=True)
        _line(axes, data, name, RIGHT, root=True)
    _noise(spaces, data, "space_noise")
    _noise(layer, data, "layer_noise")
    _noise(laws, data, "softmax_noise", root=True)
    _limits(norms, data)
    labels = {
        "top space of M": "1 − overlap",
        "eigenvalues": r"$\lambda_c \, / \, \lambda_{c-1}$",
        "top spaces of H and Ĥ": "1 − overlap",
        "form of M*": "relative error",
        "projection": r"$\|W M W^\top\|^2 \, / \, \|M\|^2$",
        "law of the logits": r"relative error of E[$A$]",
    }
    for axes, mark, (title, label) in zip(grid.flat, "abcdef", labels.items(), strict=True):
        axes.set_xscale("log", base=2)
        axes.set_xticks(widths, [f"{width:d}" for width in widths])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylabel(label)
        style.letter(axes, f"({mark}) {title}")
    for axes in logarithmic:
        _decades(axes)
    for axes in grid[1]:
        axes.set_xlabel("hidden units n")
    figure.legend(handles=_handles(data), loc="outside upper center", ncols=4)
    return figure


def _handles(data: xr.Dataset) -> list[Any]:
    lines = [style.entry(label, color=colour) for colour, label in NAMES.items()]
    black: dict[str, Any] = {"color": style.BLACK, "markersize": 3}
    return lines + [style.entry(LAWS[law], **black, **LOOKS[law]) for law in data["law"].values]


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    classes, samples = int(data["classes"]), int(data["samples"])
    return (
        "What is said of infinite width holds closely at finite width once the units' "
        "probabilities of being active are in it. "
        f"Two-layer ReLU classifiers with c = {classes} classes and n hidden units at "
        f"initialisation: means over {data.sizes['draw']} draws of the weights with Student's 95 % "
        "intervals, "
        f"expectations over {samples} inputs in two halves, whose products leave the sampling's "
        "squared error out; grey: what it would add. (a) Overlap of the top (c−1)-space of the "
        "output Hessian M with R{W_i} \\ {1ᵀW}, with {Π Wᵀa: Σa = 0}, Π the units' "
        "probabilities of being active, and with that of M*; with Gaussian inputs both forms are "
        "one. (b) The ratio λ_c/λ_(c−1) of M and of H. (c) Overlap of the top spaces of H and its "
        "Kronecker approximation Ĥ. (d) Error of eq. (8), with Π and without. (e) Dashed: Lemma "
        "B.14, blue lines: the limits given the weights. (f) Error of E[A] of logits with the law "
        "of Lemma B.10, and with that given the weights."
    )
