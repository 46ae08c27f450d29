"""Self-attention's eigenvalues and condition numbers against weight norms and sinks."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hessian_spectra.agreement import distinct_error, spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

SWEEPS = ("query_key", "value", "sink", "massive_sink")
TITLES = {
    "query_key": "norm of $w_Q$ and $w_K$",
    "value": "norm of $w_V$",
    "sink": "attention sink",
    "massive_sink": "massive sink token",
}
AXES = {
    "query_key": r"$\|w_Q\| = \|w_K\|$",
    "value": r"$|w_V|$",
    "sink": "mean attention on token 1",
    "massive_sink": "mean attention on token 1",
}
OUTLIERS = tuple(style.COLOURS[f"outlier {k}"] for k in (1, 2, 3))
SMALL: dict[str, Any] = {"markersize": 3}


def _along(closed_form: Arrays, name: str) -> np.ndarray:
    """What a sweep is drawn against."""
    key = "attention" if name.endswith("sink") else "varied"
    return closed_form[f"{name}/{key}"]


def _parts(numerics: Arrays, name: str, row: int) -> tuple[np.ndarray, np.ndarray]:
    """The numerical outliers and bulk at one point."""
    values = numerics[f"{name}/values"][row]
    there, repeated = np.isfinite(values), numerics[f"{name}/repeated"][row]
    return values[there & ~repeated], values[there & repeated]


def _exact_spectrum(closed_form: Arrays, name: str, point: int) -> np.ndarray:
    """All eigenvalues of the closed form at one point, ascending."""
    copies = int(closed_form["key_dimension"]) - 1
    bulk = closed_form[f"{name}/bulk"][point] * np.repeat([1.0, -1.0], copies)
    return np.sort(np.concatenate([closed_form[f"{name}/outliers"][point], bulk]))


def _errors(closed_form: Arrays, numerics: Arrays, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the distinct eigenvalues, and of all eigenvalues where they are known."""
    distinct = []
    for row, point in enumerate(numerics[f"{name}/index"].tolist()):
        values = numerics[f"{name}/values"][row]
        exact = _exact_spectrum(closed_form, name, point)
        distinct.append(distinct_error(np.unique(exact), values[np.isfinite(values)]))
    dense = [
        spectrum_error(_exact_spectrum(closed_form, name, point), spectrum)
        for point, spectrum in zip(
            numerics[f"{name}/dense_index"].tolist(), numerics[f"{name}/dense"], strict=True
        )
    ]
    return np.array(distinct), np.array(dense)


def _scale(axes: Axes, closed_form: Arrays, name: str) -> None:
    """Logarithmic on both sides of zero, linear below a thousandth of the largest eigenvalue."""
    largest = np.abs(closed_form[f"{name}/outliers"]).max()
    top = int(np.ceil(np.log10(largest)))
    bulk = np.abs(closed_form[f"{name}/bulk"])
    smallest = int(np.floor(np.log10(max(bulk.min(), 1e-12 * largest))))
    linear = min(max(smallest, top - 4), top - 2)
    axes.set_yscale("symlog", linthresh=10.0**linear)
    powers = [10.0**k for k in range(top, linear - 1, -2)]
    axes.set_yticks([-power for power in powers] + [0.0, *powers])
    axes.minorticks_off()


def _draw_eigenvalues(axes: Axes, closed_form: Arrays, numerics: Arrays, name: str) -> None:
    along = _along(closed_form, name)
    for row, point in enumerate(numerics[f"{name}/index"].tolist()):
        for values, marker in zip(_parts(numerics, name, row), ("o", "s"), strict=True):
            look = style.NUMERIC | SMALL | {"marker": marker, "color": style.BLACK}
            axes.plot(np.full(len(values), along[point]), values, **look)
    for sign in (1, -1):
        axes.plot(
            along, sign * closed_form[f"{name}/bulk"], color=style.COLOURS["bulk"],
            linestyle="--", **style.EXACT,
        )  # fmt: skip
    for column, colour in enumerate(OUTLIERS):
        axes.plot(along, closed_form[f"{name}/outliers"][:, column], color=colour, **style.EXACT)
    axes.fill_between(
        along, closed_form[f"{name}/largest_lower"], closed_form[f"{name}/largest_upper"],
        color=OUTLIERS[0], alpha=0.18, linewidth=0,
    )  # fmt: skip
    for bound in ("lower", "upper"):
        axes.plot(
            along, closed_form[f"{name}/{bound}"], color=style.BLACK, linestyle=":", linewidth=0.8
        )
    axes.axhline(0, color=style.BLACK, linewidth=0.5)
    _scale(axes, closed_form, name)


def _draw_error(axes: Axes, closed_form: Arrays, numerics: Arrays, name: str) -> None:
    along = _along(closed_form, name)
    distinct, dense = _errors(closed_form, numerics, name)
    for error, index, marker, size in (
        (distinct, numerics[f"{name}/index"], ".", 3),
        (dense, numerics[f"{name}/dense_index"], "D", 3.5),
    ):
        axes.semilogy(
            # A point with no error at all still shows, at the bottom of the axis.
            along[index], np.maximum(error, 1e-18), linestyle="none", marker=marker,
            markersize=size, color=style.COLOURS["error"], markerfacecolor="none",
        )  # fmt: skip
    _error_axis(axes)


def _error_axis(axes: Axes) -> None:
    axes.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    axes.set_ylim(1e-18, 1e-8)
    axes.set_yticks([1e-17, 1e-13, 1e-9])
    axes.minorticks_off()


