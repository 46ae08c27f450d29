"""Layer-wise Hessians beside their Kronecker approximations: spectra, spaces, and eigenvectors."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing import curves
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.decoupling.reading import NORMALISED, Reading
from hessian_spectra.pictures import style

COLUMNS = 4
# Of one matrix each, in the panels of eigenvalues.
SPECTRA: dict[str, dict[str, Any]] = {
    "hessian": {**style.NUMERIC, "color": style.GREY, "label": "layer-wise Hessian"},
    "approximation": {"color": style.BLUE, "label": r"$E[M] \otimes E[xx^\top]$"},
    "output": {"color": style.VERMILION, "linestyle": ":", "label": r"$E[M]$ times $\gamma_1$"},
}
ERRORS: dict[str, dict[str, Any]] = {
    "spectral": {"color": style.BLACK, "marker": "^", "label": "spectral norm"},
    "missed": {"color": style.BLUE, "marker": "o", "label": "Frobenius norm"},
    "nearest_missed": {"color": style.GREEN, "marker": "s", "label": "of the nearest product"},
}
# How many eigenvalues are followed through training.
FOLLOWED = 12
SIDES = {"input": r"$E[xx^\top]$", "output": r"$E[M]$"}


def _parts(shown: str) -> tuple[str, str]:
    """Layer and network of a name such as ``fc1:LeNet5``."""
    layer, _, network = shown.partition(":")
    return layer, network


def _number(reading: Reading, shown: str) -> tuple[str, int]:
    """The network of a shown layer, and the layer's number."""
    layer, network = _parts(shown)
    return network, reading.layers(network).index(layer)


def _draw_spectrum(axes: Axes, reading: Reading, shown: str) -> None:
    """Top eigenvalues of one layer by three matrices, of the first seed."""
    network, at = _number(reading, shown)
    factors = {name: reading.throughout(name, network)[0, -1, at] for name in SIDES}
    values = {name: reading.of(name, network)[0, at] for name in ("hessian", "approximation")}
    values["output"] = factors["output"] * factors["input"][0]
    largest = np.nanmax(values["hessian"], initial=0.0)
    for name, look in SPECTRA.items():
        # Below this there is but round-off.
        known = np.where(values[name] > 1e-6 * largest, values[name], np.nan)
        axes.plot(np.arange(1, len(known) + 1), known, **{"markersize": 3, **look, "label": None})
    if largest > 0:
        style.logarithmic(axes)
    _mark_outliers(axes, reading, network)
    axes.set_xlabel("$i$")


def _mark_outliers(axes: Axes, reading: Reading, network: str) -> None:
    try:
        axes.axvline(reading.outliers(network) + 0.5, color=style.GREY, linewidth=0.6)
    except NothingToMeasure:
        return


def _shades(count: int) -> Any:
    """Colours from light to dark, of the first layer to the last, or the first epoch."""
    return style.COLOURMAP(np.linspace(1, 0, count))


def _shown_networks(reading: Reading) -> list[str]:
    return list(dict.fromkeys(_parts(name)[1] for name in reading["shown"].tolist()))


def _draw_by_index(axes: Axes, reading: Reading, name: str) -> None:
    """A number of each eigenvector of each layer, mean over seeds; with batch norm dashed."""
    for network in _shown_networks(reading):
        dashes = "--" if NORMALISED in network else "-"
        rows = reading.of(name, network).mean(axis=0)
        for colour, row in zip(_shades(len(rows)), rows, strict=True):
            index = np.arange(1, len(row) + 1)
            axes.plot(index, row, color=colour, linestyle=dashes, linewidth=0.9)
    _mark_outliers(axes, reading, network)
    axes.set_ylim(0, 1.02)


def _followed(reading: Reading) -> str:
    """The shown layer that is followed through training: one whose inputs change, if there is."""
    names = [str(name) for name in reading["shown"]]
    return next((name for name in names if _number(reading, name)[1] > 0), names[0])


