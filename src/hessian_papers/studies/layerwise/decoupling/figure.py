"""Layer-wise Hessians beside their Kronecker approximations: spectra, spaces, and eigenvectors."""

import contextlib
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing import curves
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.decoupling.derived import NORMALISED, frobenius, outliers
from hessian_papers.studies.layerwise.drawing import draw_layers
from hessian_papers.studies.layerwise.layers import layer_names, own_layers
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


def _of_layer(data: xr.Dataset, shown: str) -> xr.Dataset:
    """A shown layer of the first seed."""
    layer, network = _parts(shown)
    return own_layers(data.sel(network=network)).sel(layer=layer).isel(seed=0)


def _draw_spectrum(axes: Axes, data: xr.Dataset, shown: str) -> None:
    """Top eigenvalues of one layer by three matrices, of the first seed."""
    layer = _of_layer(data, shown).isel(epoch=-1)
    layer["output"] = layer["output"] * layer["input"].isel(rank=0)
    least = 1e-6 * float(layer["hessian"].max())
    index = np.arange(1, data.sizes["rank"] + 1)
    for name, look in SPECTRA.items():
        # Below this there is but round-off.
        known = layer[name].where(layer[name] > least)
        axes.plot(index, known.values, **{"markersize": 3, **look, "label": None})
    if least > 0:
        style.logarithmic(axes)
    _mark_outliers(axes, data.sel(network=_parts(shown)[1]))
    axes.set_xlabel("$i$")


def _mark_outliers(axes: Axes, data: xr.Dataset) -> None:
    with contextlib.suppress(NothingToMeasure):
        axes.axvline(outliers(data) + 0.5, color=style.GREY, linewidth=0.6)


def _shades(count: int) -> Any:
    """Colours from light to dark, of the first layer to the last, or the first epoch."""
    return style.COLOURMAP(np.linspace(1, 0, count))


def _shown_networks(data: xr.Dataset) -> list[str]:
    return list(dict.fromkeys(_parts(name)[1] for name in data["shown"].values.tolist()))


def _draw_by_index(axes: Axes, data: xr.Dataset, name: str) -> None:
    """A number of each eigenvector of each layer, mean over seeds; with batch norm dashed."""
    index = np.arange(1, data.sizes["rank"] + 1)
    for network in _shown_networks(data):
        dashes = "--" if NORMALISED in network else "-"
        rows = own_layers(data.sel(network=network))[name].mean("seed", skipna=False)
        for colour, row in zip(_shades(len(rows)), rows.values, strict=True):
            axes.plot(index, row, color=colour, linestyle=dashes, linewidth=0.9)
    _mark_outliers(axes, data.sel(network=network))
    axes.set_ylim(0, 1.02)


def _followed(data: xr.Dataset) -> str:
    """The shown layer that is followed through training: one whose inputs change, if there is."""
    names = data["shown"].values.tolist()
    firsts = {f"{layer_names(data, net)[0]}:{net}" for net in _shown_networks(data)}
    return next((name for name in names if name not in firsts), names[0])


