"""The spectrum against the scale of the data: in order, along the scale, how proportional."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

# For each network its line and its marker.
LOOKS: dict[str, tuple[Any, str]] = {"first": ("-", "o"), "second": ("--", "s")}
TARGETS = ("fixed", "scaled")
# Viridis without its brightest end, which would vanish on white.
COLOURMAP = ListedColormap(colormaps["viridis"](np.linspace(0, 0.92, 256)))
TIGHT = {"columnspacing": 1.5, "handletextpad": 0.1, "title_fontsize": 7}
SCALE = r"data scale $\sigma_x^2$ (units of $x^2$)"


def _groups(eigenvalues: np.ndarray) -> dict[str, np.ndarray]:
    """The columns ``(s, g)`` of an ascending spectrum ``(s, 2m)`` by what they are.

    Since -|δx| <= λ_2 <= |δx| <= λ_1, the outliers stand at the same places in every spectrum.
    """
    width = eigenvalues.shape[1] // 2
    bulk = np.delete(eigenvalues, [width - 1, 2 * width - 1], axis=1)
    return {
        "bulk": bulk,
        "outlier 2": eigenvalues[:, [width - 1]],
        "outlier 1": eigenvalues[:, [2 * width - 1]],
    }


def _ordered(axes: Axes, closed_form: Arrays, numerics: Arrays, name: str) -> None:
    """The spectrum from the most negative to the most positive eigenvalue, coloured by scale."""
    moments = closed_form["second_moments"]
    exact, numeric = (side[f"eigenvalues_{name}_fixed"] for side in (closed_form, numerics))
    width = exact.shape[1] // 2
    rank = np.arange(1, 2 * width + 1)
    # More than five spectra in one panel could not be told apart.
    for row in np.unique(np.linspace(0, len(numeric) - 1, 5).round().astype(int)):
        spectrum = exact[row]
        colour = COLOURMAP(moments[row] / moments[-1])
        axes.plot(rank, numeric[row], color=colour, **style.NUMERIC)
        for bulk in (slice(0, width - 1), slice(width, 2 * width - 1)):
            axes.plot(rank[bulk], spectrum[bulk], color=colour, **style.EXACT)
        for group, place in (("outlier 2", width - 1), ("outlier 1", 2 * width - 1)):
            ring = style.EXACT_RING | {"markeredgewidth": 0.8, "color": style.COLOURS[group]}
            axes.plot(rank[place], spectrum[place], **ring)
    # Linear within the smallest bulk and logarithmic beyond; a power of ten ends at a tick.
    smallest = np.abs(_groups(exact)["bulk"]).min()
    axes.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(max(smallest, 1e-12))))
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_xlabel("rank of the eigenvalue, ascending")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))


def _along_scale(
    axes: Axes, closed_form: Arrays, numerics: Arrays, groups: tuple[str, ...]
) -> None:
    """Some groups of eigenvalues of both networks against the scale."""
    moments = closed_form["second_moments"]
    for name, (line, marker) in LOOKS.items():
        exact, numeric = (
            _groups(side[f"eigenvalues_{name}_fixed"]) for side in (closed_form, numerics)
        )
        for group in groups:
            colour = style.COLOURS[group]
            points = style.NUMERIC | {"marker": marker, "color": colour}
            axes.plot(moments, numeric[group], **points)
            # The bulk has two values only: its first and its last column.
            shown = exact[group][:, [0, -1]] if group == "bulk" else exact[group]
            axes.plot(moments, shown, color=colour, linestyle=line, **style.EXACT)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel(SCALE)
    axes.set_ylabel(r"Hessian eigenvalue $\lambda$")


def _errors(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    moments = closed_form["second_moments"]
    for (name, (_, marker)), width in zip(LOOKS.items(), closed_form["widths"], strict=True):
        for targets, face in (("fixed", style.BLACK), ("scaled", "none")):
            spectra = f"eigenvalues_{name}_{targets}"
            error = spectrum_error(closed_form[spectra], numerics[spectra])
            axes.semilogy(
                moments,
                # A spectrum without any error still shows, at the bottom of the axis.
                np.maximum(error, 1e-18),
                linestyle="none",
                marker=marker,
                markersize=4,
                color=style.COLOURS["error"],
                markerfacecolor=face,
                label=f"{width}, {targets}",
            )
    axes.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    axes.set_ylim(1e-18, 1e-4)
    axes.set_xlabel(SCALE)
    axes.set_ylabel("relative error of\nthe closed form")
    axes.legend(ncols=2, loc="upper center", title="width m, targets y", **TIGHT)


def _departures(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    """How far λ/σ_x² is from its value at the largest scale, which is left out: it is 0 there.

    Departures below the float64 spacing are shown at 1e-16.
    """
    moments = closed_form["second_moments"]
    for group, colour in (("bulk", "bulk"), ("outlier", "outlier 1")):
        for targets, line in (("fixed", "-"), ("scaled", "--")):
            name = f"departure_{group}_{targets}"
            exact, numeric = (np.maximum(s[name][:-1], 1e-16) for s in (closed_form, numerics))
            points = style.NUMERIC | ({"markerfacecolor": "none"} if targets == "scaled" else {})
            axes.semilogy(moments[:-1], numeric, color=style.COLOURS[colour], **points)
            axes.semilogy(
                moments[:-1], exact, color=style.COLOURS[colour], linestyle=line, **style.EXACT
            )
    handles = [
        Line2D([], [], color=style.COLOURS["outlier 1"], label=r"$\lambda_1$"),
        Line2D([], [], color=style.COLOURS["bulk"], label="bulk"),
        Line2D([], [], color=style.BLACK, linestyle="-", label="y fixed"),
        Line2D([], [], color=style.BLACK, linestyle="--", label="y scaled with x"),
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
    handles = [
        Line2D([], [], color=style.COLOURS[group], label=label) for group, label in labels.items()
    ]
    for (line, marker), width in zip(LOOKS.values(), widths, strict=True):
        points = style.NUMERIC | {"marker": marker, "color": style.BLACK}
        handles += [
            Line2D([], [], color=style.BLACK, linestyle=line, label=f"closed form, m = {width}"),
            Line2D([], [], **points, label=f"numerical, m = {width}"),
        ]
    ring = {"color": style.BLACK, "markeredgewidth": 0.8, **style.EXACT_RING}
    handles.append(Line2D([], [], **ring, label="closed form in (a), (b)"))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.6)


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Ordered spectra, the way along the scale, errors, and departures from proportionality."""
    figure, grid = style.panels(3, 2, height=2.15)
    widths = closed_form["widths"].tolist()
    for axes, name, width, number in zip(grid[0], LOOKS, widths, "ab", strict=True):
        _ordered(axes, closed_form, numerics, name)
        style.letter(axes, f"({number}) whole spectrum, width m = {width}")
    grid[0, 0].set_ylabel(r"Hessian eigenvalue $\lambda$")
    norm = Normalize(0, closed_form["second_moments"][-1])
    figure.colorbar(
        ScalarMappable(norm, COLOURMAP), ax=grid[0, :], label=r"$\sigma_x^2$", pad=0.01, aspect=15
    )
    _along_scale(grid[1, 0], closed_form, numerics, ("outlier 1",))
    _along_scale(grid[1, 1], closed_form, numerics, ("bulk", "outlier 2"))
    _errors(grid[2, 0], closed_form, numerics)
    _departures(grid[2, 1], closed_form, numerics)
    titles = [
        "(c) large outlier",
        "(d) bulk and small outlier",
        "(e) closed form against numbers",
        "(f) proportionality",
    ]
    for axes, title in zip(grid[1:].flat, titles, strict=True):
        style.letter(axes, title)
    _legend(figure, widths)
    return figure


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    first, second = closed_form["widths"].tolist()
    moments = closed_form["second_moments"]
    worst = max(
        spectrum_error(closed_form[name], numerics[name]).max()
        for name in numerics
        if name.startswith("eigenvalues_")
    )
    departure = {
        (group, targets): numerics[f"departure_{group}_{targets}"].max()
        for group in ("outlier", "bulk")
        for targets in TARGETS
    }
    scaled = max(departure["outlier", "scaled"], departure["bulk", "scaled"])
    outlier, bulk = (f"{100 * departure[g, 'fixed']:.2g} %" for g in ("outlier", "bulk"))
    return (
        f"Hessian spectrum of two-layer linear networks of width {first} and {second} at "
        f"initialisation, inputs rescaled to σ_x² from {moments[0]:g} to {moments[-1]:g}. "
        "Lines and rings: closed form; points: numerical spectrum; they differ by at most "
        f"{worst:.1e} of the largest eigenvalue (dashed in (e): the tolerance, 1e-10). "
        f"With the targets left alone, as in print, λ/σ_x² varies by {outlier} for the large "
        f"outlier and by {bulk} for the bulk, because E[yx] ≠ 0 in the sample; with targets "
        f"scaled along it is constant to {scaled:.1e} ((f): the worse of the two networks)."
    )
