"""Layer-wise Hessians beside their Kronecker approximations: spectra, spaces, and eigenvectors."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing import curves
from hessian_papers.formulas import raised
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.decoupling.derived import frobenius, outliers
from hessian_papers.studies.layerwise.drawing import OUTLIERS, draw_layers, mark_outliers
from hessian_papers.studies.layerwise.layers import NORMALISED, layer_names, own_layers
from hessian_papers.studies.layerwise.standing import standings
from hessian_spectra.pictures import style

# Of one matrix each, in the panels of eigenvalues.
SPECTRA: dict[str, dict[str, Any]] = {
    "hessian": {**style.NUMERIC, "color": style.GREY, "label": "layer-wise Hessian $H$"},
    "approximation": {"color": style.BLUE, "label": r"product $E[M] \otimes E[xx^\top]$"},
    "output": {"color": style.VERMILION, "linestyle": ":", "label": r"$E[M]$ times $\gamma_1$"},
}
ERRORS: dict[str, dict[str, Any]] = {
    "spectral": {"color": style.BLACK, "marker": "^", "label": "product, spectral norm"},
    "missed": {"color": style.BLUE, "marker": "o", "label": "product, Frobenius norm"},
}
# Eigenvalues that are followed through training, and eigenvectors of a correspondence matrix.
FOLLOWED, LEADING = 12, 40
SIDES = {"input": r"$E[xx^\top]$", "output": r"$E[M]$"}
# What stands over a panel, and what draws it.
Panel = tuple[str, Callable[[Axes], Any]]


def _network(shown: str) -> str:
    """The network of a layer such as ``fc1:LeNet5``."""
    return shown.partition(":")[2]


def _of_layer(data: xr.Dataset, shown: str) -> xr.Dataset:
    """A shown layer of the first seed."""
    layer, _, network = shown.partition(":")
    return own_layers(data.sel(network=network)).sel(layer=layer).isel(seed=0)


def _shown(data: xr.Dataset) -> list[str]:
    """The layers that are shown.

    Raises:
        NothingToMeasure: none is.
    """
    names: list[str] = data["shown"].values.tolist()
    if not names:
        raise NothingToMeasure("the networks whose layers are to be shown diverged")
    return names


def _shown_networks(data: xr.Dataset) -> list[str]:
    return list(dict.fromkeys(map(_network, _shown(data))))


def _is_convolutional(data: xr.Dataset) -> bool:
    """True of networks with convolutions, of which the paper shows the eigenvectors."""
    return bool(data["layer_name"].str.startswith("conv").any())


def _shades(count: int) -> Any:
    """Colours from light to dark, of the first layer to the last, or the first epoch."""
    return style.COLOURMAP(np.linspace(1, 0, count))


def _index(axes: Axes, values: xr.DataArray | xr.Dataset, what: str) -> np.ndarray:
    """The numbers along the horizontal axis, and its label."""
    axes.set_xlabel(f"index i of the {what}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    return np.arange(1, values.sizes["rank"] + 1)


def _beside(axes: Axes, title: str) -> None:
    """The names of the lines, outside of the panel."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), handlelength=1.0, title=title)


def _draw_spectrum(axes: Axes, data: xr.Dataset, shown: str) -> None:
    """Top eigenvalues of one layer by three matrices, of the first seed."""
    layer = _of_layer(data, shown).isel(epoch=-1)
    layer["output"] = layer["output"] * layer["input"].isel(rank=0)
    least = 1e-6 * float(layer["hessian"].max())
    index = _index(axes, layer, "eigenvalue")
    for name, look in SPECTRA.items():
        # Below this there is but round-off.
        known = layer[name].where(layer[name] > least)
        axes.plot(index, known.values, **{"markersize": 3, **look, "label": None})
    if least > 0:
        style.logarithmic(axes)
    mark_outliers(axes, partial(outliers, data.sel(network=_network(shown))))
    axes.set_ylabel("eigenvalue")


