"""The spectrum against the scale of the data: in order, along the scale, how proportional."""

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
from hessian_spectra.pictures import style

# For each network its line and its marker.
LOOKS: dict[str, tuple[Any, str]] = {"first": ("-", "o"), "second": ("--", "s")}
TIGHT = {"columnspacing": 1.5, "handletextpad": 0.1, "title_fontsize": 7}
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
                label=f"{int(data['width'].sel(network=network))}, {targets}",
            )
    error_axis(axes, top=1e-4)
    axes.set_xlabel(SCALE)
    axes.set_ylabel("relative error of\nthe closed form")
    axes.legend(ncols=2, loc="upper center", title="width m, targets y", **TIGHT)


def _departures(axes: Axes, data: xr.Dataset) -> None:
    """How far λ/σ_x² is from its value at the largest scale, which is left out: it is 0 there.

    Departures below the float64 spacing are shown at 1e-16.
    """
    moments = data["second_moment"].values[:-1]
    lines = {"fixed": "-", "scaled": "--"}
    for name, (targets, line) in itertools.product(PROPORTIONAL, lines.items()):
        exact, numeric = (
            np.maximum(departure(data.sel(targets=targets), name, of).values[:-1], 1e-16)
            for of in ("exact", "numerical")
        )
        colour = style.COLOURS[name]
        points = style.NUMERIC | ({"markerfacecolor": "none"} if targets == "scaled" else {})
        axes.semilogy(moments, numeric, color=colour, **points)
        axes.semilogy(moments, exact, color=colour, linestyle=line, **style.EXACT)
    handles = [
        style.entry(r"$\lambda_1$", color=style.COLOURS["outlier 1"]),
        style.entry("bulk", color=style.COLOURS["bulk"]),
        style.entry("y fixed", color=style.BLACK, linestyle="-"),
        style.entry("y scaled with x", color=style.BLACK, linestyle="--"),
    ]
    # Between the departures in print and those at round-off, wherever the former are.
    axes.legend(handles=handles, ncols=2, loc="center", bbox_to_anchor=(0.5, 0.36))
    axes.set_ylim(1e-17, 10)
    axes.set_xlabel(SCALE)
    axes.set_ylabel(r"departure of $\lambda\,/\,\sigma_x^2$" "\nfrom a constant")


def _legend(figure: Figure, widths: list[int]) -> None:
    labels = {
        "outlier 1": r"outlier $\lambda_1$",
        "outlier 2": r"outlier $\lambda_2$",
        "bulk": r"bulk $\pm\,\overline{\delta x}$",
    }
    handles = [style.entry(label, color=style.COLOURS[group]) for group, label in labels.items()]
    for (line, marker), width in zip(LOOKS.values(), widths, strict=True):
        points = style.NUMERIC | {"marker": marker, "color": style.BLACK}
        handles += [
            style.entry(f"closed form, m = {width}", color=style.BLACK, linestyle=line),
            style.entry(f"numerical, m = {width}", **points),
        ]
    ring = {"color": style.BLACK, "markeredgewidth": 0.8, **style.EXACT_RING}
    handles.append(style.entry("closed form in (a), (b)", **ring))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.6)


def draw(data: xr.Dataset) -> Figure:
    """Ordered spectra, the way along the scale, errors, and departures from proportionality."""
    figure, grid = style.panels(3, 2, height=2.15)
    for axes, network, width, number in zip(
        grid[0], data["network"].values, data["width"].values, "ab", strict=True
    ):
        _ordered(axes, data, network)
        style.letter(axes, f"({number}) whole spectrum, width m = {width}")
    grid[0, 0].set_ylabel(r"Hessian eigenvalue $\lambda$")
    norm = Normalize(0, float(data["second_moment"][-1]))
    figure.colorbar(
        ScalarMappable(norm, style.COLOURMAP),
        ax=grid[0, :],
        label=r"$\sigma_x^2$",
        pad=0.01,
        aspect=15,
    )
    _along_scale(grid[1, 0], data, ("outlier 1",))
    _along_scale(grid[1, 1], data, ("bulk", "outlier 2"))
    _errors(grid[2, 0], data)
    _departures(grid[2, 1], data)
    titles = [
        "(c) large outlier",
        "(d) bulk and small outlier",
        "(e) closed form against numbers",
        "(f) proportionality",
    ]
    for axes, title in zip(grid[1:].flat, titles, strict=True):
        style.letter(axes, title)
    _legend(figure, data["width"].values.tolist())
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    (first, second), moments = data["width"].values, data["second_moment"].values
    return (
        "The Hessian's large outlier and its bulk grow nearly in proportion to the second moment "
        "of the inputs. "
        f"Hessian spectrum of two-layer linear networks of width {first} and {second} at "
        f"initialisation, inputs rescaled to σ_x² from {moments[0]:g} to {moments[-1]:g}. "
        "Lines and rings: closed form; points: numerical spectrum (dashed in (e): the tolerance, "
        "1e-10). (f) By how much λ/σ_x² varies, for the worse of the two networks: with the "
        "targets left alone, as in print, because E[yx] ≠ 0 in the sample; with targets scaled "
        "along it is constant."
    )
