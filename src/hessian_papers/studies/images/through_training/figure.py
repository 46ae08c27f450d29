"""Networks through training: the trace by formula and by random probes, or top eigenvalues' errors.

The second picture has what the paper does not draw: the loss beside the trace, and their
difference in standard errors; the errors of a narrow network, of which the two index sets do not
hold the same largest sums, and those against the Gauss-Newton matrix, for which equation (15) is
exact.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.images.derived import quotient
from hessian_papers.studies.images.drawing import image_set
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
LOSS: Look = {"color": style.COLOURS["loss"], "linewidth": 1.0, "marker": "o", "markersize": 2}
FLOOR: Look = {"color": style.GREEN, "linestyle": "--", "linewidth": 1.0}
BAND: Look = {"color": style.GREY, "alpha": 0.2, "linewidth": 0}
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
DIFFERENCES = (
    style.entry("loss of least squares", **FLOOR),
    Patch(**BAND, label=f"±{DEVIATIONS:g} standard errors"),
)
ERRORS = (
    *(style.entry(WORDS[form], linewidth=1.2, **look) for form, look in LOOKS.items()),
    Patch(color=style.GREY, alpha=0.3, linewidth=0, label="range over the eigenvalues"),
)
BOUNDS = (style.entry("bound by the residual", **BOUND),)


class Row(NamedTuple):
    """A row of panels, one for each image set.

    Attributes:
        label: of the vertical axis.
        height: relative to the other rows.
        draw: draws the networks of an image set.
    """

    label: str
    height: float
    draw: Callable[[Axes, xr.Dataset], None]


def _panels(data: xr.Dataset, height: float, rows: Sequence[Row], keys: Iterable[Artist]) -> Figure:
    """Rows of panels against the epoch, a column for each image set; the height is of all rows."""
    sources = data["source"].values
    figure, grid = style.panels(
        len(rows),
        len(sources),
        height=height / len(rows),
        # More than four would be too narrow on a page; the figure is wider for them.
        width=max(min(style.FULL_WIDTH, 2.25 * len(sources) + 2.0), 1.6 * len(sources)),
        sharex="col",
        squeeze=False,
        height_ratios=[row.height for row in rows],
    )
    for column, letter, source in zip(grid.T, style.letters(), sources, strict=False):
        of_set = data.sel(source=source)
        for axes, row in zip(column, rows, strict=True):
            row.draw(axes, of_set)
            axes.set_ylabel(row.label)
        last = max(int(network["epoch"].max()) for network in networks(of_set))
        _epoch_axis(column[-1], last, narrow=len(sources) > 1)
        style.letter(column[0], f"({letter}) {image_set(source)}")
    figure.align_ylabels(grid)
    ncols = 4 if len(sources) > 1 else 2
    figure.legend(handles=[*keys], loc="outside upper center", ncols=ncols)
    return figure


def _epoch_axis(axes: Axes, last: int, *, narrow: bool) -> None:
    """Epochs in the logarithm from 1 on, with the start, epoch 0, at a distance of its own."""
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


def _draw_loss(axes: Axes, data: xr.Dataset) -> None:
    for network in networks(data):
        axes.plot(network["epoch"], network["loss"], **LOSS)
        axes.axhline(float(network["floor"]), **FLOOR)
    axes.set_ylim(bottom=0)


def _draw_differences(axes: Axes, data: xr.Dataset) -> None:
    for network in networks(data):
        axes.plot(network["epoch"], standardised(network), **POINT)
    axes.axhspan(-DEVIATIONS, DEVIATIONS, **BAND)
    axes.axhline(0, **EQUATION)
    limit = max(3.0, 1.1 * float(abs(standardised(data)).fillna(0).max()))
    axes.set_ylim(-limit, limit)


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


def _draw_bounded(axes: Axes, data: xr.Dataset) -> None:
    _draw_errors(axes, data)
    for network in networks(data.sel(matrix="hessian")):
        bound = 100 * quotient(weyl_bound(network), network["numerical"].min("rank"))
        axes.plot(network["epoch"], bound, **BOUND)


def _draw_gauss_newton(axes: Axes, data: xr.Dataset) -> None:
    for network in networks(data.sel(matrix="ggn")):
        for form, look in LOOKS.items():
            error = _percent(network).sel(form=form).max("rank")
            axes.plot(network["epoch"], error, linewidth=1.0, **look)
    style.logarithmic(axes)
    axes.set_ylim(SMALLEST / 3, 1e4)


def _of_width(width: int, draw: Callable[[Axes, xr.Dataset], None]) -> Callable[..., None]:
    """The drawing of the networks of one width alone."""
    return lambda axes, data: draw(axes, data.sel(width=width))


def draw(data: xr.Dataset) -> Figure:
    """The trace of each image set, or the errors of the top eigenvalues of the widest network."""
    if "estimate" in data:
        return _panels(data, 2.2, [Row("trace of the Hessian", 1.0, _draw_trace)], TRACES)
    label = f"error of top {data.sizes['rank']},\n% of each"
    row = Row(label, 1.0, _of_width(int(data["width"].max()), _draw_errors))
    return _panels(data, 2.3, [row], ERRORS)


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The loss and the differences beside the traces; all errors beside those of Figure 4."""
    if "estimate" in data:
        rows = [Row("loss", 0.65, _draw_loss)]
        rows += [Row("difference /\nstandard error", 0.9, _draw_differences)]
        return _panels(data, 2.8, rows, DIFFERENCES), TRACE_CONTROLS
    rows = []
    for width in data["width"].values.tolist():
        label = f"width {width}: error\nof top {data.sizes['rank']}, % of each"
        rows.append(Row(label, 1.4, _of_width(width, _draw_bounded)))
        rows.append(Row("Gauss-\nNewton, %", 0.6, _of_width(width, _draw_gauss_newton)))
    return _panels(data, 1.45 * len(rows), rows, (*ERRORS, *BOUNDS)), PAIR_CONTROLS


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
