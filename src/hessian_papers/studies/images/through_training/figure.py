"""Networks through training: the trace by formula and by random probes, or top eigenvalues' errors.

The second picture has what the paper does not draw: the loss beside the trace, and their
difference in standard errors; the errors of a narrow network, of which the two index sets do not
hold the same largest sums, and those against the Gauss-Newton matrix, for which equation (15) is
exact.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_papers.image_names import image_set
from hessian_papers.studies.images.derived import quotient
from hessian_papers.studies.images.through_training.derived import (
    Form,
    errors,
    networks,
    standardised,
    weyl_bound,
)
from hessian_spectra.pictures import style

Look = dict[str, Any]
POINT: Look = {"linestyle": "none", "marker": "o", "markersize": 3.5, "color": style.BLACK}
EQUATION: Look = {"color": style.COLOURS["trace"], **style.EXACT}
BOUND: Look = {"color": style.BLACK, "linestyle": "--", "linewidth": 1.0}
LOOKS: dict[Form, Look] = {
    "printed": {"color": style.VERMILION, "marker": "s", "markersize": 6, "markerfacecolor": "w"},
    "corrected": {"color": style.BLUE, "marker": "o", "markersize": 3},
}
WORDS: dict[Form, str] = {"printed": "indices in print", "corrected": "indices corrected"}
# A Gaussian error is within two standard errors 95 times in 100.
DEVIATIONS = 2.0
# An error of zero is drawn at the bottom of its axis.
SMALLEST = 1e-14

TRACES = (
    style.entry("Hutchinson ± standard error", **POINT),
    style.entry("equation (7)", **EQUATION),
)
ERRORS = (
    *(style.entry(WORDS[form], linewidth=1.2, **look) for form, look in LOOKS.items()),
    Patch(color=style.GREY, alpha=0.3, linewidth=0, label="range over the eigenvalues"),
)
# Of the second picture.
SECOND: dict[str, Look] = {
    **{form: look | {"label": WORDS[form]} for form, look in LOOKS.items()},
    "errors": {"label": ""},
    "bound": BOUND | {"label": "bound by the residual"},
    "loss": {"label": "", "marker": "o", "markersize": 2},
    "floor": {"color": style.GREEN, "label": "loss of least squares"},
    "difference": POINT | {"label": ""},
    "zero": EQUATION | {"label": "", "linestyle": "-"},
    "ends": {"label": f"±{DEVIATIONS:g} standard errors", "linestyle": ":"},
}


def _panels(
    data: xr.Dataset,
    height: float,
    label: str,
    draw: Callable[[Axes, xr.Dataset], None],
    keys: Sequence[Artist],
) -> Figure:
    """A panel against the epoch for each image set."""
    sources = data["source"].values
    # More than four would be too narrow on a page; the figure is wider for them.
    width = max(min(style.FULL_WIDTH, 2.25 * len(sources) + 2.0), 1.6 * len(sources))
    figure, (panels,) = style.panels(1, len(sources), height=height, width=width, squeeze=False)
    for axes, letter, source in zip(panels, style.letters(), sources, strict=False):
        draw(axes, data.sel(source=source))
        axes.set_ylabel(label)
        _epoch_axis(axes, data.sel(source=source), narrow=len(sources) > 1)
        style.letter(axes, f"({letter}) {image_set(source)}")
    ncols = 4 if len(sources) > 1 else 2
    figure.legend(handles=keys, loc="outside upper center", ncols=ncols)
    return figure


def _epoch_axis(axes: Axes, data: xr.Dataset, *, narrow: bool) -> None:
    """Epochs in the logarithm from 1 on, with the start, epoch 0, at a distance of its own."""
    last = max(int(network["epoch"].max()) for network in networks(data))
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    decades = int(np.ceil(np.log10(max(last, 10))))
    step = 2 if narrow else 1
    style.mark(axes.xaxis, [0, *(10**d for d in range(0, decades + 1, step))], _power)
    axes.set_xlim(-0.3, last * 1.6)
    axes.set_xlabel("epoch")


def _power(epoch: float) -> str:
    return f"{epoch:.0f}" if epoch <= 1 else f"$10^{{{np.log10(epoch):.0f}}}$"


def _draw_trace(axes: Axes, data: xr.Dataset) -> None:
    for network in networks(data):
        bars, look = network["standard_error"], POINT | {"elinewidth": 0.9, "capsize": 2}
        axes.errorbar(network["epoch"], network["estimate"], bars, **look)
        axes.plot(network["epoch"], network["trace"], zorder=3, **EQUATION)


def _percent(data: xr.Dataset) -> xr.DataArray:
    """The errors in per cent, where a logarithmic axis shows them."""
    return (100 * errors(data)).clip(min=SMALLEST)


def _draw_errors(axes: Axes, data: xr.Dataset) -> None:
    """Mean and range over the eigenvalues of the Hessian, and how many are positive."""
    of_hessian = data.sel(matrix="hessian")
    for network in networks(of_hessian):
        for form, look in LOOKS.items():
            error = _percent(network).sel(form=form)
            ends = error.min("rank"), error.max("rank")
            axes.fill_between(network["epoch"], *ends, color=look["color"], alpha=0.18, linewidth=0)
            axes.plot(network["epoch"], error.mean("rank"), linewidth=1.2, **look)
    style.logarithmic(axes)
    axes.set_ylim(max(float(_percent(of_hessian).min()), 1e-6) / 4, 200.0)
    place: Look = {"transform": axes.transAxes, "fontsize": 6.5, "va": "bottom"}
    counts = networks(data)[-1]["count"].isel(epoch=-1)
    printed, corrected = (int(counts.sel(form=form)) for form in LOOKS)
    if printed == corrected:
        axes.text(0.03, 0.02, f"{printed} positive,\nprinted or corrected", **place)
        return
    axes.text(0.03, 0.13, f"{corrected} positive", color=style.BLUE, **place)
    axes.text(0.03, 0.02, f"in print {printed}", color=style.VERMILION, **place)


def draw(data: xr.Dataset) -> Figure:
    """The trace of each image set, or the errors of the top eigenvalues of the widest network."""
    if "estimate" in data:
        return _panels(data, 2.2, "trace of the Hessian", _draw_trace, TRACES)
    label = f"error of top {data.sizes['rank']},\n% of each"
    return _panels(data.sel(width=data["width"].max()), 2.3, label, _draw_errors, ERRORS)


def _losses(data: xr.Dataset) -> Iterator[xr.DataArray]:
    """The loss of each network, and that of least squares."""
    for network in networks(data):
        yield from (named(network["loss"], "loss"), network["floor"])


def _differences(data: xr.Dataset) -> Iterator[xr.DataArray]:
    """The differences of estimates and formula, and where nearly all of them should be."""
    for network in networks(data):
        yield named(standardised(network).rename("difference"), "difference / standard error")
    for name, level in (("zero", 0.0), ("ends", DEVIATIONS), ("ends", -DEVIATIONS)):
        yield xr.DataArray(level, name=name)


def _bounded(data: xr.Dataset) -> Iterator[xr.DataArray]:
    """Mean and range of each network's errors, and their bound."""
    for network in networks(data.sel(matrix="hessian")):
        error = _percent(network)
        ends = (getattr(error, of)("rank") for of in ("mean", "min", "max"))
        yield named(banded(*ends).rename("errors"), f"error of top {data.sizes['rank']}, % of each")
        bound = 100 * quotient(weyl_bound(network), network["numerical"].min("rank"))
        yield bound.rename("bound")


