"""The spectrum of the scalar ReLU network: by cell, bulk against outliers, and the error."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

CELLS = {"+": ("cell +", "positive cell"), "-": ("cell -", "negative cell")}
SIGN = {"+": "+", "-": "−"}


def eigenvalue_error(closed_form: Arrays, numerics: Arrays) -> np.ndarray:
    """|λ_k - λ_k^numeric| / max_k |λ_k^numeric| for every eigenvalue, ``(2m,)``."""
    difference = np.abs(closed_form["eigenvalues"] - numerics["eigenvalues"])
    return difference / np.abs(numerics["eigenvalues"]).max()


def leak(numerics: Arrays) -> np.ndarray:
    """How much of each eigenvector's squared norm lies outside its own cell, ``(2m,)``."""
    return np.minimum(numerics["mass"], 1 - numerics["mass"])


def _by_cell(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    """All eigenvalues in order, coloured by the cell they come from."""
    exact = closed_form["eigenvalues"]
    rank = np.arange(1, len(exact) + 1)
    # The numerics know no cells: their colour is where most of the eigenvector lives.
    numeric_cell = np.where(numerics["mass"] > 0.5, "+", "-")
    for cell, (colour, _) in CELLS.items():
        chosen = numeric_cell == cell
        points = style.NUMERIC | {"color": style.COLOURS[colour]}
        axes.plot(rank[chosen], numerics["eigenvalues"][chosen], **points)
        for kind, marker in (("bulk", "o"), ("outlier", "D")):
            chosen = (closed_form["cell"] == cell) & (closed_form["kind"] == kind)
            ring = style.EXACT_RING | {"marker": marker, "color": style.COLOURS[colour]}
            axes.plot(rank[chosen], exact[chosen], **ring)
    border = (exact < 0).sum() + 0.5
    axes.axvline(border, color=style.GREY, linestyle=":", linewidth=1.4)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_xlabel("rank of the eigenvalue, ascending")
    axes.set_ylabel(r"Hessian eigenvalue $\lambda$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


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


def _bulk_and_outliers(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    """One row for the bulk and one for the outliers of each cell, along the eigenvalue."""
    rows = [("outlier", "-"), ("bulk", "-"), ("outlier", "+"), ("bulk", "+")]
    for height, (kind, cell) in enumerate(rows):
        chosen = (closed_form["kind"] == kind) & (closed_form["cell"] == cell)
        colour = style.COLOURS[CELLS[cell][0]]
        numeric, exact = (side["eigenvalues"][chosen] for side in (numerics, closed_form))
        axes.plot(numeric, np.full(len(numeric), height), color=colour, **style.NUMERIC)
        marker = "D" if kind == "outlier" else "o"
        ring = style.EXACT_RING | {"marker": marker, "color": colour}
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


def _errors(axes: Axes, error: np.ndarray, label: str, marker: str) -> None:
    rank = np.arange(1, len(error) + 1)
    # What is exactly 0 still shows, at the bottom of the axis.
    axes.semilogy(rank, np.maximum(error, 1e-18), marker, color=style.BLACK, markersize=3.5)
    axes.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    axes.set_ylim(3e-19, 1e-8)
    axes.set_xlabel("rank of the eigenvalue, ascending")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _legend(figure: Figure) -> None:
    handles = [
        Line2D([], [], color=style.COLOURS[colour], linewidth=4, label=name)
        for colour, name in CELLS.values()
    ]
    ring = {"color": style.BLACK, **style.EXACT_RING}
    handles += [
        Line2D([], [], **ring, label="closed form, bulk"),
        Line2D([], [], **(ring | {"marker": "D"}), label="closed form, outlier"),
        Line2D([], [], color=style.BLACK, **style.NUMERIC, label="numerical"),
        Line2D([], [], color=style.GREY, linestyle=":", label="negative / positive"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=6, columnspacing=1.2)


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """The ordered spectrum by cell, bulk against outliers, and the errors."""
    figure, grid = style.panels(2, 2, height=2.1, gridspec_kw={"height_ratios": [1.6, 1]})
    _by_cell(grid[0, 0], closed_form, numerics)
    _bulk_and_outliers(grid[0, 1], closed_form, numerics)
    _errors(grid[1, 0], eigenvalue_error(closed_form, numerics), "relative error", "o")
    _errors(grid[1, 1], leak(numerics), "mass in the\nother cell", "x")
    titles = [
        f"(a) spectrum by cell, width m = {closed_form['width']}",
        "(b) bulk against outliers",
        "(c) closed form against numbers",
        "(d) eigenvectors keep to their cell",
    ]
    for axes, title in zip(grid.flat, titles, strict=True):
        style.letter(axes, title)
    _legend(figure)
    return figure


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    width, positive = int(closed_form["width"]), int(closed_form["positive_units"])
    density = float(closed_form["density"])
    error = eigenvalue_error(closed_form, numerics).max()
    largest_leak = leak(numerics).max()
    return (
        f"All {2 * width} Hessian eigenvalues of a ReLU network with {width} hidden units, "
        f"{positive} of them in the positive cell, which holds {density:.0%} of the points; "
        "×k: multiplicity. Rings and diamonds: closed form; points: numerical spectrum, coloured "
        "by the cell that its eigenvector lives in. The two differ by at most "
        f"{error:.1e} of the largest eigenvalue, and no eigenvector has more than "
        f"{largest_leak:.1e} of its squared norm in the other cell (dashed: the tolerance, 1e-10)."
    )
