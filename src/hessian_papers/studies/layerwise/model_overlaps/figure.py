"""Overlaps by the dimension of the spaces, a row for each architecture, a panel for each layer."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.studies.layerwise.model_overlaps.derived import layers, paired, satisfied
from hessian_spectra.pictures import style

Looks = Mapping[str, Mapping[str, Any]]
MEASURED: Looks = {
    "overlap": {"color": style.BLUE, "label": "Hessians, with the deviation over pairs"},
    "theorem": {"color": style.GREEN, "label": "Theorem G.1", "linestyle": ":", "linewidth": 1.4},
    "chance": {"color": style.GREY, "label": "random spaces", "linewidth": 0.9},
}
OUTPUTS: Mapping[str, Any] = {"color": style.BLACK, "linewidth": 0.6, "label": "output dimension m"}
# The pairs of networks that were trained with the same settings, where not all were.
ALIKE: Looks = {
    "alike": {
        **{"color": style.PURPLE, "linestyle": "-.", "linewidth": 0.9},
        "label": "Hessians, trained alike",
    }
}
PREDICTED: Looks = {
    "overlap": {"color": style.BLUE, "label": "Hessians"},
    "kronecker": {"color": style.ORANGE, "label": "Kronecker approximations", "linewidth": 0.9},
    "permuted": {
        **{"color": style.VERMILION, "linestyle": "--", "linewidth": 0.9},
        "label": "expected over permutations of outputs",
    },
    "theorem": MEASURED["theorem"],
}
# An inset shows the early part where spaces reach so many times beyond the classes.
FAR = 6


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


def _draw_layer(axes: Axes, layer: xr.Dataset, looks: Looks) -> None:
    """The overlaps of one layer, with a line at its outputs."""
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
    axes.axvline(int(layer["outputs"]), **{**OUTPUTS, "label": None})
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    axes.tick_params(labelsize=6.5)


def _draw_predicted(axes: Axes, layer: xr.Dataset, looks: Looks) -> None:
    """The same beside what is predicted, with an inset of the early part, where there are peaks."""
    _draw_layer(axes, layer, looks)
    if 1 <= satisfied(layer) < int(layer["outputs"]):
        axes.axvline(satisfied(layer), color=style.BLACK, linewidth=0.6, linestyle=":")
    early = 2 * int(layer["classes"])
    if layer.sizes["rank"] < FAR * int(layer["classes"]):
        return
    inset = axes.inset_axes((0.55, 0.62, 0.43, 0.36))
    own = layer.sel(rank=slice(early))
    for name, curve in _curves(own, looks).items():
        inset.plot(own["rank"], curve, **{**looks[name], "label": None})
    inset.set_xlim(1, early)
    inset.tick_params(labelsize=4.5)
    inset.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=2))
    inset.yaxis.set_major_locator(MaxNLocator(nbins=2))


def _drawn(
    data: xr.Dataset, looks: Looks, paint: Callable[[Axes, xr.Dataset, Looks], None]
) -> Figure:
    """A panel for each layer, a row for each architecture."""
    networks: Iterable[str] = data["network"].values.tolist()
    rows = {network: layers(data.sel(network=network)) for network in networks}
    columns = max(map(len, rows.values()))
    figure, grid = style.panels(len(rows), columns, height=1.75, squeeze=False)
    names = style.letters()
    for (network, own), row in zip(rows.items(), grid, strict=True):
        for axes, layer in zip(row, own, strict=False):
            paint(axes, layer, looks)
            title = f"{layer['layer'].item()}, m = {int(layer['outputs'])}"
            style.letter(axes, f"({next(names)}) {title}")
            axes.set_xlabel("dimension k")
        for axes in row[len(own) :]:
            axes.remove()
        row[0].set_ylabel(f"{network}\noverlap of the first k")
    handles = [style.entry(**look) for look in (*looks.values(), OUTPUTS)]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def draw(data: xr.Dataset) -> Figure:
    """The overlap of each layer's top spaces beside that of random ones."""
    differing = paired(data)["differing"]
    some = differing.any() and not differing.all()
    return _drawn(data, {**MEASURED, **(ALIKE if some else {})}, _draw_layer)


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the setting."""
    differing = paired(data)["differing"].values
    also = (
        f"; {(~differing).sum()} of {len(differing)} pairs were trained alike"
        if differing.any()
        else ""
    )
    return (
        f"Overlap of the top k eigenspaces of a layer's Hessian, on {int(data['images'])} images, "
        f"in {data.sizes['seed']} independently trained networks: mean over their pairs, shaded "
        f"the standard deviation{also}."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The overlaps beside what the factors predict of them."""
    return _drawn(data, PREDICTED, _draw_predicted), (
        "The overlap of the Hessians, of their Kronecker approximations, and what is expected of "
        "that with the outputs of one network permuted at random; $(k/m) (t_1·t_1')^2$ of Theorem "
        "G.1 up to m, in the last layer $(t_1·t_1')^2$. Dotted vertical line: the largest k at "
        "which $τ_k γ_1 > τ_1 γ_2$ in all networks. Insets: the early part."
    )