def _of_gauss_newton(data: xr.Dataset) -> Iterator[xr.DataArray]:
    """The largest error of each network against its Gauss-Newton matrix."""
    for network in networks(data.sel(matrix="ggn")):
        yield named(_percent(network).max("rank").rename("errors"), "Gauss-Newton, %")


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The loss and the differences beside the traces; all errors beside those of Figure 4."""
    traces, sources = "estimate" in data, data["source"].values
    rows = [(data, "", values) for values in (_losses, _differences)] if traces else [
        (data.sel(width=width), f", width {width}", values)
        for width in data["width"].values
        for values in (_bounded, _of_gauss_newton)
    ]  # fmt: skip
    panels = []
    for (networks_of_row, words, values), source in itertools.product(rows, sources):
        own = networks_of_row.sel(source=source)
        axis = partial(_epoch_axis, data=own, narrow=len(sources) > 1)
        panels.append(Panel(f"{image_set(source)}{words}", "epoch", [*values(own)], axis))
    text = TRACE_CONTROLS if traces else PAIR_CONTROLS
    return picture(panels, SECOND, columns=len(sources)), text


TRACE_CONTROLS = (
    "The loss (dashed: that of least squares, below which no linear network comes), and the "
    "difference of estimate and equation (7) in standard errors. What the Hessian has beside its "
    "Gauss-Newton part has trace 0, so the two agree early, when the loss is high, as well as late."
)
PAIR_CONTROLS = (
    "Errors as in the figure, of each width; below them the largest against the Gauss-Newton "
    "matrix, for which the corrected sums are exact. Dashed: Weyl's inequality, by which the "
    "Hessian's eigenvalues are at most "
    r"$‖(f(X) - Y)X^⊤/n‖ ≤ σ_x \sqrt{2(\text{loss} - \text{least loss})}$ from these. A network "
    "narrower than its outputs keeps that residual; its error in print jumps when a sum "
    "$σ_j^2(W_2) + 0$ comes among the largest."
)


def _size(data: xr.Dataset) -> str:
    """The numbers of a set's images and features, and whether nothing is left to chance."""
    known = standardised(data).notnull().any()
    exact = "" if known else ", of which all random probes give the same trace"
    first = networks(data)[0]
    return f"{int(first['samples'])} images of {int(first['features'])} independent features{exact}"


def caption(data: xr.Dataset) -> str:
    """The marks of the figure, and the setting."""
    if "estimate" in data:
        sources = zip(style.letters(), data["source"].values, strict=False)
        sizes = (f"({letter}) {_size(data.sel(source=source))}" for letter, source in sources)
        return (
            "Deep linear networks on whitened images during training: the Hessian's trace by "
            "Hutchinson's method (points; bars: one standard error) and by equation (7) (line, on "
            f"top). {'; '.join(sizes)}."
        )
    return (
        "Two-layer linear networks on whitened images during training: mean (line) and range "
        f"(band) of equation (15)'s relative error over the {data.sizes['rank']} largest Hessian "
        "eigenvalues. In the panels: the number of positive ones, by the printed and the "
        "corrected indices."
    )
