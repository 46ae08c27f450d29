"""The spectrum at several scales of the data; as controls, along the scale and its errors."""

import itertools
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.scalar.data_scale.derived import (
    PROPORTIONAL,
    TARGETS,
    Group,
    departure,
    eigenvalues,
)
from hessian_papers.studies.spectra import error, group, ranks, spectra
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

# For each network its line and its marker.
LOOKS: dict[str, tuple[Any, str]] = {"first": ("-", "o"), "second": ("--", "s")}
NAMES: dict[Group, str] = {
    "outlier 1": r"outlier $\lambda_1$",
    "outlier 2": r"outlier $\lambda_2$",
    "bulk": r"bulk $\pm\,\overline{\delta x}$",
}
SCALE = r"data scale $\sigma_x^2$ (units of $x^2$)"


def _ordered(axes: Axes, data: xr.Dataset, network: str) -> None:
    """The spectrum from the most negative to the most positive eigenvalue, coloured by scale."""
    chosen = spectra(data, network=network, targets="fixed")
    numeric, moments = chosen["numerical"].values, chosen["second_moment"].values
    # More than five spectra in one panel could not be told apart.
    for row in np.unique(np.linspace(0, len(numeric) - 1, 5).round().astype(int)):
        colour = style.COLOURMAP(moments[row] / moments[-1])
        axes.plot(np.arange(1, numeric.shape[1] + 1), numeric[row], color=colour, **style.NUMERIC)
        # A line for each sign of the bulk, whose pairs come in ascending order.
        halves = (
            np.split(bulk.values[row], 2) for bulk in (ranks(chosen, "bulk"), group(chosen, "bulk"))
        )
        for rank, values in zip(*halves, strict=True):
            axes.plot(rank, values, color=colour, **style.EXACT)
        outliers = (of(chosen, "outlier").values[row] for of in (ranks, group))
        for name, point in zip(
            ("outlier 2", "outlier 1"), zip(*outliers, strict=True), strict=True
        ):
            ring = style.EXACT_RING | {"markeredgewidth": 0.8, "color": style.COLOURS[name]}
            axes.plot(*point, **ring)
    # Linear within the smallest bulk and logarithmic beyond; a power of ten ends at a tick.
    smallest = float(np.abs(group(chosen, "bulk")).min())
    axes.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(max(smallest, 1e-12))))
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_xlabel("rank of the eigenvalue, ascending")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))


def _along_scale(axes: Axes, data: xr.Dataset, groups: tuple[Group, ...]) -> None:
    """Some groups of eigenvalues of both networks against the scale."""
    for network, (line, marker) in LOOKS.items():
        chosen = spectra(data, network=network, targets="fixed")
        for name in groups:
            colour = style.COLOURS[name]
            points = style.NUMERIC | {"marker": marker, "color": colour}
            moments = chosen["second_moment"].values
            axes.plot(moments, eigenvalues(chosen, name, "numerical").values, **points)
            # The bulk has two values only: its smallest and its largest.
            exact = eigenvalues(chosen, name).values
            shown = exact[:, [0, -1]] if name == "bulk" else exact
            axes.plot(moments, shown, color=colour, linestyle=line, **style.EXACT)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel(SCALE)
    axes.set_ylabel(r"Hessian eigenvalue $\lambda$")


def _errors(axes: Axes, data: xr.Dataset) -> None:
    for network, (_, marker) in LOOKS.items():
        for targets, face in zip(TARGETS, (style.BLACK, "none"), strict=True):
            axes.semilogy(
                data["second_moment"].values,
                visible(error(spectra(data, network=network, targets=targets)).values),
                linestyle="none",
                marker=marker,
                markersize=4,
                color=style.COLOURS["error"],
                markerfacecolor=face,
            )
    error_axis(axes, top=1e-4)
    axes.set_xlabel(SCALE)
    axes.set_ylabel("error relative to the\nlargest eigenvalue")