def _draw_training(axes: Axes, reading: Reading, side: str) -> None:
    """Top eigenvalues of a factor of one layer at the kept epochs, of the first seed."""
    network, at = _number(reading, _followed(reading))
    values = reading.throughout(side, network)[0, :, at, :FOLLOWED].astype(np.float64)
    epochs = reading["epoch"]
    for colour, row, epoch in zip(_shades(len(values)), values, epochs, strict=True):
        known = np.where(row > 1e-6 * np.nanmax(row, initial=0.0), row, np.nan)
        label = f"epoch {int(epoch)}"
        index = np.arange(1, len(row) + 1)
        axes.plot(index, known, color=colour, marker=".", markersize=3, linewidth=0.8, label=label)
    if (values > 0).any():
        style.logarithmic(axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    axes.set_xlabel("$i$")


def _draw_errors(axes: Axes, reading: Reading) -> None:
    """Errors of the products by layer of each architecture, one point a seed."""
    ticks: list[str] = []
    for network in reading.networks:
        layers = reading.layers(network)
        for place, (name, look) in enumerate(ERRORS.items()):
            try:
                values = (
                    reading.of(name, network)
                    if name == "spectral"
                    else reading.frobenius(network, name)
                )
            except NothingToMeasure:
                continue
            x = len(ticks) + np.arange(len(layers)) + 0.2 * (place - 1)
            look = {**look, "label": None, "markersize": 3, "alpha": 0.6}
            axes.plot(x, values.T, linestyle="none", **look)
        if ticks:
            axes.axvline(len(ticks) - 0.5, color=style.GREY, linewidth=0.6)
        ticks += [f"{layers[0]}\n{network}", *layers[1:]]
    axes.set_xticks(range(len(ticks)), ticks, fontsize=6)
    axes.set_xlim(-0.6, len(ticks) - 0.4)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(r"$\|K - H\| \, / \, \|H\|$")


def _of_the_product(reading: Reading, shown: str, side: str) -> np.ndarray:
    """The correspondence of the approximation's own eigenvectors: 1 with a single one of each."""
    network, at = _number(reading, shown)
    factors = [reading.throughout(name, network)[0, -1, at] for name in ("output", "input")]
    size = len(factors[0])
    products = np.outer(*(np.nan_to_num(values, nan=-np.inf) for values in factors))
    with np.errstate(invalid="ignore"):
        products = np.where(np.isfinite(products), products, -np.inf)
    order = np.argsort(-products, axis=None, kind="stable")[:size]
    places = np.unravel_index(order, products.shape)[0 if side == "output" else 1]
    result = np.zeros((size, size))
    result[np.arange(size), places] = 1.0
    result[~np.isfinite(products.flat[order])] = np.nan
    return result


def _draw_shares(axes: Axes, shares: np.ndarray) -> Any:
    """A correspondence matrix: eigenvectors of the Hessian to the right, of a factor downwards."""
    axes.grid(visible=False)
    size = len(shares)
    extent = (0.5, size + 0.5, size + 0.5, 0.5)
    return axes.imshow(
        shares.T, cmap=style.COLOURMAP, vmin=0, vmax=1, extent=extent, interpolation="nearest"
    )


def draw(reading: Reading) -> Figure:
    """Spectra, spaces, factors through training, errors, and the shown layers' eigenvectors.

    Raises:
        NothingToMeasure: no layer is shown.
    """
    shown = [str(name) for name in reading["shown"]]
    if not shown:
        raise NothingToMeasure("the networks whose layers are to be shown diverged")
    figure, grid = style.panels(3 + len(shown), COLUMNS, height=1.75)
    letters = style.letters()
    for axes, name in zip(grid[0], shown, strict=False):
        _draw_spectrum(axes, reading, name)
        style.letter(axes, f"({next(letters)}) {name}")
    for axes in grid[0, len(shown) :]:
        axes.set_axis_off()
    grid[0, 0].set_ylabel("eigenvalue")
    curves.main(grid[0, 0])
    titles = {"overlap": "overlap, first $k$", "rank_one": r"$\|\mathrm{Mat}\, h_i\|$ / Frobenius"}
    for axes, (name, title) in zip(grid[1, :2], titles.items(), strict=True):
        _draw_by_index(axes, reading, name)
        axes.set_xlabel("$k$" if name == "overlap" else "$i$")
        style.letter(axes, f"({next(letters)}) {title}")
    for axes, (side, label) in zip(grid[1, 2:], SIDES.items(), strict=True):
        _draw_training(axes, reading, side)
        style.letter(axes, f"({next(letters)}) {label}, {_parts(_followed(reading))[0]}")
    grid[1, 2].legend(handlelength=1.0, labelspacing=0.2)
    for axes in grid[2]:
        axes.remove()
    wide = figure.add_subplot(grid[0, 0].get_gridspec()[2, :])
    _draw_errors(wide, reading)
    style.letter(wide, f"({next(letters)}) error of the product")
    points = [Line2D([], [], ls="none", markersize=3, **look) for look in ERRORS.values()]
    wide.legend(handles=points, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
    for row, name, place in zip(grid[3:], shown, range(len(shown)), strict=True):
        for axes, (side, label) in zip(row[:2], SIDES.items(), strict=True):
            image = _draw_shares(axes, reading[f"{side}_share"][place])
            style.letter(axes, f"({next(letters)}) $H$, {label}")
        for axes, (side, label) in zip(row[2:], SIDES.items(), strict=True):
            image = _draw_shares(axes, _of_the_product(reading, name, side))
            style.letter(axes, f"({next(letters)}) product, {label}")
        row[0].set_ylabel(name)
    figure.colorbar(image, ax=list(grid[3:, -1]), shrink=0.8)
    grid[1, 1].legend(handles=_layers(reading), loc="lower left", ncols=2, columnspacing=1.0)
    figure.legend(handles=_spectra(), loc="outside upper center", ncols=3)
    return figure


def _spectra() -> list[Line2D]:
    looks = ({"markersize": 3, "linestyle": "-", **look} for look in SPECTRA.values())
    return [Line2D([], [], **look) for look in looks]


def _layers(reading: Reading) -> list[Line2D]:
    names = max((reading.layers(name) for name in _shown_networks(reading)), key=len)
    pairs = zip(_shades(len(names)), names, strict=True)
    return [Line2D([], [], color=colour, linewidth=0.9, label=name) for colour, name in pairs]


def caption(reading: Reading) -> str:
    """What is seen, how to read it, and the setting."""
    return (
        "The Kronecker product of two expectations has the top eigenvalues and eigenspace of a "
        "layer-wise Hessian H as far as E[xxᵀ] is of rank one. First row: top eigenvalues of a "
        "layer, of the product, and of E[M] times the first of E[xxᵀ]; the line marks c − 1, of c "
        "classes. Second row: overlap of the first k eigenvectors of H and of the product, and the "
        "largest singular value of each matricised one of H, mean over seeds (with batch "
        "normalisation dashed); eigenvalues of the factors at the kept epochs. Third row: the "
        "product's error in two norms, and that of the nearest Kronecker product, one point a "
        "network. Rows below: how much of the i-th eigenvector of H, or of the product, lies along "
        "the j-th (downwards) of each factor, of the first network. Classifiers after "
        f"{int(reading['epoch'][-1])} epochs."
    )
