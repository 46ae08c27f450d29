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
Look = dict[str, Any]
FLATTEST: Look = {"color": style.ORANGE, "linestyle": "--", "linewidth": 1.3}
LOWEST: Look = {"color": style.ORANGE, "marker": "v", "markersize": 6, "linestyle": "none"}
LEADING: Look = {"color": style.VERMILION, "linestyle": "--", "linewidth": 1.4}


def _levels(data: xr.Dataset) -> np.ndarray:
    """Round numbers 1, 2, 5, 10, ... around the numbers that are compared."""
    predicted = data["predicted"].values
    low, high = predicted.min(), predicted.max()
    decades = 10.0 ** np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    steps = (decades[:, None] * [1, 2, 5]).ravel()
    first = max(int(np.searchsorted(steps, low)) - 1, 0)
    return steps[first : int(np.searchsorted(steps, high)) + 1]


def _depth_axis(axes: Axes, label: str = DEPTH) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(label)


def draw(data: xr.Dataset) -> Figure:
    """The contours of the sharpness, with the numbers on top."""
    figure, axes = style.panels(height=2.8, width=4.5)
    levels, discs = _levels(data), data["sharpness"].stack(network=("depth", "norm"))
    # The discs have the colours of the bands: they vanish in them where the numbers agree.
    scale = BoundaryNorm(levels, style.COLOURMAP.N, extend="min")
    surface = np.maximum(data["contour"].values.T, levels[0] / 10)
    x, y = data["real_depth"].values, data["contour_norm"].values
    filled = axes.contourf(x, y, surface, levels, norm=scale, cmap=style.COLOURMAP, extend="min")
    axes.contour(x, y, surface, levels, colors="white", linewidths=0.4)
    inside = data["contour_flattest"].values > 1
    axes.plot(data["contour_flattest"].values[inside], y[inside], **FLATTEST)
    look: Look = {"norm": scale, "cmap": style.COLOURMAP, "s": 16, "edgecolors": "white"}
    axes.scatter(discs["depth"], discs["norm"], c=discs.values, **look).set_clip_on(False)
    axes.set_xlim(1, x[-1])
    axes.set_ylim(0, y[-1])
    bar = figure.colorbar(filled, ax=axes, label=r"sharpness $\lambda_{\max}$", aspect=25)
    bar.set_ticks(levels[1:].tolist(), labels=[f"{level:g}" for level in levels[1:]])
    bar.ax.minorticks_off()
    _depth_axis(axes)
    axes.set_ylabel(NORM)
    axes.grid(visible=False)
    return figure


def caption(_: xr.Dataset) -> str:
    """The marks of the figure."""
    return (
        "Largest Hessian eigenvalue of balanced linear networks with zero loss against depth and "
        "label norm. Contours: eq. (14); discs: numerical, at random networks, in the same "
        r"colours. Dashed: the depth $\ln(σ_x^2 n/‖Y‖_2^2)$ of smallest sharpness, where above 1."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The sharpness along depth, the factor that each layer adds, and the errors."""
    figure, (along, factors, errors) = style.panels(1, 3, height=2.8)
    x, depths = data["real_depth"].values, data["depth"].values
    for of_norm, colour in _coloured(data):
        numeric = style.NUMERIC | colour | {"alpha": 0.8}
        along.plot(x, of_norm["curve"], **colour, **style.EXACT)
        along.plot(depths, of_norm["sharpness"], **numeric)
        if 1 < of_norm["flattest_depth"] < x[-1]:
            along.plot(of_norm["flattest_depth"], of_norm["flattest"], **LOWEST)
        factors.plot(depths[:-1], _factors(of_norm["predicted"]), **colour, **style.EXACT)
        factors.plot(depths[:-1], _factors(of_norm["sharpness"]), **numeric)
        errors.semilogy(depths, visible(error(of_norm).values), **numeric)
    factors.plot(depths[:-1], _factors(data["depth"]), **LEADING)
    factors.axhline(1, color=style.BLACK, linewidth=0.7)
    along.set_yscale("log")
    along.set_ylim(bottom=data["curve"].values.min() / 2)
    along.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    factors.set_yscale("log")
    style.mark(factors.yaxis, [0.25, 0.5, 1, 2, 4])
    error_axis(errors, top=1e-6)
    labels = {
        r"sharpness $\lambda_{\max}$": "along depth",
        r"$\lambda_{\max}(L+1)\,/\,\lambda_{\max}(L)$": "one layer more",
        "relative error of eq. (14)": "equation and numbers",
    }
    panels = zip((along, factors, errors), style.letters(), labels.items(), strict=False)
    for axes, letter, (label, title) in panels:
        style.letter(axes, f"({letter}) {title}")
        axes.set_ylabel(label)
        _depth_axis(axes)
    factors.set_xlabel("depth L before it")
    handles = [
        *(
            style.entry(f"{of_norm['norm']:g}", lw=4, **colour)
            for of_norm, colour in _coloured(data)
        ),
        style.entry("smallest", **LOWEST),
        style.entry("leading factor $(L + 1)/L$", **LEADING),
    ]
    figure.legend(handles=handles, title=NORM, loc="outside upper center", ncols=len(handles))
    return figure, CONTROLS


CONTROLS = (
    "Lines: eq. (14), a colour for each label norm; points: numerical. (a) The sharpness along "
    "depth. (b) The factor of one layer more; dashed: the leading factor L alone, which is all of "
    r"the growth at $‖Y‖_2 = \sqrt n σ_x$. (c) By how much equation and numbers differ; dashed: "
    "the tolerance, 1e-10."
)


def _coloured(data: xr.Dataset) -> Iterator[tuple[xr.Dataset, Look]]:
    """The data of each norm, and its colour."""
    colours = style.COLOURMAP(np.linspace(0, 1, data.sizes["norm"]))
    for norm, colour in zip(data["norm"].values, colours, strict=True):
        yield data.sel(norm=norm), {"color": colour}


def _factors(values: xr.DataArray) -> np.ndarray:
    """The factor by which one layer more multiplies values along depth."""
    return np.asarray(values.values[1:] / values.values[:-1])