def _draw_condition(column: Any, closed_form: Arrays, numerics: Arrays, names: Any) -> None:
    """Condition numbers of two sweeps, their lower bound, and the error."""
    main, error = column
    for name, colour, marker in zip(names, (style.BLUE, style.ORANGE), "o^", strict=True):
        along, exact = _along(closed_form, name), closed_form[f"{name}/condition_number"]
        index, numeric = numerics[f"{name}/index"], numerics[f"{name}/condition_number"]
        finite = np.isfinite(exact) & np.isfinite(closed_form[f"{name}/condition_bound"])
        look = style.NUMERIC | SMALL | {"marker": marker, "color": colour}
        main.semilogy(along[index], numeric, **look)
        main.semilogy(along[finite], exact[finite], color=colour, **style.EXACT)
        bound = closed_form[f"{name}/condition_bound"]
        main.semilogy(along[finite], bound[finite], color=colour, linestyle=":")
        relative = np.abs(numeric / exact[index] - 1)
        error.semilogy(
            along[index], np.maximum(relative, 1e-18), linestyle="none", marker=marker,
            markersize=2.5, color=colour,
        )  # fmt: skip
    _error_axis(error)
    handles = [
        Line2D([], [], color=colour, label=label)
        for colour, label in zip((style.BLUE, style.ORANGE), _condition_labels(names), strict=True)
    ]
    handles.append(Line2D([], [], color=style.BLACK, linestyle=":", label="lower bound"))
    main.legend(handles=handles, loc="best", handlelength=1.4)


def _condition_labels(names: tuple[str, str]) -> tuple[str, str]:
    if names[0] == "query_key":
        return "of $w_Q$, $w_K$ (a)", "of $w_V$ (b)"
    return "sink (c)", "massive sink (d)"


def _legend(figure: Figure) -> None:
    def line(label: str, **options: Any) -> Line2D:
        return Line2D([], [], label=label, **options)

    numeric = style.NUMERIC | SMALL | {"color": style.BLACK}
    handles = [
        *(line(f"outlier {k + 1}", color=OUTLIERS[k]) for k in range(3)),
        line(r"bulk $\pm\gamma$", color=style.COLOURS["bulk"], linestyle="--"),
        line("numerical, single", **numeric),
        line("numerical, repeated", **(numeric | {"marker": "s"})),
        line(r"$\frac{1}{3}\mathrm{tr} \pm \xi$", color=style.BLACK, linestyle=":", linewidth=0.8),
        Patch(color=OUTLIERS[0], alpha=0.18, linewidth=0, label=r"bounds on $\lambda_{\max}$"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Four sweeps and two panels of condition numbers, each with its error below."""
    figure, grid = style.panels(4, 3, height=1.75, height_ratios=[3, 1.1, 3, 1.1])
    places = [(0, 0), (0, 1), (0, 2), (2, 0)]
    for name, (row, column), letter in zip(SWEEPS, places, "abcd", strict=True):
        _draw_eigenvalues(grid[row, column], closed_form, numerics, name)
        _draw_error(grid[row + 1, column], closed_form, numerics, name)
        style.letter(grid[row, column], f"({letter}) {TITLES[name]}")
        grid[row + 1, column].set_xlabel(AXES[name])
    _draw_condition(grid[2:, 1], closed_form, numerics, SWEEPS[:2])
    _draw_condition(grid[2:, 2], closed_form, numerics, SWEEPS[2:])
    style.letter(grid[2, 1], "(e) condition number, norms")
    style.letter(grid[2, 2], "(f) condition number, sinks")
    grid[3, 1].set_xlabel("norm varied")
    grid[3, 2].set_xlabel(AXES["sink"])
    _finish(figure, grid)
    return figure


def _finish(figure: Figure, grid: Any) -> None:
    for upper, lower in ((grid[0], grid[1]), (grid[2], grid[3])):
        for main, error in zip(upper, lower, strict=True):
            error.sharex(main)
            main.tick_params(labelbottom=False)
        lower[0].set_ylabel("rel. error")
    for column in ((0, 0), (0, 1), (2, 1)):
        grid[column].set_xscale("log")
    grid[0, 0].set_ylabel(r"Hessian eigenvalue $\lambda$")
    grid[2, 0].set_ylabel(r"Hessian eigenvalue $\lambda$")
    grid[2, 1].set_ylabel(r"$\max|\lambda| \,/\, \min|\lambda|$")
    _legend(figure)


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""

    def course(quantity: np.ndarray) -> str:
        ends = f"{quantity[0]:.2g} to {quantity[-1]:.2g}"
        largest = quantity.max()
        beyond = largest > 1.05 * max(quantity[0], quantity[-1])
        return f"{ends} (at most {largest:.2g})" if beyond else ends

    sentences = [
        f"Eigenvalues of a self-attention layer with d_K = {closed_form['key_dimension']} against "
        "the norm of its weights and the strength of an attention sink, a bias on the scores of "
        "the first token; lines: closed form, points: numerical eigenvalues, the bulk being those "
        "that repeat."
    ]
    for name, letter in zip(SWEEPS, "abcd", strict=True):
        bulk, largest = np.abs(closed_form[f"{name}/bulk"]), closed_form[f"{name}/outliers"][:, 0]
        sentences.append(
            f"({letter}) |γ| goes from {course(bulk)}, the largest outlier from {course(largest)}."
        )
    factor = float(closed_form["massive_activation"])
    errors = [error for name in SWEEPS for error in _errors(closed_form, numerics, name)]
    sentences.append(
        f"In (d) the first token of each sequence is multiplied by {factor:g}. (e, f) Condition "
        "numbers with the lower bound of Remark 3.1. Below each panel the error relative to the "
        "largest eigenvalue (in e, f: to the condition number); dots: distinct eigenvalues, "
        f"diamonds: all {2 * int(closed_form['key_dimension']) + 1}; at most "
        f"{max(error.max() for error in errors if error.size):.1e} in a to d (dashed: 1e-10)."
    )
    return " ".join(sentences)