def _draw_training(axes: Axes, data: xr.Dataset, side: str) -> None:
    """Top eigenvalues of a factor of one layer at the kept epochs, of the first seed."""
    values = _of_layer(data, _followed(data))[side].isel(rank=slice(FOLLOWED)).astype(float)
    index = np.arange(1, values.sizes["rank"] + 1)
    known = values.where(values > 1e-6 * values.max("rank"))
    for colour, row in zip(_shades(len(known)), known, strict=True):
        look = {"color": colour, "marker": ".", "markersize": 3, "linewidth": 0.8}
        axes.plot(index, row.values, label=f"epoch {int(row['epoch'])}", **look)
    if (values > 0).any():
        style.logarithmic(axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    axes.set_xlabel("$i$")


def _draw_errors(axes: Axes, data: xr.Dataset) -> None:
    """Errors of the products by layer of each architecture, one point a seed."""
    errors = {name: frobenius(data, name) for name in ERRORS if name != "spectral"}
    draw_layers(axes, data.assign(errors), ERRORS, aside=0.2, fontsize=6)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(r"$\|K - H\| \, / \, \|H\|$")


def _of_the_product(layer: xr.Dataset, side: str) -> np.ndarray:
    """The correspondence of the approximation's own eigenvectors: 1 with a single one of each."""
    products = np.nan_to_num(np.outer(layer["output"], layer["input"]), nan=-np.inf)
    size = len(products)
    order = np.argsort(-products, axis=None, kind="stable")[:size]
    places = np.unravel_index(order, products.shape)[0 if side == "output" else 1]
    result = (places[:, None] == np.arange(size)).astype(float)
    result[products.flat[order] == -np.inf] = np.nan
    return result


def _draw_shares(axes: Axes, shares: np.ndarray) -> Any:
    """A correspondence matrix: eigenvectors of the Hessian to the right, of a factor downwards."""
    axes.grid(visible=False)
    size = len(shares)
    extent = (0.5, size + 0.5, size + 0.5, 0.5)
    return axes.imshow(
        shares.T, cmap=style.COLOURMAP, vmin=0, vmax=1, extent=extent, interpolation="nearest"
    )


def draw(data: xr.Dataset) -> Figure:
    """Spectra, spaces, factors through training, errors, and the shown layers' eigenvectors.

    Raises:
        NothingToMeasure: no layer is shown.
    """
    shown = data["shown"].values.tolist()
    if not shown:
        raise NothingToMeasure("the networks whose layers are to be shown diverged")
    last = data.isel(epoch=-1)
    figure, grid = style.panels(3 + len(shown), COLUMNS, height=1.75)
    letters = style.letters()
    for axes, name in zip(grid[0], shown, strict=False):
        _draw_spectrum(axes, data, name)
        style.letter(axes, f"({next(letters)}) {name}")
    for axes in grid[0, len(shown) :]:
        axes.set_axis_off()
    grid[0, 0].set_ylabel("eigenvalue")
    curves.main(grid[0, 0])
    titles = {"overlap": "overlap, first $k$", "rank_one": r"$\|\mathrm{Mat}\, h_i\|$ / Frobenius"}
    for axes, (name, title) in zip(grid[1, :2], titles.items(), strict=True):
        _draw_by_index(axes, data, name)
        axes.set_xlabel("$k$" if name == "overlap" else "$i$")
        style.letter(axes, f"({next(letters)}) {title}")
    for axes, (side, label) in zip(grid[1, 2:], SIDES.items(), strict=True):
        _draw_training(axes, data, side)
        style.letter(axes, f"({next(letters)}) {label}, {_parts(_followed(data))[0]}")
    grid[1, 2].legend(handlelength=1.0, labelspacing=0.2)
    for axes in grid[2]:
        axes.remove()
    wide = figure.add_subplot(grid[0, 0].get_gridspec()[2, :])
    _draw_errors(wide, last)
    style.letter(wide, f"({next(letters)}) error of the product")
    points = [Line2D([], [], ls="none", markersize=3, **look) for look in ERRORS.values()]
    wide.legend(handles=points, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
    for row, name in zip(grid[3:], shown, strict=True):
        for axes, (side, label) in zip(row[:2], SIDES.items(), strict=True):
            image = _draw_shares(axes, data[f"{side}_share"].sel(shown=name).values)
            style.letter(axes, f"({next(letters)}) $H$, {label}")
        for axes, (side, label) in zip(row[2:], SIDES.items(), strict=True):
            image = _draw_shares(axes, _of_the_product(_of_layer(last, name), side))
            style.letter(axes, f"({next(letters)}) product, {label}")
        row[0].set_ylabel(name)
    figure.colorbar(image, ax=list(grid[3:, -1]), shrink=0.8)
    grid[1, 1].legend(handles=_layers(data), loc="lower left", ncols=2, columnspacing=1.0)
    looks = ({"markersize": 3, "linestyle": "-", **look} for look in SPECTRA.values())
    spectra = [Line2D([], [], **look) for look in looks]
    figure.legend(handles=spectra, loc="outside upper center", ncols=3)
    return figure


def _layers(data: xr.Dataset) -> list[Line2D]:
    names = max((layer_names(data, name) for name in _shown_networks(data)), key=len)
    pairs = zip(_shades(len(names)), names, strict=True)
    return [Line2D([], [], color=colour, linewidth=0.9, label=name) for colour, name in pairs]


def caption(data: xr.Dataset) -> str:
    """What is seen, how to read it, and the setting."""
    normalised = any(NORMALISED in network for network in _shown_networks(data))
    dashed = " (with batch normalisation dashed)" if normalised else ""
    return (
        "The Kronecker product of two expectations has the top eigenvalues and eigenspace of a "
        "layer-wise Hessian H as far as E[xxᵀ] is of rank one. First row: top eigenvalues of a "
        "layer, of the product, and of E[M] times the first of E[xxᵀ]; the line marks c − 1, of c "
        "classes. Second row: overlap of the first k eigenvectors of H and of the product, and the "
        f"largest singular value of each matricised one of H, mean over seeds{dashed}; "
        "eigenvalues of the factors at the kept epochs. Third row: the "
        "product's error in two norms, and that of the nearest Kronecker product, one point a "
        "network. Rows below: how much of the i-th eigenvector of H, or of the product, lies along "
        "the j-th (downwards) of each factor, of the first network. Classifiers after "
        f"{int(data['epoch'][-1])} epochs."
    )
