"""The top eigenvalues of two-layer networks through training: how far equation (15) is from them.

A wide network, where both index sets hold the same largest sums, and a narrow one, where they do
not. Below each, the same error against the Gauss-Newton matrix, for which equation (15) is exact.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.images.drawing import columns, finish
from hessian_papers.studies.images.pair_sums_through_training.reading import (
    Indices,
    Matrix,
    Network,
    Reading,
)
from hessian_papers.studies.images.reading import quotient
from hessian_spectra.pictures import style

LOOKS: dict[Indices, dict[str, Any]] = {
    "printed": {"color": style.VERMILION, "marker": "s", "markersize": 6, "markerfacecolor": "w"},
    "corrected": {"color": style.BLUE, "marker": "o", "markersize": 3},
}
WORDS: dict[Indices, str] = {"printed": "indices in print", "corrected": "indices corrected"}
BOUND: dict[str, Any] = {"color": style.BLACK, "linestyle": "--", "linewidth": 1.0}
# An error of zero is drawn at the bottom of its axis.
SMALLEST = 1e-14


def _percent(network: Network, indices: Indices, matrix: Matrix) -> np.ndarray:
    """The errors in per cent, ``(t, k)``, where a logarithmic axis shows them."""
    return np.maximum(100 * network.errors(indices, matrix), SMALLEST)


def _draw_hessian(axes: Axes, network: Network) -> None:
    """Mean and range of the errors over the eigenvalues."""
    for indices, look in LOOKS.items():
        error = _percent(network, indices, "hessian")
        ends = np.nanmin(error, axis=1), np.nanmax(error, axis=1)
        axes.fill_between(network.epoch, *ends, color=look["color"], alpha=0.18, linewidth=0)
        axes.plot(network.epoch, np.nanmean(error, axis=1), linewidth=1.2, **look)
    bound = 100 * quotient(network.residual_bound, network["hessian"].min(axis=1))
    axes.plot(network.epoch, bound, **BOUND)


def _draw_gauss_newton(axes: Axes, network: Network) -> None:
    for indices, look in LOOKS.items():
        error = np.nanmax(_percent(network, indices, "ggn"), axis=1)
        axes.plot(network.epoch, error, linewidth=1.0, **look)


def _decades(axes: Axes, low: float, high: float, step: int) -> None:
    """A logarithmic axis of per cent with a tick each ``step`` decades."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    first, last = int(np.ceil(np.log10(low))), int(np.floor(np.log10(high)))
    style.mark(axes.yaxis, [10.0**power for power in range(last, first - 1, -step)], _percent_text)


def _percent_text(value: float) -> str:
    return f"{value:g} %" if 1e-3 <= value <= 1e3 else f"$10^{{{np.log10(value):.0f}}}$ %"


def _counts(axes: Axes, network: Network) -> None:
    """How many positive eigenvalues each index set has."""
    printed, corrected = (int(network.count(indices)[-1]) for indices in LOOKS)
    place: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 6.5, "va": "bottom"}
    if printed == corrected:
        axes.text(0.03, 0.02, f"{printed} positive eigenvalues,\nprinted or corrected", **place)
        return
    axes.text(0.03, 0.13, f"{corrected} positive eigenvalues", color=style.BLUE, **place)
    axes.text(0.03, 0.02, f"in print {printed}", color=style.VERMILION, **place)


def _draw_width(hessian: Axes, gauss_newton: Axes, networks: list[Network]) -> None:
    """The networks of one image set and width in their two panels."""
    for network in networks:
        _draw_hessian(hessian, network)
        _draw_gauss_newton(gauss_newton, network)
    lowest = min(np.nanmin(_percent(n, name, "hessian")) for n in networks for name in LOOKS)
    _decades(hessian, max(float(lowest), 1e-6) / 2, 200.0, 1)
    _decades(gauss_newton, SMALLEST / 3, 500.0, 7)
    _counts(hessian, networks[-1])


def draw(reading: Reading) -> Figure:
    """For each image set and width the errors against the Hessian and its Gauss-Newton part."""
    sets, widths = reading.image_sets, reading.widths
    figure, grid = columns(sets, 1.45, (1.4, 0.6) * len(widths))
    for column, networks in enumerate(sets.values()):
        for row, width in enumerate(widths):
            chosen = [network for network in networks if network.width == width]
            _draw_width(grid[2 * row, column], grid[2 * row + 1, column], chosen)
    hessian = [f"width {width}\nerror of top {reading.top}" for width in widths]
    rows = [text for item in hessian for text in (item, "Gauss-\nNewton")]
    handles = [
        *(style.entry(WORDS[n], linewidth=1.2, **look) for n, look in LOOKS.items()),
        Patch(color=style.GREY, alpha=0.3, linewidth=0, label="range over the eigenvalues"),
        style.entry("bound by the residual", **BOUND),
    ]
    return finish(figure, grid, rows, handles)


def caption(reading: Reading) -> str:
    """What is seen, how to read it, and the setting."""
    return (
        "With corrected indices eq. (15) has the largest Hessian eigenvalues as soon as the loss "
        "has come to its least, with the printed ones not where a network is narrower than its "
        f"outputs. Mean (line) and range (band) of its error over the {reading.top} largest "
        "eigenvalues; in the panels how many positive ones there are. The printed indices leave "
        "out σ_j²(W₂) + 0, of input directions that the first layer drops, and their error "
        "jumps at the epoch at which the first of these comes among the largest. Lower panels: "
        "largest error against the Gauss-Newton matrix, for which the corrected sums are exact. "
        "What the Hessian has beside it is at most ‖(f(X) − Y)Xᵀ/n‖ ≤ σ_x√(2(loss − least loss)) "
        "(dashed, Weyl's inequality): a narrow network, of lower rank than the least-squares "
        "solution, keeps it. Two-layer linear networks on whitened images."
    )