def _draw_by_index(axes: Axes, data: xr.Dataset, name: str, label: str) -> None:
    """A number of each eigenvector of each layer, mean over seeds; with batch norm dashed."""
    index = _index(axes, data, "eigenvector")
    for network in _shown_networks(data):
        dashes = "--" if NORMALISED in network else "-"
        rows = own_layers(data.sel(network=network))[name].mean("seed", skipna=False)
        for colour, row in zip(_shades(len(rows)), rows, strict=True):
            look = {"color": colour, "linestyle": dashes, "linewidth": 0.9}
            axes.plot(index, row.values, **look)
    mark_outliers(axes, partial(outliers, data.sel(network=network)))
    axes.set_ylim(0, 1.02)
    axes.set_ylabel(label)
    names = max((layer_names(data, each) for each in _shown_networks(data)), key=len)
    for colour, layer in zip(_shades(len(names)), names, strict=True):
        axes.plot([], [], color=colour, linewidth=0.9, label=layer)
    _beside(axes, "layer")


def _draw_training(axes: Axes, data: xr.Dataset, shown: str, side: str) -> None:
    """Top eigenvalues of a factor of one layer at the kept epochs, of the first seed."""
    values = _of_layer(data, shown)[side].isel(rank=slice(FOLLOWED)).astype(float)
    index = _index(axes, values, "eigenvalue")
    known = values.where(values > 1e-6 * values.max("rank"))
    for colour, row in zip(_shades(len(known)), known, strict=True):
        look = {"color": colour, "marker": ".", "markersize": 3, "linewidth": 0.8}
        axes.plot(index, row.values, label=str(int(row["epoch"])), **look)
    if (values > 0).any():
        style.logarithmic(axes)
    axes.set_ylabel("eigenvalue")
    _beside(axes, "epoch")


def _followed(data: xr.Dataset) -> str:
    """The shown layer that is followed through training: one whose inputs change, if there is."""
    names = _shown(data)
    firsts = {f"{layer_names(data, net)[0]}:{net}" for net in _shown_networks(data)}
    return next((name for name in names if name not in firsts), names[0])


def _of_the_product(layer: xr.Dataset, side: str) -> np.ndarray:
    """The correspondence of the approximation's own eigenvectors: 1 with a single one of each."""
    products = np.nan_to_num(np.outer(layer["output"], layer["input"]), nan=-np.inf)
    size = len(products)
    order = np.argsort(-products, axis=None, kind="stable")[:size]
    places = np.unravel_index(order, products.shape)[0 if side == "output" else 1]
    result = (places[:, None] == np.arange(size)).astype(float)
    result[products.flat[order] == -np.inf] = np.nan
    return result


def _draw_shares(axes: Axes, shares: np.ndarray, side: str) -> Any:
    """The leading part of a correspondence matrix, a factor's eigenvectors downwards."""
    known = shares[:LEADING, :LEADING]
    known = known[:, np.isfinite(known).any(axis=0)].T
    extent = (0.5, known.shape[1] + 0.5, known.shape[0] + 0.5, 0.5)
    axes.grid(visible=False)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    axes.set_xlabel("index i of the eigenvector")
    axes.set_ylabel(f"index j of that of {SIDES[side]}")
    look: dict[str, Any] = {"cmap": "Blues", "interpolation": "nearest", "aspect": "auto"}
    return axes.imshow(known, vmin=0, vmax=1, extent=extent, **look)


def _spectra(data: xr.Dataset) -> list[Panel]:
    return [(name, partial(_draw_spectrum, data=data, shown=name)) for name in _shown(data)]


def _overlap(data: xr.Dataset) -> Panel:
    label = "overlap of the first i"
    return "top eigenspaces", partial(_draw_by_index, data=data, name="overlap", label=label)


def _correspondences(title: str, shares: Mapping[str, np.ndarray]) -> list[Panel]:
    """A panel for each side of a correspondence."""
    return [
        (title, partial(_draw_shares, shares=share, side=side)) for side, share in shares.items()
    ]


def _eigenvectors(data: xr.Dataset, shown: str) -> list[Panel]:
    """The correspondence of the eigenvectors of a shown layer with those of both factors."""
    shares = {side: data[f"{side}_share"].sel(shown=shown).values for side in SIDES}
    return _correspondences(f"$H$, {shown}", shares)


