"""The whole spectrum of balanced networks: predicted from the labels, and numerical.

The second picture has the errors, and what the paper does not draw: further networks, and labels
that are not fitted.
"""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.errors import FLOOR, visible
from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.studies.deep_linear.balanced_spectrum.derived import networks, widths
from hessian_spectra.pictures import style

Look = dict[str, Any]
# More would be too narrow; the rest are measured all the same.
MOST_NETWORKS = 3
HESSIAN: Look = style.NUMERIC | {"markersize": 3, "color": style.GREY, "markeredgewidth": 0}
LINES: dict[str, Look] = {
    "corrected": {"color": style.BLUE, "linewidth": 1.3},
    "printed": {"color": style.VERMILION, "linewidth": 1.3, "linestyle": (0, (4, 1.5))},
}
# The marks of the errors.
WORDS = {"corrected": "from the labels, corrected", "printed": "from the labels, in print"}
LOOKS: dict[str, Look] = {
    "printed": style.look(style.VERMILION, "s", WORDS["printed"], markersize=1.8),
    "weights": style.look(style.GREEN, "D", "from the weights", markersize=1.8),
    "corrected": style.look(style.BLUE, "o", WORDS["corrected"], markersize=1.8),
    "Lanczos": style.look(style.BLACK, "^", "Lanczos (top)", fillstyle="none"),
}
# The variables that they show of labels that are fitted, and of others.
FITTED = dict(zip(LOOKS, ("printed", "from_weights", "from_labels", "top"), strict=True))
UNFITTED = {"printed": "from_labels", "corrected": "from_solution"}
DENSE = style.entry("dense Hessian", **HESSIAN)
COUNT: Look = {"color": style.BLACK, "linewidth": 0.7, "linestyle": ":"}


def _descending(network: xr.Dataset, variable: str) -> np.ndarray:
    """The eigenvalues that are drawn: those that are not zero, and some of the zeros."""
    count = max(int(network["count"]), int(network["printed_count"]))
    return network[variable].values[::-1][: int(np.ceil(1.15 * count)) + 1]


def _spectrum(axes: Axes, network: xr.Dataset, variables: dict[str, str]) -> None:
    numeric = _descending(network, "hessian")
    rank = np.arange(1, len(numeric) + 1)
    axes.semilogy(rank, visible(np.abs(numeric)), **HESSIAN, zorder=1)
    for mark, look in LINES.items():
        values = _descending(network, variables[mark])
        axes.semilogy(rank, np.where(values > 0, values, np.nan), **look)
    axes.set_ylim(FLOOR, 1e3)
    axes.set_yticks(10.0 ** np.arange(-16, 4, 4))
    axes.set_ylabel(r"Hessian eigenvalue $|\lambda|$")


def _errors(network: xr.Dataset, variables: dict[str, str]) -> list[xr.DataArray]:
    """|λ − λ of the Hessian| / λ_1, eigenvalue by eigenvalue, of each formula."""
    numeric = _descending(network, "hessian")
    errors = []
    for mark, variable in variables.items():
        values = _descending(network, variable)
        off = np.abs(values - numeric[: len(values)]) / numeric[0]
        rank = {"rank, descending": np.arange(1, len(off) + 1)}
        array = xr.DataArray(off, rank, ["rank, descending"], mark)
        errors.append(named(array, r"error relative to $\lambda_1$", rounding=True))
    return errors


def _counts(axes: Axes, network: xr.Dataset) -> None:
    """Mark how many eigenvalues are not zero, and how many are in print."""
    right, printed = int(network["count"]), int(network["printed_count"])
    for count in {right, printed}:
        axes.axvline(count + 0.5, **COUNT)
    place: Look = {"textcoords": "offset points", "fontsize": 6.5, "va": "bottom"}
    equal = "\n= min$(d)^2$" if right == printed else ""
    words = rf"$r d_0 + r d_L - r^2$ = {right}{equal}"
    axes.annotate(words, (right, 2e-17), (-3, 0), **place, ha="right", color=style.BLUE)
    if not equal:
        text = rf"min$(d)^2$ = {printed}"
        axes.annotate(text, (printed, 1e-12), (3, 0), **place, color=style.VERMILION)


def _drawn(axes: Axes, network: xr.Dataset, variables: dict[str, str]) -> None:
    """The spectrum of a network, and of fitted labels how many of it are not zero."""
    _spectrum(axes, network, variables)
    if variables is FITTED:
        _counts(axes, network)


def _title(network: xr.Dataset) -> str:
    sizes = widths(network)
    if len(set(sizes)) == 1:
        return f"{len(sizes) - 1} layers, all widths {sizes[0]}"
    return "widths " + ", ".join(map(str, sizes))


def _said(network: xr.Dataset) -> str:
    count, total, printed = (int(network[n]) for n in ("count", "parameters", "printed_count"))
    return f"{count} of {total} eigenvalues are not zero (in print: at most {printed})"


def draw(data: xr.Dataset) -> Figure:
    """The spectrum of the first network, in descending order, whose labels are fitted."""
    network = next(networks(data)).sel(labels="exact")
    figure, axes = style.panels(height=2.8, width=4.5)
    _spectrum(axes, network, FITTED)
    _counts(axes, network)
    axes.set_xlabel("rank, descending")
    style.letter(axes, _title(network))
    lines = [style.entry(WORDS[mark], **look) for mark, look in LINES.items()]
    handles = [DENSE, *lines]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(data: xr.Dataset) -> str:
    """The marks of the figure, and how many eigenvalues there are."""
    return (
        "Hessian eigenvalues of a balanced linear network on whitened Gaussian inputs, with its "
        "outputs as labels: numerical, and predicted by eq. (13) and (9). "
        f"{_said(next(networks(data)))}. Beyond the last of these (dotted) the points are rounding."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """Spectra and their errors: each network, then the first with a loss above 0."""
    drawn = list(networks(data))[:MOST_NETWORKS]
    columns = [(network.sel(labels="exact"), FITTED, _title(network)) for network in drawn]
    columns.append((drawn[0].sel(labels="least_squares"), UNFITTED, "as (a), labels not fitted"))
    spectra, errors = [], []
    for network, variables, title in columns:
        spectra.append(Panel(title, "", [], partial(_drawn, network=network, variables=variables)))
        errors.append(Panel("its errors", "rank, descending", _errors(network, variables)))
    figure = picture([*spectra, *errors], LOOKS, columns=len(columns), entries=[DENSE])
    counts = zip(style.letters(), map(_said, drawn), strict=False)
    return figure, (
        "Spectra (lines: predicted) and errors of each formula. "
        f"{'; '.join(f'({letter}) {text}' for letter, text in counts)}. Last column: labels "
        "that no linear map fits; eq. (13) then has the singular values of $Y X^⊤$ for $σ(Y)$."
    )
