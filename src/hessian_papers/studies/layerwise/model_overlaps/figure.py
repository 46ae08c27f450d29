"""Overlaps by the dimension of the spaces, a panel for each layer of each architecture."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.formulas import raised
from hessian_papers.studies.layerwise.model_overlaps.derived import layers, paired, satisfied
from hessian_spectra.pictures import style

Looks = Mapping[str, Mapping[str, Any]]
# Of the theorem, and of networks that were trained with the same settings, where not all were.
LIMIT = r"Theorem G.1, $(k/m)\,(t_1 \cdot t_1')^2$; last layer: no $k/m$"
DEVIATION, OUTPUTS = (
    "Hessians, with the deviation over pairs",
    "expected over permutations of outputs",
)
THEOREM: Looks = {"theorem": style.look(style.GREEN, label=LIMIT, linestyle=":", linewidth=1.4)}
MEASURED: Looks = {
    "overlap": style.look(style.BLUE, label=DEVIATION),
    "chance": style.look(style.GREY, label="random spaces", linewidth=0.9),
}
ALIKE: Looks = {
    "alike": style.look(
        style.PURPLE, label="Hessians, trained alike", linestyle="-.", linewidth=0.9
    )
}
PREDICTED: Looks = {
    "overlap": style.look(style.BLUE, label="Hessians"),
    "kronecker": style.look(style.ORANGE, label="Kronecker approximations", linewidth=0.9),
    "permuted": style.look(style.VERMILION, label=OUTPUTS, linestyle="--", linewidth=0.9),
}
# The vertical lines: the outputs, and up to where the theorem's condition holds.
ACROSS: Mapping[str, Any] = {"color": style.BLACK, "linewidth": 0.6}
VERTICAL: Looks = {
    "outputs": {**ACROSS, "label": "output dimension m"},
    "condition": {**ACROSS, "label": r"end of $τ_k γ_1 > τ_1 γ_2$", "linestyle": ":"},
}
# At most so many panels in a row.
COLUMNS = 3
# An inset has the dimensions up to so many times the classes, in panels of twice as many or more.
EARLY = 2
# Left, bottom, width and height of an inset, as shares of the panel.
CORNERS = ((0.63, 0.14, 0.33, 0.35), (0.2, 0.62, 0.33, 0.35))


def _curves(layer: xr.Dataset, looks: Looks) -> dict[str, xr.DataArray]:
    """The lines of a layer by the dimension of the spaces: means over pairs, and theory."""
    k, outputs = layer["rank"], layer["outputs"]
    height = layer["first_inputs"].mean()
    known = {
        "chance": k / (outputs * layer["inputs"]),
        "alike": layer["overlap"].where(~layer["differing"]).mean("pair"),
        "theorem": (height + 0 * k if layer["last"] else height * k / outputs).where(k <= outputs),
    }
    means = layer[["overlap", "kronecker", "permuted"]].mean("pair")
    return {name: known[name] if name in known else means[name] for name in looks}


def _draw_overlaps(axes: Axes, layer: xr.Dataset, looks: Looks) -> None:
    """The overlaps of one layer, with lines at its outputs and where the condition ends."""
    k, spread = layer["rank"].values, layer["overlap"].std("pair")
    curves = _curves(layer, looks)
    for name, curve in curves.items():
        axes.plot(k, curve, **looks[name])
    low, high = (curves["overlap"] + sign * spread for sign in (-1, 1))
    axes.fill_between(k, low, high, color=style.BLUE, alpha=0.18, linewidth=0)
    # The theorem's line may leave the panel: what is measured decides its height.
    heights = [float(curve.max()) for name, curve in curves.items() if name != "theorem"]
    axes.set_ylim(0, 1.12 * max(*heights, float(high.max())))
    axes.set_xlim(1, max(len(k), 2))
    outputs, condition = int(layer["outputs"]), satisfied(layer)
    for name, place in {"outputs": outputs, "condition": condition}.items():
        if place <= len(k) and (name == "outputs" or 1 <= place < outputs):
            axes.axvline(place, **VERTICAL[name])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))


def _free_corner(axes: Axes) -> tuple[float, float, float, float]:
    """The corner of a panel with the fewest points of curves; that of chance may be covered."""
    to_panel = axes.transData + axes.transAxes.inverted()
    curves = [line.get_xydata() for line in axes.lines if line.get_color() != style.GREY]
    x, y = to_panel.transform(np.concatenate(curves)).T

    def covered(corner: tuple[float, float, float, float]) -> int:
        left, bottom, width, height = corner
        across = (left <= x) & (x <= left + width)
        return int((across & (bottom <= y) & (y <= bottom + height)).sum())

    return min(CORNERS, key=covered)


def _draw_layer(axes: Axes, layer: xr.Dataset, looks: Looks) -> None:
    """The overlaps of one layer; in an inset the early ones, if there are many more."""
    _draw_overlaps(axes, layer, looks)
    axes.tick_params(labelsize=6.5)
    early = EARLY * int(layer["classes"])
    if layer.sizes["rank"] >= 2 * early:
        inset = axes.inset_axes(_free_corner(axes), zorder=5)
        _draw_overlaps(inset, layer.isel(rank=slice(early)), looks)
        inset.tick_params(labelsize=5, length=2, pad=1)
        inset.yaxis.set_major_locator(MaxNLocator(nbins=3))


def _drawn(data: xr.Dataset, looks: Looks) -> Figure:
    """A panel for each layer; each architecture begins a row."""
    networks: Iterable[str] = data["network"].values.tolist()
    looks, rows = {**looks, **THEOREM}, []
    for network in networks:
        own = layers(data.sel(network=network))
        rows += [(network, own[at : at + COLUMNS]) for at in range(0, len(own), COLUMNS)]
    columns = max(len(own) for _, own in rows)
    figure, grid = style.panels(len(rows), columns, height=1.75, squeeze=False)
    names = style.letters()
    for (network, own), row in zip(rows, grid, strict=True):
        for axes, layer in zip(row, own, strict=False):
            _draw_layer(axes, layer, looks)
            title = f"{layer['layer'].item()}, m = {int(layer['outputs'])}"
            style.letter(axes, f"({next(names)}) {title}")
            axes.set_xlabel("dimension k")
        for axes in row[len(own) :]:
            axes.remove()
        row[0].set_ylabel(f"{raised(network)}\noverlap of the first k")
    handles = [style.entry(**look) for look in {**looks, **VERTICAL}.values()]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def draw(data: xr.Dataset) -> Figure:
    """The overlap of each layer's top spaces beside that of random ones."""
    differing = paired(data)["differing"]
    some = differing.any() and not differing.all()
    return _drawn(data, {**MEASURED, **(ALIKE if some else {})})


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the setting."""
    differing = paired(data)["differing"].values
    also = (
        f"; {(~differing).sum()} of {len(differing)} pairs were trained alike"
        if differing.any()
        else ""
    )
    return (
        f"Overlap of the top k eigenspaces of a layer's Hessian on {int(data['images'])} images, "
        f"mean over pairs of {data.sizes['seed']} networks{also}."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The overlaps beside what the factors predict of them."""
    return _drawn(data, PREDICTED), (
        "The overlap of the Hessians, of their Kronecker approximations, and what is expected of "
        "that with the outputs of one network permuted at random; lines and insets as above."
    )