def _drawn(
    panels: Sequence[Panel], columns: int, height: float, more: int = 0
) -> tuple[Figure, Any]:
    """Panels row by row, with ``more`` empty rows; those of eigenvectors share a bar of colours."""
    size: dict[str, Any] = {"height": height, "width": max(style.FULL_WIDTH, 2.25 * columns)}
    rows = -(-len(panels) // columns) + more
    figure, grid = style.panels(rows, columns, squeeze=False, **size)
    maps: dict[Axes, Any] = {}
    for axes, (title, paint), name in zip(grid.flat, panels, style.letters(), strict=False):
        if (image := paint(axes)) is not None:
            maps[axes] = image
        style.letter(axes, f"({name}) {raised(title)}")
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for image in [*maps.values()][:1]:
        label = "fraction of an eigenvector along another"
        figure.colorbar(image, ax=[*maps], shrink=0.6, label=label)
    return figure, grid[0, 0].get_gridspec()


def _name_spectra(figure: Figure, data: xr.Dataset) -> None:
    """A key to the curves of spectra, and of overlaps beside them, above the panels."""
    handles = [style.entry(**{**look, "markersize": 3}) for look in SPECTRA.values()]
    handles.append(style.entry("$c - 1$, of c classes", **OUTLIERS))
    if any(NORMALISED in network for network in _shown_networks(data)):
        handles.append(style.entry("with batch normalisation", color=style.GREY, linestyle="--"))
    figure.legend(handles=handles, loc="outside upper center", ncols=2)


def draw(data: xr.Dataset) -> Figure:
    """Spectra of the shown layers and overlaps of top spaces; of convolutions, eigenvectors.

    Raises:
        NothingToMeasure: no layer is shown.
    """
    shown = _shown(data)
    if _is_convolutional(data):
        layer = _of_layer(data.isel(epoch=-1), shown[0])
        shares = {side: _of_the_product(layer, side) for side in SIDES}
        product = _correspondences(f"product, {shown[0]}", shares)
        return _drawn([*_eigenvectors(data, shown[0]), *product], 2, 2.9)[0]
    figure, _ = _drawn([*_spectra(data), _overlap(data)], min(len(shown) + 1, 3), 2.1)
    _name_spectra(figure, data)
    curves.main(figure.axes[0])
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The errors of the product, how near eigenvectors are to products, and factors in training.

    Raises:
        NothingToMeasure: no layer is shown.
    """
    followed, convolutional = _followed(data), _is_convolutional(data)
    label = r"$\|\mathrm{Mat}\, h_i\|$ / Frobenius norm"
    rank_one = partial(_draw_by_index, data=data, name="rank_one", label=label)
    panels: list[Panel] = [("eigenvectors as matrices", rank_one)]
    panels += [
        (f"{name}, {followed}", partial(_draw_training, data=data, shown=followed, side=side))
        for side, name in SIDES.items()
    ]
    if convolutional:
        panels.append(_overlap(data))
        panels += [panel for name in _shown(data)[1:] for panel in _eigenvectors(data, name)]
        panels += _spectra(data)
    figure, places = _drawn(panels, 3 + convolutional, 2.0, more=1)
    wide = figure.add_subplot(places[-1, :])
    drawn = data.assign(missed=frobenius(data)).isel(epoch=-1)
    draw_layers(wide, drawn, ERRORS, aside=0.2, fontsize=6)
    wide.set_ylim(bottom=0)
    wide.set_ylabel(r"$\|K - H\| \, / \, \|H\|$")
    points = [style.entry(**{"ls": "none", "markersize": 3, **look}) for look in ERRORS.values()]
    wide.legend(handles=points, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    rest = ""
    if convolutional:
        _name_spectra(figure, data)
        rest = " The rest as in the other figures."
    return figure, (
        "Largest singular value of each matricised eigenvector of H, mean over seeds; eigenvalues "
        "of one layer's factors at several epochs, for the first network; distance of the product "
        f"K from H, one point per network.{rest} "
        f"After {int(data['epoch'][-1])} epochs."
    )


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the setting."""
    if _is_convolutional(data):
        return (
            "Fraction of the i-th eigenvector of H, or of the product, along the j-th of each "
            "factor, first network; the product's lie along a single one. "
            f"{standings(data)}"
        )
    return (
        "Eigenvalues: first network; $γ_1$ that of $E[xx^⊤]$. Overlap of first i eigenvectors of H "
        f"and the product: mean over seeds. {standings(data)}"
    )
