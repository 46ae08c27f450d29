"""The sharpness of balanced solutions against depth and label norm, and what depth does to it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.deep_linear.depth_and_norm.derived import error
from hessian_spectra.pictures import style

DEPTH = "depth L (layers)"
NORM = r"label norm $\|Y\|_2/\sqrt{n}$"


def _levels(data: xr.Dataset) -> np.ndarray:
    """Round numbers 1, 2, 5, 10, ... around the numbers that are compared."""
    predicted = data["predicted"].values
    low, high = predicted.min(), predicted.max()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    steps = (decades[:, None] * [1, 2, 5]).ravel()
    first = max(int(np.searchsorted(steps, low)) - 1, 0)
    return steps[first : int(np.searchsorted(steps, high)) + 1]


def _contour(figure: Figure, axes: Axes, data: xr.Dataset) -> None:
    levels, discs = _levels(data), data["sharpness"].stack(network=("depth", "norm"))
    # The discs have the colours of the bands: they vanish in them where the numbers agree.
    scale = BoundaryNorm(levels, style.COLOURMAP.N, extend="min")
    surface = np.maximum(data["contour"].values.T, levels[0] / 10)
    x, y = data["real_depth"].values, data["contour_norm"].values
    filled = axes.contourf(x, y, surface, levels, norm=scale, cmap=style.COLOURMAP, extend="min")
    axes.contour(x, y, surface, levels, colors="white", linewidths=0.4)
    flattest = data["contour_flattest"].values
    inside = flattest > 1
    look: dict[str, Any] = {"color": style.ORANGE, "linestyle": "--", "linewidth": 1.3}
    axes.plot(flattest[inside], y[inside], **look)
    look = {"norm": scale, "cmap": style.COLOURMAP, "s": 16, "edgecolors": "white"}
    axes.scatter(discs["depth"], discs["norm"], c=discs.values, **look).set_clip_on(False)
    axes.set_xlim(1, x[-1])
    axes.set_ylim(0, y[-1])
    bar = figure.colorbar(filled, ax=axes, label=r"$\lambda_{\max}$", pad=0.02, aspect=25)
    bar.set_ticks(levels[1:].tolist(), labels=[f"{level:g}" for level in levels[1:]])
    bar.ax.minorticks_off()
    axes.set_ylabel(NORM)
    axes.grid(visible=False)


def _coloured(data: xr.Dataset) -> Iterator[tuple[xr.Dataset, dict[str, Any]]]:
    """The data of each norm, and its colour."""
    colours = style.COLOURMAP(np.linspace(0, 1, data.sizes["norm"]))
    for norm, colour in zip(data["norm"].values, colours, strict=True):
        yield data.sel(norm=norm), {"color": colour}


def _curves(axes: Axes, data: xr.Dataset) -> None:
    """The sharpness of each norm along depth, with the depth at which it is smallest."""
    place: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6.5, "va": "center"}
    lowest: dict[str, Any] = {"color": style.ORANGE, "marker": "v", "markersize": 6}
    x = data["real_depth"].values
    for of_norm, colour in _coloured(data):
        curve = of_norm["curve"].values
        depth, value = of_norm["flattest_depth"].item(), of_norm["flattest"].item()
        axes.semilogy(x, curve, **colour, **style.EXACT)
        points = style.NUMERIC | colour | {"alpha": 0.8}
        axes.semilogy(data["depth"].values, of_norm["sharpness"].values, **points)
        axes.annotate(f"{of_norm['norm'].item():g}", (x[-1], curve[-1]), (4, 0), **place, **colour)
        if 1 < depth < x[-1]:
            axes.plot(depth, value, linestyle="none", **lowest)
            axes.annotate("smallest", (depth, value), (5, -8), **place)
    axes.set_ylim(bottom=data["curve"].values.min() / 2)
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _errors(axes: Axes, data: xr.Dataset) -> None:
    for of_norm, colour in _coloured(data):
        look = style.NUMERIC | colour | {"alpha": 0.9, "label": f"{of_norm['norm'].item():g}"}
        axes.semilogy(data["depth"].values, visible(error(of_norm).values), **look)
    error_axis(axes, top=1e-6)
    axes.set_ylabel("relative error of eq. (14)")
    axes.legend(ncols=3, loc="upper center", title=NORM, title_fontsize=7, handletextpad=0.1)


def _factors(values: xr.DataArray) -> np.ndarray:
    """With what one layer more multiplies values along depth."""
    return np.asarray(values.values[1:] / values.values[:-1])


def _amplification(axes: Axes, data: xr.Dataset) -> None:
    """What a layer more multiplies the sharpness with, and which part of it is the factor L."""
    before = data["depth"].values[:-1]
    for of_norm, colour in _coloured(data):
        axes.semilogy(before, _factors(of_norm["predicted"]), **colour, **style.EXACT)
        points = style.NUMERIC | colour | {"alpha": 0.8}
        axes.semilogy(before, _factors(of_norm["sharpness"]), **points)
    look = {"color": style.VERMILION, "linestyle": "--", "label": "(L + 1)/L: the leading factor"}
    axes.semilogy(before, _factors(data["depth"]), linewidth=1.4, **look)
    axes.axhline(1, color=style.BLACK, linewidth=0.7)
    axes.set_ylabel(r"$\lambda_{\max}(L+1)\,/\,\lambda_{\max}(L)$")
    style.mark(axes.yaxis, [0.25, 0.5, 1, 2, 4])
    axes.legend(loc="upper right")


def draw(data: xr.Dataset) -> Figure:
    """The contour plot, the way along depth, errors, and what each layer adds."""
    figure, grid = style.panels(2, 2, height=2.5)
    _contour(figure, grid[0, 0], data)
    _curves(grid[0, 1], data)
    _amplification(grid[1, 0], data)
    _errors(grid[1, 1], data)
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


def caption(_: xr.Dataset) -> str:
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
