"""The spectrum of the scalar ReLU network: by cell, and bulk against outliers."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.studies.scalar.relu_cells.derived import CELLS, lives_in, mass_elsewhere
from hessian_papers.studies.spectra import group, ranks
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

NAMES = {"+": "positive cell", "-": "negative cell"}
COLOURS = {cell: style.COLOURS[f"cell {cell}"] for cell in CELLS}
SIGN = {"+": "+", "-": "−"}
ELSEWHERE = "share of the norm² in the other cell"
MARKERS = {"bulk": "o", "outlier": "D"}


def _ranks_below(axes: Axes, label: str) -> None:
    """Label the axes of something that is drawn for each eigenvalue."""
    axes.set_xlabel("rank of the eigenvalue, ascending")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _by_cell(axes: Axes, data: xr.Dataset) -> None:
    """All eigenvalues in order, coloured by the cell they come from."""
    rank = np.arange(1, data.sizes["rank"] + 1)
    for cell, colour in COLOURS.items():
        # The numerics know no cells: their colour is where most of the eigenvector lives.
        lives = lives_in(data["mass"], cell).values
        axes.plot(rank[lives], data["numerical"][lives], **style.NUMERIC | {"color": colour})
        for kind, marker in MARKERS.items():
            ring = style.EXACT_RING | {"marker": marker, "color": colour}
            axes.plot(ranks(data, kind, cell), group(data, kind, cell), **ring)
    border = float((data["exact"] < 0).sum()) + 0.5
    axes.axvline(border, color=style.GREY, linestyle=":", linewidth=1.4)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    _ranks_below(axes, r"Hessian eigenvalue $\lambda$")


def _multiplicity(axes: Axes, value: float, height: int, count: int) -> None:
    """Write how often a bulk value occurs, on its outer side."""
    side = 1 if value > 0 else -1
    axes.annotate(
        f"×{count}" if count else "",
        (value, height),
        xytext=(7 * side, 0),
        textcoords="offset points",
        ha="left" if side > 0 else "right",
        va="center",
        fontsize=7,
    )


def _bulk_and_outliers(axes: Axes, data: xr.Dataset) -> None:
    """One row for the bulk and one for the outliers of each cell, along the eigenvalue."""
    rows = [("outlier", "-"), ("bulk", "-"), ("outlier", "+"), ("bulk", "+")]
    for height, (kind, cell) in enumerate(rows):
        numeric, exact = (group(data, kind, cell, of=of).values for of in ("numerical", "exact"))
        axes.plot(numeric, np.full(len(numeric), height), color=COLOURS[cell], **style.NUMERIC)
        ring = style.EXACT_RING | {"marker": MARKERS[kind], "color": COLOURS[cell]}
        axes.plot(exact, np.full(len(exact), height), **ring)
        if kind == "bulk":
            for value in (exact.min(initial=0), exact.max(initial=0)):
                _multiplicity(axes, float(value), height, int(np.isclose(exact, value).sum()))
    axes.axvline(0, color=style.GREY, linestyle=":", linewidth=1.4)
    names = {"outlier": "outliers", "bulk": "bulk"}
    axes.set_yticks(range(4), [f"{names[kind]} {SIGN[cell]}" for kind, cell in rows])
    axes.set_ylim(-0.5, 3.5)
    axes.margins(x=0.2)
    axes.set_xlabel(r"Hessian eigenvalue $\lambda$")


def _legend(figure: Figure) -> None:
    handles = [style.entry(NAMES[cell], color=COLOURS[cell], linewidth=4) for cell in CELLS]
    ring = {"color": style.BLACK, **style.EXACT_RING}
    handles += [
        style.entry("closed form, bulk", **ring),
        style.entry("closed form, outlier", **ring | {"marker": "D"}),
        style.entry("numerical", color=style.BLACK, **style.NUMERIC),
        style.entry("negative / positive", color=style.GREY, linestyle=":"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)


def draw(data: xr.Dataset) -> Figure:
    """The ordered spectrum by cell, and bulk against outliers."""
    figure, grid = style.panels(1, 2, height=2.8)
    _by_cell(grid[0], data)
    _bulk_and_outliers(grid[1], data)
    style.letter(grid[0], f"(a) spectrum by cell, width m = {int(data['width'])}")
    style.letter(grid[1], "(b) bulk against outliers")
    _legend(figure)
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The errors of the closed form and of the cells, and how they are read."""
    errors = abs(data["exact"] - data["numerical"]) / abs(data["numerical"]).max()
    rank = {"rank": np.arange(1, data.sizes["rank"] + 1)}
    panels = [
        Panel(title, "rank", [named(values.assign_coords(rank), name, rounding=True)])
        for title, name, values in (
            ("closed form against numbers", "error relative to the largest eigenvalue", errors),
            ("eigenvectors keep to their cell", ELSEWHERE, mass_elsewhere(data)),
        )
    ]
    figure = picture(panels)
    return figure, f"Of each eigenvalue and of its numerical eigenvector (dashed: {EXACT:.0e})."


def caption(data: xr.Dataset) -> str:
    """The key to the figure."""
    width, density = int(data["width"]), float(data["density"])
    return (
        f"All {2 * width} Hessian eigenvalues of a ReLU network with {width} hidden units, "
        f"{int(data['positive_units'])} of them in the positive cell, which holds {density:.0%} "
        "of the points; $×k$: multiplicity. Rings and diamonds: closed form; points: numerical, "
        "coloured by their eigenvector's cell."
    )
