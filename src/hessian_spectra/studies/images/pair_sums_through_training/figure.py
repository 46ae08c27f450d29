"""The top eigenvalues of two-layer networks through training: how far equation (15) is from them.

A wide network, where both index sets hold the same largest sums, and a narrow one, where they do
not. Below each, the same error against the Gauss-Newton matrix, for which equation (15) is exact.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays
from hessian_spectra.studies.images.drawing import columns, epoch_axis, image_set

LOOKS: dict[str, dict[str, Any]] = {
    "printed": {"color": style.VERMILION, "marker": "s", "markersize": 6, "markerfacecolor": "w"},
    "corrected": {"color": style.BLUE, "marker": "o", "markersize": 3},
}
WORDS = {"printed": "indices in print", "corrected": "indices corrected"}
BOUND: dict[str, Any] = {"color": style.BLACK, "linestyle": "--", "linewidth": 1.0}
# An error of zero is drawn at the bottom of its axis.
SMALLEST = 1e-14


def errors(exact: Arrays, numeric: Arrays, indices: str, matrix: str) -> np.ndarray:
    """|eq. 15 − λ_k| / λ_k in per cent of the top eigenvalues at each epoch, ``(t, k)``."""
    return np.asarray(100 * np.abs(exact[indices] / numeric[matrix] - 1))


def residual_bound(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """What no error of the corrected sums exceeds at each epoch, in per cent, ``(t,)``.

    By Weyl's inequality no eigenvalue of the Hessian is further from one of its Gauss-Newton part
    than the norm of what it has beside it, ‖(f(X) − Y)Xᵀ/n‖₂ ≤ σ_x √(2 (loss − least loss)).
    """
    largest, norms = exact["corrected"][:, -1], exact["spectral_norms"]
    input_scale = np.sqrt(largest / (norms**2).sum(axis=1))
    excess = np.maximum(exact["loss"] - exact["floor"], 0.0)
    return np.asarray(100 * input_scale * np.sqrt(2 * excess) / numeric["hessian"][:, 0])


def _draw_hessian(axes: Axes, exact: Arrays, numeric: Arrays) -> float:
    """Mean and range of the errors over the eigenvalues; returns the smallest one drawn."""
    lowest = np.inf
    for indices, look in LOOKS.items():
        error = np.maximum(errors(exact, numeric, indices, "hessian"), SMALLEST)
        ends = error.min(axis=1), error.max(axis=1)
        axes.fill_between(exact["epoch"], *ends, color=look["color"], alpha=0.18, linewidth=0)
        axes.plot(exact["epoch"], error.mean(axis=1), linewidth=1.2, **look)
        lowest = min(lowest, float(error.min()))
    axes.plot(exact["epoch"], residual_bound(exact, numeric), **BOUND)
    return lowest


def _draw_gauss_newton(axes: Axes, exact: Arrays, numeric: Arrays) -> None:
    for indices, look in LOOKS.items():
        error = errors(exact, numeric, indices, "ggn").max(axis=1)
        axes.plot(exact["epoch"], np.maximum(error, SMALLEST), linewidth=1.0, **look)


def _decades(axes: Axes, low: float, high: float, step: int) -> None:
    """A logarithmic axis of per cent with a tick each ``step`` decades."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    first, last = int(np.ceil(np.log10(low))), int(np.floor(np.log10(high)))
    ticks = [10.0**power for power in range(last, first - 1, -step)]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_percent))


def _percent(value: float, _: int | None) -> str:
    return f"{value:g} %" if 1e-3 <= value <= 1e3 else f"$10^{{{np.log10(value):.0f}}}$ %"


def _counts(axes: Axes, exact: Arrays) -> None:
    """How many positive eigenvalues each index set has."""
    printed, corrected = int(exact["printed_count"][-1]), int(exact["corrected_count"][-1])
    place: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 6.5, "va": "bottom"}
    if printed == corrected:
        axes.text(0.03, 0.02, f"{printed} positive eigenvalues,\nprinted or corrected", **place)
        return
    axes.text(0.03, 0.13, f"{corrected} positive eigenvalues", color=style.BLUE, **place)
    axes.text(0.03, 0.02, f"in print {printed}", color=style.VERMILION, **place)


