"""The sharpness of balanced solutions against depth and label norm, and what depth does to it."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.deep_linear.depth_and_norm.reading import Reading
from hessian_spectra.pictures import style

DEPTH = "depth L (layers)"
NORM = r"label norm $\|Y\|_2/\sqrt{n}$"


def _levels(reading: Reading) -> np.ndarray:
    """Round numbers 1, 2, 5, 10, ... around the numbers that are compared."""
    low, high = reading.predicted.min(), reading.predicted.max()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    steps = (decades[:, None] * [1, 2, 5]).ravel()
    first = max(int(np.searchsorted(steps, low)) - 1, 0)
    return steps[first : int(np.searchsorted(steps, high)) + 1]


def _contour(figure: Figure, axes: Axes, reading: Reading) -> None:
    depths, norms, levels = reading.depths, reading.norms, _levels(reading)
    # The discs have the colours of the bands: they vanish in them where the numbers agree.
    scale = BoundaryNorm(levels, style.COLOURMAP.N, extend="min")
    surface = np.maximum(reading["contour"].T, levels[0] / 10)
    x, y = reading["contour_depths"], reading["contour_norms"]
    filled = axes.contourf(x, y, surface, levels, norm=scale, cmap=style.COLOURMAP, extend="min")
    axes.contour(x, y, surface, levels, colors="white", linewidths=0.4)
    inside = reading["contour_flattest"] > 1
    look: dict[str, Any] = {"color": style.ORANGE, "linestyle": "--", "linewidth": 1.3}
    axes.plot(reading["contour_flattest"][inside], y[inside], **look)
    layers, label_norms = np.meshgrid(depths, norms, indexing="ij")
    look = {"norm": scale, "cmap": style.COLOURMAP, "s": 16, "edgecolors": "white"}
    axes.scatter(layers, label_norms, c=reading.sharpness, **look).set_clip_on(False)
    axes.set_xlim(1, depths[-1])
    axes.set_ylim(0, norms[-1])
    bar = figure.colorbar(filled, ax=axes, label=r"$\lambda_{\max}$", pad=0.02, aspect=25)
    bar.set_ticks(levels[1:].tolist(), labels=[f"{level:g}" for level in levels[1:]])
    bar.ax.minorticks_off()
    axes.set_ylabel(NORM)
    axes.grid(visible=False)


def _colours(reading: Reading) -> np.ndarray:
    return style.COLOURMAP(np.linspace(0, 1, len(reading.norms)))


def _curves(axes: Axes, reading: Reading) -> None:
    """The sharpness of each norm along depth, with the depth at which it is smallest."""
    place: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6.5, "va": "center"}
    lowest: dict[str, Any] = {"color": style.ORANGE, "marker": "v", "markersize": 6}
    x, depths = reading["contour_depths"], reading.depths
    curves = zip(reading["curves"].T, reading.sharpness.T, strict=True)
    flattest = zip(reading["flattest_depths"], reading["flattest"], strict=True)
    for norm, colour, (curve, numeric), (depth, value) in zip(
        reading.norms, _colours(reading), curves, flattest, strict=True
    ):
        axes.semilogy(x, curve, color=colour, **style.EXACT)
        points = style.NUMERIC | {"color": colour, "alpha": 0.8}
        axes.semilogy(depths, numeric, **points)
        axes.annotate(f"{norm:g}", (x[-1], curve[-1]), (4, 0), **place, color=colour)
        if 1 < depth < x[-1]:
            axes.plot(depth, value, linestyle="none", **lowest)
            axes.annotate("smallest", (depth, value), (5, -8), **place)
    axes.set_ylim(bottom=reading["curves"].min() / 2)
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _errors(axes: Axes, reading: Reading) -> None:
    for norm, colour, error in zip(reading.norms, _colours(reading), reading.error.T, strict=True):
        axes.semilogy(
            reading.depths,
            visible(error),
            label=f"{norm:g}",
            color=colour,
            **style.NUMERIC | {"alpha": 0.9},
        )
    error_axis(axes, top=1e-6)
    axes.set_ylabel("relative error of eq. (14)")
    axes.legend(ncols=3, loc="upper center", title=NORM, title_fontsize=7, handletextpad=0.1)


def _amplification(axes: Axes, reading: Reading) -> None:
    """What a layer more multiplies the sharpness with, and which part of it is the factor L."""
    depths = reading.depths
    factor = depths[1:] / depths[:-1]
    measured = reading.sharpness[1:] / reading.sharpness[:-1]
    exact = reading.predicted[1:] / reading.predicted[:-1]
    before = depths[:-1]
    for colour, line, numeric in zip(_colours(reading), exact.T, measured.T, strict=True):
        axes.semilogy(before, line, color=colour, **style.EXACT)
        points = style.NUMERIC | {"color": colour, "alpha": 0.8}
        axes.semilogy(before, numeric, **points)
    axes.semilogy(
        before,
        factor,
        color=style.VERMILION,
        linestyle="--",
        linewidth=1.4,
        label="(L + 1)/L: the leading factor",
    )
    axes.axhline(1, color=style.BLACK, linewidth=0.7)
    axes.set_ylabel(r"$\lambda_{\max}(L+1)\,/\,\lambda_{\max}(L)$")
    style.mark(axes.yaxis, [0.25, 0.5, 1, 2, 4])
    axes.legend(loc="upper right")


def draw(reading: Reading) -> Figure:
    """The contour plot, the way along depth, errors, and what each layer adds."""
    figure, grid = style.panels(2, 2, height=2.5)
    _contour(figure, grid[0, 0], reading)
    _curves(grid[0, 1], reading)
    _amplification(grid[1, 0], reading)
    _errors(grid[1, 1], reading)
    titles = [
        r"(a) sharpness: eq. (14), numbers on top",
        r"(b) along depth, for each $\|Y\|_2/\sqrt{n}$",
        "(c) what one layer more does",
        "(d) closed form against numbers",
    ]
    for axes, title in zip(grid.flat, titles, strict=True):
        style.letter(axes, title)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(DEPTH)
    grid[1, 0].set_xlabel("depth L before the layer is added")
    return figure


def caption(_: Reading) -> str:
    """What is to be seen, and how to read it."""
    return (
        "The larger the norm of the labels, the more depth sharpens the solution; for small norms "
        "it flattens it first. "
        "Largest Hessian eigenvalue of balanced linear networks with zero loss against depth and "
        "the norm of their labels. (a) Contours: eq. (14); discs: numerical, at random networks, "
        "in the colours of the bands; dashed: the depth ln(σ_x² n/‖Y‖₂²) at which a norm has its "
        "smallest sharpness, where that exceeds 1. (b) The same along depth. (c) What one layer "
        "more multiplies the sharpness with; dashed: the leading factor L alone, which is all of "
        "the growth at ‖Y‖₂ = √n σ_x. (d) By how much equation and numbers differ (dashed: the "
        "tolerance, 1e-10)."
    )
