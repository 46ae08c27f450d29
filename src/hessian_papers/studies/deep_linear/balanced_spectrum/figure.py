"""The whole spectrum of balanced networks: predicted from the labels, and numerical."""

import string
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.errors import BOTTOM, FLOOR, rounding_band, visible
from hessian_papers.studies.deep_linear.balanced_spectrum.derived import networks, widths
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
# What they show of labels that are fitted, and of others.
FITTED = {
    "printed": "printed",
    "weights": "from_weights",
    "corrected": "from_labels",
    "Lanczos": "top",
}
UNFITTED = {"printed": "from_labels", "corrected": "from_solution"}
COUNT: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.7, "linestyle": ":"}


def _shown(network: xr.Dataset) -> int:
    """How many eigenvalues are drawn: those that are not zero, and some of the zeros."""
    count = max(int(network["count"]), int(network["printed_count"]))
    return min(int(network["parameters"]), int(np.ceil(1.15 * count)) + 1)


def _spectrum(axes: Axes, numeric: np.ndarray, exact: dict[str, np.ndarray]) -> None:
    rank = np.arange(1, len(numeric) + 1)
    points = style.NUMERIC | {"markersize": 3, "color": style.GREY, "markeredgewidth": 0}
    axes.semilogy(rank, visible(np.abs(numeric)), **points, zorder=1)
    for mark, look in (("corrected", CORRECTED), ("printed", PRINTED)):
        values = exact[mark]
        axes.semilogy(rank, np.where(values > 0, values, np.nan), **look)
    axes.set_ylim(FLOOR, 1e3)
    axes.set_yticks(10.0 ** np.arange(-16, 4, 4))
    axes.tick_params(labelbottom=False)


def _errors(axes: Axes, numeric: np.ndarray, exact: dict[str, np.ndarray]) -> None:
    """|λ − λ of the Hessian| / λ_1, eigenvalue by eigenvalue."""
    for mark, values in exact.items():
        error = np.abs(values - numeric[: len(values)]) / numeric[0]
        look: dict[str, Any] = {"linestyle": "none", "markersize": 3 if mark == "Lanczos" else 1.8}
        axes.semilogy(np.arange(1, len(values) + 1), visible(error), **look, **LOOKS[mark])
    rounding_band(axes)
    axes.set_ylim(BOTTOM, 10)
    axes.set_yticks(10.0 ** np.arange(-16, 1, 4))
    axes.set_xlabel("rank, descending")


def _counts(grid: np.ndarray, network: xr.Dataset) -> None:
    """Mark how many eigenvalues are not zero, and how many are in print."""
    right, printed = int(network["count"]), int(network["printed_count"])
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


def _column(grid: np.ndarray, network: xr.Dataset, sides: dict[str, str]) -> None:
    """One network with one kind of labels: the spectrum above, the errors below.

    Args:
        grid: the two panels.
        network: its data.
        sides: the variable that holds what each of the marks shows.
    """
    shown, falling = _shown(network), slice(None, None, -1)
    largest = network.isel(rank=falling, top=falling)
    numeric = largest["hessian"].values[:shown]
    exact = {mark: largest[name].values[:shown] for mark, name in sides.items()}
    _spectrum(grid[0], numeric, exact)
    _errors(grid[1], numeric, exact)


def draw(data: xr.Dataset) -> Figure:
    """Spectra in descending order and their errors: each network, then one with a loss above 0."""
    drawn = list(networks(data))[:MOST_NETWORKS]
    figure, grid = style.panels(
        2, len(drawn) + 1, height=2.0, sharex="col", sharey="row", squeeze=False
    )
    for column, network, letter in zip(grid.T, drawn, LETTERS, strict=False):
        _column(column, network.sel(labels="exact"), FITTED)
        _counts(column, network)
        style.letter(column[0], f"({letter}) {_title(widths(network))}")
    _column(grid[:, -1], drawn[0].sel(labels="least_squares"), UNFITTED)
    style.letter(grid[0, -1], f"({LETTERS[len(drawn)]}) as (a), labels not fitted")
    grid[0, 0].set_ylabel(r"Hessian eigenvalue $|\lambda|$")
    grid[1, 0].set_ylabel(r"error relative to $\lambda_1$")
    _legend(figure)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    counts = [
        f"({letter}) {network['count'].item()} of {network['parameters'].item()} eigenvalues are "
        f"not zero (in print: at most {network['printed_count'].item()})"
        for letter, network in zip(LETTERS[:MOST_NETWORKS], networks(data), strict=False)
    ]
    return (
        "The labels alone give all eigenvalues of a balanced network that fits them: all those of "
        "linear networks on whitened Gaussian inputs, computed numerically and predicted by eq. "
        f"(13) and (9). {'; '.join(counts)}. The last column: labels with a part that no linear "
        "map explains, for which eq. (13) has the singular values of Y Xᵀ in the place of σ(Y). "
        "Beyond the last eigenvalue that is not zero, the points are rounding."
    )