def _widths(networks: list[tuple[Arrays, Arrays]]) -> list[int]:
    """The widths of an image set's networks, in their order."""
    return list(dict.fromkeys(int(exact["width"]) for exact, _ in networks))


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """For each image set and width the errors against the Hessian and its Gauss-Newton part."""
    sets = columns(closed_form, numerics)
    widths = _widths(next(iter(sets.values())))
    figure, grid = style.panels(
        2 * len(widths),
        len(sets),
        height=1.45,
        width=min(style.FULL_WIDTH, 2.25 * len(sets) + 2.0),
        sharex="col",
        squeeze=False,
        height_ratios=(1.4, 0.6) * len(widths),
    )
    for column, (source, networks) in enumerate(sets.items()):
        for row, width in enumerate(widths):
            hessian, gauss_newton = grid[2 * row : 2 * row + 2, column]
            lowest = np.inf
            for exact, numeric in networks:
                if int(exact["width"]) == width:
                    lowest = min(lowest, _draw_hessian(hessian, exact, numeric))
                    _draw_gauss_newton(gauss_newton, exact, numeric)
                    shown = exact
            _decades(hessian, max(lowest, 1e-6) / 2, 200.0, 1)
            _decades(gauss_newton, SMALLEST / 3, 500.0, 7)
            _counts(hessian, shown)
        last = max(int(exact["epoch"][-1]) for exact, _ in networks)
        epoch_axis(grid[-1, column], last, narrow=len(sets) > 1)
        grid[-1, column].set_xlabel("epoch")
        style.letter(grid[0, column], f"({'abcdefghij'[column]}) {image_set(source)}")
    for row, width in enumerate(widths):
        grid[2 * row, 0].set_ylabel(f"width {width}\nerror of top {_top(closed_form)}")
        grid[2 * row + 1, 0].set_ylabel("Gauss-\nNewton")
    figure.align_ylabels(grid[:, 0])
    _legend(figure, len(sets))
    return figure


def _top(closed_form: Arrays) -> int:
    return int(closed_form["0/corrected"].shape[1])


def _legend(figure: Figure, sets: int) -> None:
    handles = [
        *(Line2D([], [], linewidth=1.2, **look, label=WORDS[n]) for n, look in LOOKS.items()),
        Patch(color=style.GREY, alpha=0.3, linewidth=0, label="range over the eigenvalues"),
        Line2D([], [], **BOUND, label="bound by the residual"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4 if sets > 1 else 2)


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    sets = columns(closed_form, numerics)
    texts, solver = [], 0.0
    for column, (source, networks) in enumerate(sets.items()):
        parts = []
        for exact, numeric in networks:
            of = {name: errors(exact, numeric, name, "hessian").mean(axis=1) for name in LOOKS}
            printed = of["printed"][-1]
            solver = max(solver, float(errors(exact, numeric, "corrected", "ggn").max()))
            parts.append(
                f"width {int(exact['width'])} from {of['corrected'][0]:.2g} % to "
                f"{of['corrected'][-1]:.2g} % (in print {printed:.2g} %), with "
                f"{int(exact['corrected_count'][-1])} positive eigenvalues (in print "
                f"{int(exact['printed_count'][-1])}) and a loss that ends "
                f"{exact['loss'][-1] - exact['floor']:.2g} above the least"
            )
        texts.append(f"({'abcdefghij'[column]}) {image_set(source)}: {'; '.join(parts)}")
    return (
        f"Error of eq. (15) in the {_top(closed_form)} largest Hessian eigenvalues of two-layer "
        "linear networks on whitened images through training: mean (line) and range (band) over "
        f"the eigenvalues. {'. '.join(texts)}. The largest sums of a wide network are the same "
        "with both index sets; a network with fewer hidden units than outputs has eigenvalues "
        "σ_j²(W₂) + 0 among its largest, which the printed indices leave out. Lower panels: "
        "largest error against the Gauss-Newton matrix, for which the corrected sums are exact at "
        f"every epoch (at most {solver:.1e} %, the solver's). What is left is what the Hessian has "
        "beside it, at most ‖(f(X) − Y)Xᵀ/n‖ ≤ σ_x√(2(loss − least loss)) (dashed, Weyl's "
        "inequality). It vanishes with training where the network can fit the least-squares "
        "solution. The narrow network, of lower rank, cannot, and keeps an error."
    )