def _departures(axes: Axes, data: xr.Dataset) -> None:
    """The distance of λ/σ_x² from its value at the largest scale, which is left out: it is 0 there.

    Departures below the float64 spacing are shown at 1e-16.
    """
    moments = data["second_moment"].values[:-1]
    for name, (targets, line) in itertools.product(PROPORTIONAL, zip(TARGETS, "-:", strict=True)):
        exact, numeric = (
            np.maximum(departure(data.sel(targets=targets), name, of).values[:-1], 1e-16)
            for of in ("exact", "numerical")
        )
        colour = style.COLOURS[name]
        points = style.NUMERIC | ({"markerfacecolor": "none"} if targets == "scaled" else {})
        axes.semilogy(moments, numeric, color=colour, **points)
        axes.semilogy(moments, exact, color=colour, linestyle=line, **style.EXACT)
    axes.set_ylim(1e-17, 10)
    axes.set_xlabel(SCALE)
    axes.set_ylabel(r"departure of $\lambda\,/\,\sigma_x^2$" "\nfrom a constant")


def draw(data: xr.Dataset) -> Figure:
    """The whole spectra of both networks at several data scales, in ascending order."""
    figure, grid = style.panels(1, 2, height=2.6)
    for letter, axes, network in zip("ab", grid, LOOKS, strict=True):
        _ordered(axes, data, network)
        style.letter(axes, f"({letter}) width m = {int(data['width'].sel(network=network))}")
    grid[0].set_ylabel(r"Hessian eigenvalue $\lambda$")
    norm = Normalize(0, float(data["second_moment"][-1]))
    figure.colorbar(ScalarMappable(norm, style.COLOURMAP), ax=grid, label=SCALE, pad=0.01)
    ring = {**style.EXACT_RING, "linewidth": 0}
    handles = [
        style.entry(f"closed form, {NAMES['outlier 1']}", color=style.COLOURS["outlier 1"], **ring),
        style.entry(f"closed form, {NAMES['outlier 2']}", color=style.COLOURS["outlier 2"], **ring),
        style.entry(f"closed form, {NAMES['bulk']}", color=style.BLACK),
        style.entry("numerical", color=style.BLACK, **style.NUMERIC),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The eigenvalues along the scale, their errors, and how proportional they are to it."""
    figure, grid = style.panels(2, 2, height=2.2)
    _along_scale(grid[0, 0], data, ("outlier 1",))
    _along_scale(grid[0, 1], data, ("bulk", "outlier 2"))
    _errors(grid[1, 0], data)
    _departures(grid[1, 1], data)
    titles = ("large outlier", "bulk and small outlier", "closed form against numbers")
    for letter, axes, title in zip("abcd", grid.flat, (*titles, "proportionality"), strict=True):
        style.letter(axes, f"({letter}) {title}")
    handles = [style.entry(text, color=style.COLOURS[name]) for name, text in NAMES.items()]
    for width, (line, marker) in zip(data["width"].values, LOOKS.values(), strict=True):
        look = {"linestyle": line, "marker": marker, "markersize": 3.5}
        handles.append(style.entry(f"$m =$ {width}", color=style.BLACK, **look))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)
    return figure, (
        "Lines: closed form; points: numerical spectrum. (c) Relative to the largest eigenvalue, "
        f"dashed: {EXACT:.0e}; hollow points, in (d) with dotted lines: targets scaled along with "
        "the inputs, elsewhere left alone, as in print. (d) For the worse of the two networks, "
        "relative to $λ/σ_x^2$ at the largest scale, which is left out; $E[yx] ≠ 0$ in the "
        "sample."
    )


def caption(data: xr.Dataset) -> str:
    """The key to the figure."""
    (first, second), moments = data["width"].values, data["second_moment"].values
    return (
        f"Hessian spectrum of two-layer linear networks of width {first} and {second} at "
        f"initialisation, inputs rescaled to $σ_x^2$ from {moments[0]:g} to {moments[-1]:g}, "
        "with unscaled targets. Lines and rings: closed form; points: numerical spectrum."
    )
