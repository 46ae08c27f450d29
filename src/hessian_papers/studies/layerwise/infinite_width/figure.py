"""Pictures of quantities that tend to a limit with growing width, in print and in truth."""

import contextlib
import itertools
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
# The line of each law of the inputs, or of each number of classes, in turn.
LOOKS: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "marker": "o"},
    {"linestyle": ":", "marker": "s", "markerfacecolor": "none"},
    {"linestyle": "--", "marker": "^"},
)
LAWS = {"rectified": "rectified Gaussian inputs", "gaussian": "Gaussian inputs"}
NAMES = {PRINTED: "as printed", RIGHT: "given the weights"}
OF_TWO = {COPY: r"$M$ beside $M^*$", LAYER: r"$H$, of the first layer's weights"}


def _looks(data: xr.Dataset, along: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The labels along a dimension, each with the look of its lines."""
    yield from zip(data[along].values.tolist(), itertools.cycle(LOOKS))


def _lines(
    axes: Axes, data: xr.Dataset, along: str, name: str, colour: str, *, root: bool = False
) -> None:
    """The means over draws against the width, with intervals: a line for each label.

    On axes of logarithms a mean that is not positive is left out, and an interval ends at 1e-9.
    """
    for label, look in _looks(data, along):
        with contextlib.suppress(NothingToMeasure):
            own = measured(data.sel({along: label}), name)
            value, low, high = over_draws(own)
            if axes.get_yscale() == "log":
                low, value = np.maximum(low, 1e-9), np.where(value > 0, value, np.nan)
            if root:
                value, low, high = (np.sqrt(end) for end in (value, low, high))
            shown = np.isfinite(value)
            if shown.any():
                bars = np.array([value - low, high - value])[:, shown].clip(min=0)
                drawn: dict[str, Any] = {"markersize": 3, "elinewidth": 0.7, **look}
                axes.errorbar(own["width"][shown], value[shown], bars, color=colour, **drawn)


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


def _panels(
    data: xr.Dataset, labels: dict[str, str], names: dict[str, str], along: str, words: str
) -> tuple[Figure, Iterator[tuple[xr.Dataset, Any]]]:
    """A row of panels over the width for each α, with its data.

    Args:
        data: of the lines.
        labels: by what stands over a panel, what stands along its vertical axis.
        names: of the colours.
        along: the dimension that tells lines of a colour apart.
        words: how the legend says its labels.
    """
    alphas = np.sort(data["alpha"].values).tolist()
    figure, grid = style.panels(len(alphas), len(labels), height=2.5, squeeze=False)
    widths = data["width"].values.tolist()
    for alpha, row in zip(alphas, grid, strict=True):
        for axes, mark, (title, label) in zip(row, "abc", labels.items(), strict=True):
            axes.set_xscale("log", base=2)
            axes.set_xticks(widths, [f"{width:d}" for width in widths], fontsize=7)
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_yscale("log")
            axes.set_ylabel(label)
            if alpha == alphas[-1]:
                axes.set_xlabel("hidden units n")
            style.letter(axes, f"({mark}) {title}")
        if len(alphas) > 1:
            style.letter(row[0], f"{row[0].get_title(loc='left')}, α = {alpha:g}")
    handles = [style.entry(label, color=colour) for colour, label in names.items()]
    if data.sizes[along] > 1:
        black: dict[str, Any] = {"color": style.BLACK, "markersize": 3}
        handles += [
            style.entry(words.format(LAWS.get(label, label)), **black, **look)
            for label, look in _looks(data, along)
        ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure, zip((data.sel(alpha=alpha) for alpha in alphas), grid, strict=True)


def _drawn_law(data: xr.Dataset) -> xr.Dataset:
    """The paper's rectified inputs, or those that there are, by growing width."""
    laws = data["law"].values.tolist()
    return data.sel(law="rectified" if "rectified" in laws else laws[0]).sortby("width")


def draw(data: xr.Dataset) -> Figure:
    """The top spaces and eigenvalues of M and of H, of which the theorems speak."""
    labels = {
        "top space of M": "1 − overlap",
        "eigenvalues": r"$\lambda_c \, / \, \lambda_{c-1}$",
        "top spaces of H and Ĥ": "1 − overlap",
    }
    figure, rows = _panels(_drawn_law(data), labels, {**NAMES, **OF_TWO}, "classes", "{} classes")
    for own, (spaces, ratios, layer) in rows:
        for name, colour in (("printed_space", PRINTED), ("space", RIGHT), ("independence", COPY)):
            _lines(spaces, own, "classes", name, colour)
        _lines(ratios, own, "classes", "ratio", COPY)
        _lines(ratios, own, "classes", "layer_ratio", LAYER)
        _lines(layer, own, "classes", "layer", LAYER)
        for axes in (spaces, ratios, layer):
            _decades(axes)
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The form of M*, projections and logits, of which the lemmas speak, by law of the inputs."""
    data = data.sortby("width").isel(classes=0)
    labels = {
        "form of M*": "relative error",
        "projection": r"$\|W M W^\top\|^2 \, / \, \|M\|^2$",
        "law of the logits": r"relative error of E[$A$]",
    }
    figure, rows = _panels(data, labels, NAMES, "law", "{}")
    for own, (forms, norms, logits) in rows:
        norms.set_yscale("linear")
        _lines(norms, own, "law", "projected", RIGHT)
        for law, look in _looks(own, "law"):
            level = float(own["projected_limit"].sel(law=law))
            norms.axhline(level, color=RIGHT, linestyle=look["linestyle"], linewidth=0.8)
        norms.axhline(1.0, color=PRINTED, linewidth=0.8, linestyle="--")
        for axes, name in ((forms, "formula"), (logits, "softmax")):
            _lines(axes, own, "law", f"printed_{name}", PRINTED, root=True)
            _lines(axes, own, "law", name, RIGHT, root=True)
            _decades(axes)
    return figure, (
        f"With {int(data['classes'])} classes. (a) Error of eq. (8), with the units' probabilities "
        "$Π$ of being active and without. (b) Dashed: the limit of Lemma B.14; blue lines: those "
        "given the weights. (c) Error of $E[A]$ of logits with the law of Lemma B.10, and with "
        "that given the weights."
    )


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the setting."""
    classes = ", ".join(map(str, data["classes"].values.tolist()))
    alphas = data["alpha"].values.tolist()
    inputs = rf"$n^{{{1 + alphas[0]:g}}}$" if len(alphas) == 1 else r"$n^{1+α}$"
    return (
        f"ReLU classifiers, {LAWS[_drawn_law(data)['law'].item()]}, $c =$ {classes}, "
        f"$d =$ {inputs}, {int(data['samples'])} samples: means over {data.sizes['draw']} draws, "
        r"95 % intervals. (a) M's top space beside $R\lbrace W_i\rbrace ∖ \lbrace 1^⊤W\rbrace$, "
        r"$\lbrace Π W^⊤a: Σa = 0\rbrace$ and that of M*. (b) Ratio at the gap. (c) H beside $Ĥ$."
    )
