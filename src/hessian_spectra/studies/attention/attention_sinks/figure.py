"""Bulk and outliers of self-attention with vector tokens against the strength of a sink."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.agreement import distinct_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

SMALL: dict[str, Any] = {"markersize": 3}
STRENGTH = "mean attention on token 1"


def _single(numerics: Arrays) -> list[np.ndarray]:
    """The eigenvalues that do not repeat, ascending, for each sink."""
    return [
        row[copies == 1]
        for row, copies in zip(numerics["eigenvalues"], numerics["copies"], strict=True)
    ]


def _largest(numerics: Arrays) -> np.ndarray:
    """The largest of them, ``(n, c)``."""
    single = _single(numerics)
    count = max(1, round(float(numerics["outlier_share"]) * min(len(row) for row in single)))
    return np.array([row[-count:] for row in single])


def _repeated(numerics: Arrays) -> list[np.ndarray]:
    """The distinct eigenvalues that repeat, for each sink: one of each group of equals."""
    found = []
    for row, copies in zip(numerics["eigenvalues"], numerics["copies"], strict=True):
        values, repeats = row[copies > 1], copies[copies > 1]
        places, place = [], 0
        while place < len(values):
            places.append(place)
            place += int(repeats[place])
        found.append(values[places])
    return found


def _errors(closed_form: Arrays, numerics: Arrays) -> np.ndarray:
    """Error of the bulk relative to the largest eigenvalue, ``(n,)``."""
    errors = []
    for exact, bulk, spectrum in zip(
        closed_form["numeric_bulk"], _repeated(numerics), numerics["eigenvalues"], strict=True
    ):
        share = np.abs(bulk).max() / np.abs(spectrum).max()
        errors.append(distinct_error(exact, bulk) * share)
    return np.array(errors)


def _draw_bulk(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    for attention, bulk in zip(numerics["attention"], _repeated(numerics), strict=True):
        look = style.NUMERIC | SMALL | {"color": style.BLACK, "marker": "s"}
        axes.plot(np.full(len(bulk), attention), 1e3 * bulk, **look)
    axes.plot(
        closed_form["attention"], 1e3 * closed_form["bulk"], color=style.COLOURS["bulk"],
        **(style.EXACT | {"linewidth": 0.9}),
    )  # fmt: skip
    axes.axhline(0, color=style.BLACK, linewidth=0.5)
    axes.set_ylabel(r"bulk eigenvalues ($\times 10^{-3}$)")
    handles = [
        Line2D([], [], color=style.COLOURS["bulk"], label=r"closed form $\pm\sigma_i$"),
        Line2D(
            [], [], label="numerical, repeated",
            **(style.NUMERIC | SMALL | {"color": style.BLACK, "marker": "s"}),
        ),
    ]  # fmt: skip
    axes.legend(handles=handles, loc="upper right", handlelength=1.2, borderaxespad=0.2)
    top = 1e3 * np.abs(closed_form["bulk"]).max()
    axes.set_ylim(-1.1 * top, 1.6 * top)


def _draw_outliers(axes: Axes, numerics: Arrays) -> None:
    largest = _largest(numerics)
    colour = style.COLOURS["outlier 1"]
    look = style.NUMERIC | SMALL | {"color": colour}
    share = f"largest {float(numerics['outlier_share']):.0%} of the outliers"
    axes.plot(numerics["attention"], largest[:, 0], label=share, **look)
    axes.plot(numerics["attention"], largest[:, 1:], **look)
    axes.plot(
        numerics["attention"], largest.mean(axis=1), color=style.BLACK, linestyle="--",
        linewidth=1.0, label="their mean",
    )  # fmt: skip
    axes.set_ylim(0, 1.3 * largest.max())
    axes.set_ylabel("outlier eigenvalues")
    axes.legend(loc="upper left", handlelength=1.6, borderaxespad=0.2)


def _draw_replicates(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    """Bulk and largest eigenvalue of other networks, over their values without sink."""
    attention = closed_form["replicate_attention"]
    for values, colour, marker, label in (
        (numerics["replicate_largest"], style.COLOURS["outlier 1"], "o", "largest eigenvalue"),
        (closed_form["replicate_bulk"], style.COLOURS["bulk"], "s", "mean bulk magnitude"),
    ):
        ratio = (values / values[:, :1]).T
        axes.semilogy(
            attention.T, ratio, color=colour, marker=marker, markersize=2, linewidth=0.7,
            label=[label] + [""] * (ratio.shape[1] - 1),
        )  # fmt: skip
    axes.axhline(1, color=style.BLACK, linewidth=0.5)
    axes.set_ylabel("ratio to the value without sink")
    axes.legend(loc="lower left", handlelength=1.4, borderaxespad=0.2)


def _draw_error(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    # A spectrum with no error at all still shows, at the bottom of the axis.
    error = np.maximum(_errors(closed_form, numerics), 1e-18)
    axes.semilogy(numerics["attention"], error, ".", color=style.COLOURS["error"])
    axes.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    axes.set_ylim(1e-18, 1e-8)
    axes.set_ylabel("relative error of\nthe bulk's closed form")


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Bulk, outliers, replicates and the bulk's error, against the mean attention on token 1."""
    figure, grid = style.panels(2, 2, height=2.1)
    _draw_bulk(grid[0, 0], closed_form, numerics)
    _draw_outliers(grid[0, 1], numerics)
    _draw_replicates(grid[1, 0], closed_form, numerics)
    _draw_error(grid[1, 1], closed_form, numerics)
    titles = ("bulk", "outliers", "other weights, other sink tokens", "error of the bulk")
    for axes, letter, title in zip(grid.flat, "abcd", titles, strict=True):
        style.letter(axes, f"({letter}) {title}")
        axes.set_xlabel(STRENGTH)
    return figure


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    p, d = numerics["eigenvalues"].shape[1], closed_form["bulk"].shape[1] // 2
    weak, strong = numerics["attention"][[0, -1]]
    bulk = np.abs(closed_form["numeric_bulk"]).mean(axis=1)
    mean = _largest(numerics).mean(axis=1)
    worst = _errors(closed_form, numerics).max()
    return (
        f"Eigenvalues of a self-attention layer with vector tokens ({p} parameters) against the "
        "strength of an attention sink, a bias on the scores of the first token. (a) The bulk: "
        f"{len(_repeated(numerics)[0])} values, each occurring {int(closed_form['copies'])} times; "
        "lines: closed form (± the singular values of the loss's derivative by the product of "
        "query and key weights), points: numerical eigenvalues that repeat. (b) The largest of "
        f"those that do not; for small query and key weights they stand in groups of {d}, one for "
        "each output entry. "
        f"From an attention of {weak:.2f} to one of {strong:.2f} the mean magnitude of the bulk "
        f"goes from {bulk[0]:.2g} to {bulk[-1]:.2g}, the mean of the outliers shown from "
        f"{mean[0]:.2g} to {mean[-1]:.2g}. (c) The same for {len(closed_form['replicate_bulk'])} "
        "other networks, each with another token as the sink. (d) Largest error of the bulk's "
        f"closed form, relative to the largest eigenvalue: at most {worst:.1e} (dashed: 1e-10)."
    )
