"""Pictures of quantities that tend to a limit with growing width, in print and in truth."""

import contextlib
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
NAMES = {PRINTED: "as printed", RIGHT: "given the weights"}
OF_TWO = {COPY: r"$M$ beside $M^*$", LAYER: r"$H$, of the first layer's weights"}


def _line(axes: Axes, data: xr.Dataset, name: str, colour: str, *, root: bool = False) -> None:
    """The mean over draws of each law against the width, with its interval.

    On axes of logarithms a mean that is not positive is left out, and an interval ends at 1e-9.
    """
    for law in np.atleast_1d(data["law"].values):
        with contextlib.suppress(NothingToMeasure):
            own = measured(data.sel(law=law) if "law" in data.dims else data, name)
            value, low, high = over_draws(own)
            if axes.get_yscale() == "log":
                low, value = np.maximum(low, 1e-9), np.where(value > 0, value, np.nan)
            if root:
                value, low, high = (np.sqrt(end) for end in (value, low, high))
            shown = np.isfinite(value)
            if shown.any():
                bars = np.array([value - low, high - value])[:, shown].clip(min=0)
                look: dict[str, Any] = {"markersize": 3, "elinewidth": 0.7, **LOOKS[law]}
                axes.errorbar(own["width"][shown], value[shown], bars, color=colour, **look)


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


def _panels(data: xr.Dataset, labels: dict[str, str], names: dict[str, str]) -> tuple[Figure, Any]:
    """Panels over the width, by what stands over them and along their vertical axis."""
    figure, row = style.panels(1, len(labels), height=2.5)
    for axes, mark, (title, label) in zip(row, "abc", labels.items(), strict=True):
        axes.set_xscale("log", base=2)
        axes.set_xticks(data["width"].values, [f"{width:d}" for width in data["width"].values])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_yscale("log")
        axes.set_xlabel("hidden units n")
        axes.set_ylabel(label)
        style.letter(axes, f"({mark}) {title}")
    handles = [style.entry(label, color=colour) for colour, label in names.items()]
    if data["law"].ndim:
        black: dict[str, Any] = {"color": style.BLACK, "markersize": 3}
        handles += [style.entry(LAWS[law], **black, **LOOKS[law]) for law in data["law"].values]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure, row


def _drawn_law(data: xr.Dataset) -> xr.Dataset:
    """The paper's rectified inputs, or those that there are, by growing width."""
    laws = data["law"].values.tolist()
    return data.sel(law="rectified" if "rectified" in laws else laws[0]).sortby("width")


def draw(data: xr.Dataset) -> Figure:
    """The top spaces and eigenvalues of M and of H, of which the theorems speak."""
    data = _drawn_law(data)
    labels = {
        "top space of M": "1 − overlap",
        "eigenvalues": r"$\lambda_c \, / \, \lambda_{c-1}$",
        "top spaces of H and Ĥ": "1 − overlap",
    }
    figure, (spaces, ratios, layer) = _panels(data, labels, {**NAMES, **OF_TWO})
    for name, colour in (("printed_space", PRINTED), ("space", RIGHT), ("independence", COPY)):
        _line(spaces, data, name, colour)
    _line(ratios, data, "ratio", COPY)
    _line(ratios, data, "layer_ratio", LAYER)
    _line(layer, data, "layer", LAYER)
    for axes in (spaces, ratios, layer):
        _decades(axes)
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The form of M*, projections and logits, of which the lemmas speak, by law of the inputs."""
    data = data.sortby("width")
    labels = {
        "form of M*": "relative error",
        "projection": r"$\|W M W^\top\|^2 \, / \, \|M\|^2$",
        "law of the logits": r"relative error of E[$A$]",
    }
    figure, (forms, norms, logits) = _panels(data, labels, NAMES)
    norms.set_yscale("linear")
    _line(norms, data, "projected", RIGHT)
    for law in data["law"].values:
        look = {"linestyle": LOOKS[law]["linestyle"], "linewidth": 0.8}
        norms.axhline(float(data["projected_limit"].sel(law=law)), color=RIGHT, **look)
    norms.axhline(1.0, color=PRINTED, linewidth=0.8, linestyle="--")
    for axes, name in ((forms, "formula"), (logits, "softmax")):
        _line(axes, data, f"printed_{name}", PRINTED, root=True)
        _line(axes, data, name, RIGHT, root=True)
        _decades(axes)
    return figure, (
        "(a) Error of eq. (8), with the units' probabilities $Π$ of being active and without. (b) "
        "Dashed: the limit of Lemma B.14; blue lines: those given the weights. (c) Error of "
        "$E[A]$ of logits with the law of Lemma B.10, and with that given the weights."
    )


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the setting."""
    classes, samples = int(data["classes"]), int(data["samples"])
    return (
        f"Two-layer ReLU classifiers, {LAWS[_drawn_law(data)['law'].item()]}, $c =$ {classes}, "
        f"{samples} inputs: means over {data.sizes['draw']} draws, 95 % intervals. (a) M's top "
        r"space beside $R\lbrace W_i\rbrace ∖ \lbrace 1^⊤W\rbrace$, $\lbrace Π W^⊤a: Σa = "
        r"0\rbrace$ and that of M*. (b) Ratio at the gap. (c) H beside $Ĥ$."
    )
