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

from hessian_papers.drawing.variables import Panel, named, picture
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
NETWORKS: dict[str, tuple[Any, str]] = {"first": ("-", "o"), "second": ("--", "s")}
NAMES: dict[Group, str] = {
    "outlier 1": r"outlier $\lambda_1$",
    "outlier 2": r"outlier $\lambda_2$",
    "bulk": r"bulk $\pm\,\overline{\delta x}$",
}
LOOKS: dict[str, dict[str, Any]] = {
    "numerical": {"linestyle": "none", "markersize": 3.5, "alpha": 0.55, "label": ""},
    "exact": {"marker": "", "label": ""},
    "error": {"linestyle": "none", "markersize": 4, "label": ""},
    "zero": {"label": "", "linewidth": 0.6, "linestyle": "-"},
    "fixed": {"fillstyle": "full"},
    "scaled": {"fillstyle": "none", "linestyle": ":"},
    **{name: {"color": style.COLOURS[name], "label": text} for name, text in NAMES.items()},
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


def _over(scale: xr.DataArray, name: str) -> xr.DataArray:
    """Values over the scale of the data, with what they are called."""
    return named(scale.rename(second_moment=SCALE), name)


def _along_scale(data: xr.Dataset, *groups: Group) -> list[xr.DataArray]:
    """Some groups of eigenvalues of both networks; the bulk has its smallest and its largest."""
    values = []
    for network, name, of in itertools.product(NETWORKS, groups, ("numerical", "exact")):
        chosen = eigenvalues(spectra(data, network=network, targets="fixed"), name, of)
        ends = chosen.isel(rank=[0, -1]) if (of, name) == ("exact", "bulk") else chosen
        apart = ends.expand_dims(network=[network], group=[name])
        values.append(_over(apart.rename(of), r"Hessian eigenvalue $\lambda$"))
    return values


def _errors(data: xr.Dataset) -> xr.DataArray:
    rows = [
        xr.concat([error(spectra(data, network=name, targets=of)) for of in TARGETS], "targets")
        for name in NETWORKS
    ]
    errors = xr.concat(rows, "network").transpose("network", "targets", ...).rename("error")
    words = "error relative to the largest eigenvalue"
    return named(errors.rename(second_moment=SCALE), words, rounding=True)


def _departures(data: xr.Dataset) -> list[xr.DataArray]:
    """The distance of λ/σ_x² from its value at the largest scale, which is left out: it is 0 there.

    Departures below the float64 spacing are shown at 1e-16.
    """
    name, values = "departure from proportionality", []
    for of in ("exact", "numerical"):
        groups = [departure(data, each, of)[..., :-1] for each in PROPORTIONAL]
        both = xr.concat(groups, xr.Variable("group", [*PROPORTIONAL]))
        values.append(_over(both.clip(min=1e-16).rename(of), name))
    return values


def draw(data: xr.Dataset) -> Figure:
    """The whole spectra of both networks at several data scales, in ascending order."""
    figure, grid = style.panels(1, 2, height=2.6)
    for letter, axes, network in zip("ab", grid, NETWORKS, strict=True):
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
    looks = LOOKS | {
        name: style.look(style.BLACK, marker, f"$m =$ {int(width)}", linestyle=line)
        for (name, (line, marker)), width in zip(NETWORKS.items(), data["width"], strict=True)
    }
    zero = xr.DataArray(0.0, name="zero")
    panels = [
        Panel("large outlier", SCALE, [*_along_scale(data, "outlier 1"), zero]),
        Panel("bulk and small outlier", SCALE, [*_along_scale(data, "bulk", "outlier 2"), zero]),
        Panel("closed form against numbers", SCALE, [_errors(data)]),
        Panel("proportionality", SCALE, _departures(data)),
    ]
    figure = picture(panels, looks, columns=2)
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
