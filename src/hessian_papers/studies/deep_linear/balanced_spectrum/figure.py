"""The whole spectrum of balanced networks: predicted from the labels, and numerical."""

import string
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.errors import BOTTOM, FLOOR, rounding_band, visible
from hessian_papers.studies.deep_linear.balanced_spectrum.reading import Network, Reading
from hessian_spectra.pictures import style

LETTERS = string.ascii_lowercase
# More would be too narrow; the rest are measured all the same.
MOST_NETWORKS = 3
CORRECTED: dict[str, Any] = {"color": style.BLUE, "linewidth": 1.3}
PRINTED: dict[str, Any] = {"color": style.VERMILION, "linewidth": 1.3, "linestyle": (0, (4, 1.5))}
# The marks of the errors.
LOOKS: dict[str, dict[str, Any]] = {
    "corrected": {"color": style.BLUE, "marker": "o"},
    "printed": {"color": style.VERMILION, "marker": "s"},
    "weights": {"color": style.GREEN, "marker": "D"},
    "Lanczos": {"color": style.BLACK, "marker": "^", "markerfacecolor": "none"},
}
COUNT: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.7, "linestyle": ":"}


def _descending(spectrum: np.ndarray, count: int) -> np.ndarray:
    """The largest eigenvalues, from the largest on."""
    return spectrum[::-1][:count]


def _shown(network: Network) -> int:
    """How many eigenvalues are drawn: those that are not zero, and some of the zeros."""
    count = max(network.count, network.printed_count)
    return min(len(network["from_weights"]), int(np.ceil(1.15 * count)) + 1)


def _spectrum(
    axes: Axes, numeric: np.ndarray, exact: np.ndarray, printed: np.ndarray, shown: int
) -> None:
    rank = np.arange(1, shown + 1)
    points = style.NUMERIC | {"markersize": 3, "color": style.GREY, "markeredgewidth": 0}
    numbers = visible(np.abs(_descending(numeric, shown)))
    axes.semilogy(rank, numbers, **points, zorder=1)
    for spectrum, look in ((exact, CORRECTED), (printed, PRINTED)):
        values = _descending(spectrum, shown)
        axes.semilogy(rank, np.where(values > 0, values, np.nan), **look)
    axes.set_ylim(FLOOR, 1e3)
    axes.set_yticks(10.0 ** np.arange(-16, 4, 4))
    axes.tick_params(labelbottom=False)


def _errors(axes: Axes, numeric: np.ndarray, shown: int, sides: dict[str, np.ndarray]) -> None:
    """|λ − λ of the Hessian| / λ_1, eigenvalue by eigenvalue."""
    truth = _descending(numeric, shown)
    for name, spectrum in sides.items():
        values = _descending(spectrum, shown)
        error = np.abs(values - truth[: len(values)]) / numeric[-1]
        look: dict[str, Any] = {"linestyle": "none", "markersize": 3 if name == "Lanczos" else 1.8}
        rank = np.arange(1, len(values) + 1)
        axes.semilogy(rank, visible(error), **look, **LOOKS[name])
    rounding_band(axes)
    axes.set_ylim(BOTTOM, 10)
    axes.set_yticks(10.0 ** np.arange(-16, 1, 4))
    axes.set_xlabel("rank, descending")


def _counts(grid: np.ndarray, network: Network) -> None:
    """Mark how many eigenvalues are not zero, and how many are in print."""
    right, printed = network.count, network.printed_count
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


def _title(sizes: list[int]) -> str:
    if len(set(sizes)) == 1:
        return f"{len(sizes) - 1} layers, all widths {sizes[0]}"
    return "widths " + ", ".join(map(str, sizes))


def _legend(figure: Figure) -> None:
    points = style.NUMERIC | {"markersize": 4, "color": style.GREY, "markeredgewidth": 0}
    dots: dict[str, Any] = {"linestyle": "none", "markersize": 3}
    handles = [
        style.entry("dense Hessian", **points),
        style.entry("Lanczos (top)", **dots, **LOOKS["Lanczos"]),
        style.entry("from the labels, corrected", **CORRECTED, marker="o", markersize=3),
        style.entry("from the labels, in print", **PRINTED, marker="s", markersize=3),
        style.entry("from the weights", **dots, **LOOKS["weights"]),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, columnspacing=1.2)


def _column(grid: np.ndarray, network: Network) -> None:
    """One network with zero loss: the spectrum above, the errors below."""
    shown, numeric = _shown(network), network["hessian_exact"]
    labels, printed = network["labels_exact"], network["printed_exact"]
    _spectrum(grid[0], numeric, labels, printed, shown)
    sides = {"printed": printed, "weights": network["from_weights"]}
    sides |= {"corrected": labels, "Lanczos": network["top"]}
    _errors(grid[1], numeric, shown, sides)
    _counts(grid, network)


def _unfitted_column(grid: np.ndarray, network: Network) -> None:
    """One network of which the labels are not fitted: the spectrum above, the errors below."""
    shown, numeric = _shown(network), network["hessian_least_squares"]
    solution, printed = network["solution_least_squares"], network["labels_least_squares"]
    _spectrum(grid[0], numeric, solution, printed, shown)
    _errors(grid[1], numeric, shown, {"printed": printed, "corrected": solution})


def draw(reading: Reading) -> Figure:
    """Spectra in descending order and their errors: each network, then one with a loss above 0."""
    networks = reading.networks[:MOST_NETWORKS]
    figure, grid = style.panels(
        2, len(networks) + 1, height=2.0, sharex="col", sharey="row", squeeze=False
    )
    for column, network, letter in zip(grid.T, networks, LETTERS, strict=False):
        _column(column, network)
        style.letter(column[0], f"({letter}) {_title(network.sizes)}")
    _unfitted_column(grid[:, -1], networks[0])
    style.letter(grid[0, -1], f"({LETTERS[len(networks)]}) as (a), labels not fitted")
    grid[0, 0].set_ylabel(r"Hessian eigenvalue $|\lambda|$")
    grid[1, 0].set_ylabel(r"error relative to $\lambda_1$")
    _legend(figure)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    counts = [
        f"({letter}) {network.count} of {len(network['hessian_exact'])} eigenvalues are not zero "
        f"(in print: at most {network.printed_count})"
        for letter, network in zip(LETTERS[:MOST_NETWORKS], reading.networks, strict=False)
    ]
    return (
        "The labels alone give all eigenvalues of a balanced network that fits them: all those of "
        "linear networks on whitened Gaussian inputs, computed numerically and predicted by eq. "
        f"(13) and (9). {'; '.join(counts)}. The last column: labels with a part that no linear "
        "map explains, for which eq. (13) has the singular values of Y Xᵀ in the place of σ(Y). "
        "Beyond the last eigenvalue that is not zero, the points are rounding."
    )
