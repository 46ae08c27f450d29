"""The top eigenvalues of two-layer networks through training: how far equation (15) is from them.

A wide network, where both index sets hold the same largest sums, and a narrow one, where they do
not. Below each, the same error against the Gauss-Newton matrix, for which equation (15) is exact.
"""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.images.derived import quotient
from hessian_papers.studies.images.drawing import columns, finish
from hessian_papers.studies.images.pair_sums_through_training.derived import (
    Form,
    errors,
    networks,
    weyl_bound,
)
from hessian_spectra.pictures import style

LOOKS: dict[Form, dict[str, Any]] = {
    "printed": {"color": style.VERMILION, "marker": "s", "markersize": 6, "markerfacecolor": "w"},
    "corrected": {"color": style.BLUE, "marker": "o", "markersize": 3},
}
WORDS: dict[Form, str] = {"printed": "indices in print", "corrected": "indices corrected"}
BOUND: dict[str, Any] = {"color": style.BLACK, "linestyle": "--", "linewidth": 1.0}
# An error of zero is drawn at the bottom of its axis.
SMALLEST = 1e-14


def _percent(data: xr.Dataset) -> xr.DataArray:
    """The errors in per cent, where a logarithmic axis shows them."""
    return (100 * errors(data)).clip(min=SMALLEST)


def _draw_hessian(axes: Axes, network: xr.Dataset) -> None:
    """Mean and range of the errors over the eigenvalues."""
    for form, look in LOOKS.items():
        error = _percent(network).sel(form=form)
        ends = error.min("rank"), error.max("rank")
        axes.fill_between(network["epoch"], *ends, color=look["color"], alpha=0.18, linewidth=0)
        axes.plot(network["epoch"], error.mean("rank"), linewidth=1.2, **look)
    bound = 100 * quotient(weyl_bound(network), network["numerical"].min("rank"))
    axes.plot(network["epoch"], bound, **BOUND)


def _draw_gauss_newton(axes: Axes, network: xr.Dataset) -> None:
    for form, look in LOOKS.items():
        error = _percent(network).sel(form=form).max("rank")
        axes.plot(network["epoch"], error, linewidth=1.0, **look)


def _decades(axes: Axes, low: float, high: float, step: int) -> None:
    """A logarithmic axis of per cent with a tick each ``step`` decades."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    first, last = int(np.ceil(np.log10(low))), int(np.floor(np.log10(high)))
    style.mark(axes.yaxis, [10.0**power for power in range(last, first - 1, -step)], _percent_text)


def _percent_text(value: float) -> str:
    return f"{value:g} %" if 1e-3 <= value <= 1e3 else f"$10^{{{np.log10(value):.0f}}}$ %"


def _counts(axes: Axes, network: xr.Dataset) -> None:
    """How many positive eigenvalues each index set has."""
    printed, corrected = (int(network["count"].sel(form=form).isel(epoch=-1)) for form in LOOKS)
    place: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 6.5, "va": "bottom"}
    if printed == corrected:
        axes.text(0.03, 0.02, f"{printed} positive eigenvalues,\nprinted or corrected", **place)
        return
    axes.text(0.03, 0.13, f"{corrected} positive eigenvalues", color=style.BLUE, **place)
    axes.text(0.03, 0.02, f"in print {printed}", color=style.VERMILION, **place)


def _draw_width(hessian: Axes, gauss_newton: Axes, data: xr.Dataset) -> None:
    """The networks of one image set and width in their two panels."""
    of_hessian, of_gauss_newton = (data.sel(matrix=matrix) for matrix in ("hessian", "ggn"))
    for network in networks(of_hessian):
        _draw_hessian(hessian, network)
    for network in networks(of_gauss_newton):
        _draw_gauss_newton(gauss_newton, network)
    _decades(hessian, max(float(_percent(of_hessian).min()), 1e-6) / 2, 200.0, 1)
    _decades(gauss_newton, SMALLEST / 3, 500.0, 7)
    _counts(hessian, networks(data)[-1])


def draw(data: xr.Dataset) -> Figure:
    """For each image set and width the errors against the Hessian and its Gauss-Newton part."""
    widths = data["width"].values
    figure, grid = columns(data, 1.45, (1.4, 0.6) * len(widths))
    for axes, source in zip(grid.T, data["source"].values, strict=True):
        for (hessian, gauss_newton), width in zip(axes.reshape(-1, 2), widths, strict=True):
            _draw_width(hessian, gauss_newton, data.sel(source=source, width=width))
    titles = [f"width {width}\nerror of top {data.sizes['rank']}" for width in widths]
    rows = [text for item in titles for text in (item, "Gauss-\nNewton")]
    handles = [
        *(style.entry(WORDS[n], linewidth=1.2, **look) for n, look in LOOKS.items()),
        Patch(color=style.GREY, alpha=0.3, linewidth=0, label="range over the eigenvalues"),
        style.entry("bound by the residual", **BOUND),
    ]
    return finish(figure, grid, rows, handles)


def caption(data: xr.Dataset) -> str:
    """What is seen, how to read it, and the setting."""
    return (
        "With corrected indices eq. (15) has the largest Hessian eigenvalues as soon as the loss "
        "has come to its least, with the printed ones not where a network is narrower than its "
        f"outputs. Mean (line) and range (band) of its error over the {data.sizes['rank']} largest "
        "eigenvalues; in the panels how many positive ones there are. The printed indices leave "
        "out σ_j²(W₂) + 0, of input directions that the first layer drops, and their error "
        "jumps at the epoch at which the first of these comes among the largest. Lower panels: "
        "largest error against the Gauss-Newton matrix, for which the corrected sums are exact. "
        "What the Hessian has beside it is at most ‖(f(X) − Y)Xᵀ/n‖ ≤ σ_x√(2(loss − least loss)) "
        "(dashed, Weyl's inequality): a narrow network, of lower rank than the least-squares "
        "solution, keeps it. Two-layer linear networks on whitened images."
    )
