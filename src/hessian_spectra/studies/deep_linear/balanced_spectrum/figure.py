"""The whole spectrum of balanced networks: predicted from the labels, and numerical."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

# What is left of an eigenvalue or an error of 0 is drawn at the bottom of its axis.
FLOOR = 1e-18
CORRECTED: dict[str, Any] = {"color": style.BLUE, "linewidth": 1.3}
PRINTED: dict[str, Any] = {"color": style.VERMILION, "linewidth": 1.3, "linestyle": (0, (4, 1.5))}
COUNT: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.7, "linestyle": ":"}


def _descending(spectrum: np.ndarray, count: int) -> np.ndarray:
    """The largest eigenvalues, from the largest on."""
    return spectrum[::-1][:count]


def _shown(closed_form: Arrays, number: int) -> int:
    """How many eigenvalues are drawn: those that are not zero, and some of the zeros."""
    count = max(int(closed_form[f"{number}/count"]), int(closed_form[f"{number}/printed_count"]))
    return min(len(closed_form[f"{number}/from_weights"]), int(np.ceil(1.15 * count)) + 1)


def _spectrum(
    axes: Axes, numeric: np.ndarray, exact: np.ndarray, printed: np.ndarray, shown: int
) -> None:
    rank = np.arange(1, shown + 1)
    points = style.NUMERIC | {"markersize": 3, "color": style.GREY, "markeredgewidth": 0}
    numbers = np.maximum(np.abs(_descending(numeric, shown)), FLOOR)
    axes.semilogy(rank, numbers, **points, zorder=1)
    for spectrum, look in ((exact, CORRECTED), (printed, PRINTED)):
        values = _descending(spectrum, shown)
        axes.semilogy(rank, np.where(values > 0, values, np.nan), **look)
    axes.set_ylim(FLOOR, 1e3)
    axes.set_yticks(10.0 ** np.arange(-16, 4, 4))
    axes.tick_params(labelbottom=False)


def _errors(axes: Axes, numeric: np.ndarray, shown: int, sides: dict[str, np.ndarray]) -> None:
    """|λ − λ of the Hessian| / λ_1, eigenvalue by eigenvalue."""
    looks: dict[str, dict[str, Any]] = {
        "corrected": {"color": style.BLUE, "marker": "o"},
        "printed": {"color": style.VERMILION, "marker": "s"},
        "weights": {"color": style.GREEN, "marker": "D"},
        "Lanczos": {"color": style.BLACK, "marker": "^", "markerfacecolor": "none"},
    }
    truth = _descending(numeric, shown)
    for name, spectrum in sides.items():
        values = _descending(spectrum, shown)
        error = np.abs(values - truth[: len(values)]) / numeric[-1]
        look: dict[str, Any] = {"linestyle": "none", "markersize": 3 if name == "Lanczos" else 1.8}
        rank = np.arange(1, len(values) + 1)
        axes.semilogy(rank, np.maximum(error, FLOOR), **look, **looks[name])
    axes.set_ylim(FLOOR / 5, 10)
    axes.set_yticks(10.0 ** np.arange(-16, 1, 4))
    axes.set_xlabel("rank, descending")


def _counts(grid: np.ndarray, closed_form: Arrays, number: int) -> None:
    """Mark how many eigenvalues are not zero, and how many are in print."""
    right = int(closed_form[f"{number}/count"])
    printed = int(closed_form[f"{number}/printed_count"])
    for axes in grid:
        for count in {right, printed}:
            axes.axvline(count + 0.5, **COUNT)
    top = grid[0]
    formula = r"$r d_0 + r d_L - r^2$"
    words = f"{formula} = {right}"
    place: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6.5, "va": "bottom"}
    if right == printed:
        words += r" = min$(d)^2$"
    else:
        text = rf"min$(d)^2$ = {printed}"
        top.annotate(text, (printed, 1e-12), (3, 0), **place, color=style.VERMILION)
    top.annotate(words, (right, 2e-17), (-3, 0), **place, ha="right", color=style.BLUE)


def _title(closed_form: Arrays, number: int) -> str:
    sizes = closed_form[f"{number}/sizes"].tolist()
    if len(set(sizes)) == 1:
        return f"{len(sizes) - 1} layers, all widths {sizes[0]}"
    return "widths " + ", ".join(map(str, sizes))


def _legend(figure: Figure) -> None:
    points = style.NUMERIC | {"markersize": 4, "color": style.GREY, "markeredgewidth": 0}
    dots: dict[str, Any] = {"linestyle": "none", "markersize": 3}
    handles = [
        Line2D([], [], **points, label="dense Hessian"),
        Line2D(
            [], [], **dots, color="k", marker="^", markerfacecolor="none", label="Lanczos (top)"
        ),
        Line2D([], [], **CORRECTED, marker="o", markersize=3, label="from the labels, corrected"),
        Line2D([], [], **PRINTED, marker="s", markersize=3, label="from the labels, in print"),
        Line2D([], [], **dots, color=style.GREEN, marker="D", label="from the weights"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, columnspacing=1.2)


def _architectures(closed_form: Arrays) -> list[int]:
    return sorted(int(name.split("/")[0]) for name in closed_form if name.endswith("/sizes"))


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Spectra in descending order and their errors: each network, then one with a loss above 0."""
    networks = _architectures(closed_form)
    figure, grid = style.panels(
        2, len(networks) + 1, height=2.0, sharex="col", sharey="row", squeeze=False
    )
    for column, number in enumerate(networks):
        shown, of = _shown(closed_form, number), f"{number}/"
        numeric = numerics[of + "hessian_exact"]
        labels, printed = closed_form[of + "labels_exact"], closed_form[of + "printed_exact"]
        _spectrum(grid[0, column], numeric, labels, printed, shown)
        sides = {"printed": printed, "weights": closed_form[of + "from_weights"]}
        sides |= {"corrected": labels, "Lanczos": numerics[of + "top"]}
        _errors(grid[1, column], numeric, shown, sides)
        _counts(grid[:, column], closed_form, number)
        style.letter(grid[0, column], f"({'abcdefg'[column]}) {_title(closed_form, number)}")
    first, last = f"{networks[0]}/", grid[:, -1]
    shown = _shown(closed_form, networks[0])
    numeric = numerics[first + "hessian_least_squares"]
    solution = closed_form[first + "solution_least_squares"]
    printed = closed_form[first + "labels_least_squares"]
    _spectrum(last[0], numeric, solution, printed, shown)
    _errors(last[1], numeric, shown, {"printed": printed, "corrected": solution})
    style.letter(last[0], f"({'abcdefg'[len(networks)]}) as (a), labels not fitted")
    grid[0, 0].set_ylabel(r"Hessian eigenvalue $|\lambda|$")
    grid[1, 0].set_ylabel(r"error relative to $\lambda_1$")
    _legend(figure)
    return figure


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    texts = []
    for column, number in enumerate(_architectures(closed_form)):
        of = f"{number}/"
        numeric = numerics[of + "hessian_exact"]
        error, printed = (
            float(spectrum_error(closed_form[of + name], numeric))
            for name in ("labels_exact", "printed_exact")
        )
        texts.append(
            f"({'abcdefg'[column]}) {closed_form[of + 'count']} of {len(numeric)} eigenvalues are "
            f"not zero (in print: at most {closed_form[of + 'printed_count']}); error {error:.1e} "
            f"of the largest eigenvalue, with the printed indices {printed:.1e}"
        )
    first = f"{_architectures(closed_form)[0]}/"
    numeric = numerics[first + "hessian_least_squares"]
    error, printed = (
        float(spectrum_error(closed_form[first + name], numeric))
        for name in ("solution_least_squares", "labels_least_squares")
    )
    return (
        "All Hessian eigenvalues of balanced linear networks on whitened Gaussian inputs, computed "
        "numerically and predicted from the labels alone by eq. (13) and (9). "
        f"{'; '.join(texts)}. The last column: labels with a part that no linear map explains, "
        f"loss {float(numerics[first + 'loss_least_squares']):.3g}. There eq. (13) with σ(Y) is "
        f"off by {printed:.1e}; with the singular values of Y Xᵀ it is right to {error:.1e}. The "
        "Hessian differs from its Gauss-Newton part by "
        f"{float(numerics[first + 'difference_exact']):.1e} at zero loss and by "
        f"{float(numerics[first + 'difference_least_squares']):.1e} there, relative; beyond the "
        "last eigenvalue that is not zero, the points are rounding."
    )
