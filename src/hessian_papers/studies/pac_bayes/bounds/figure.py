"""Bounds by method, how they fall, and how posterior variances go with the curvature."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.pac_bayes.bounds.derived import confidence, failures, printed_rows
from hessian_spectra.pictures import style

# A colour and a marker for each method.
LOOKS: dict[str, dict[str, Any]] = {
    "base": {"color": style.GREY, "marker": "o"},
    "approximate": {"color": style.ORANGE, "marker": "s"},
    "iterative": {"color": style.BLUE, "marker": "D"},
    "iterative, decaying": {"color": style.SKY, "marker": "^"},
    "iterative, printed output": {"color": style.VERMILION, "marker": "v"},
    "iterative, nearest": {"color": style.GREEN, "marker": "p"},
    "iterative, exact": {"color": style.PURPLE, "marker": "*"},
}
# How far apart methods stand beside each other.
ASIDE = 0.8


def _places(data: xr.Dataset) -> dict[tuple[str, str], float]:
    """Where each method of each network stands: around the network's tick."""
    count = data.sizes["method"]
    return {
        (network, method): tick + ASIDE * ((place + 0.5) / count - 0.5)
        for tick, network in enumerate(data["network"].values.tolist())
        for place, method in enumerate(data["method"].values.tolist())
    }


def _by_method(axes: Axes, data: xr.Dataset, name: str, *, filled: bool = True) -> None:
    """One point a seed, by network and method."""
    for (network, method), place in _places(data).items():
        values = data[name].sel({"network": network, "method": method}).values
        look = LOOKS[method] | ({} if filled else {"markerfacecolor": "none"})
        places = np.full(len(values), place)
        axes.plot(places, values, linestyle="none", markersize=4, alpha=0.8, **look)
    names = data["network"].values
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)


def _printed(axes: Axes, data: xr.Dataset) -> None:
    """A dash for each number that is printed."""
    places = _places(data)
    for row in printed_rows(data):
        middle = places[row.architecture, row.method]
        axes.hlines(row.bound, middle - 0.06, middle + 0.06, color=style.BLACK, linewidth=1.2)


def _paths(axes: Axes, data: xr.Dataset) -> None:
    """The divergence falls while a posterior is trained: one panel."""
    for method in data["method"].values:
        values = data["path_divergence"].sel({"method": method}).dropna("seed")
        if values.size:
            color, mean = LOOKS[method]["color"], values.mean("seed").values
            axes.plot(data["path_epoch"].values, mean, color=color, linewidth=1.2)
            axes.set_yscale("log")
    axes.set_xlabel("epochs of the posterior")
    axes.set_ylabel(r"$\mathrm{KL}(Q \, \| \, P)$")


def _variances(axes: Axes, data: xr.Dataset) -> None:
    """Variances of the first layer by the curvature in their directions."""
    places = (np.arange(data.sizes["part"]) + 0.5) / data.sizes["part"]
    for method in data["method"].values:
        values = data["variance"].sel({"method": method}).isel(seed=0, layer=0)
        low, middle, high = (values.sel(quantile=level).values for level in (0.1, 0.5, 0.9))
        color = LOOKS[method]["color"]
        axes.plot(places, middle, color=color, linewidth=1.2)
        axes.fill_between(places, low, high, color=color, alpha=0.12, lw=0)
    if data["variance"].isel(seed=0, layer=0).notnull().any():
        axes.set_yscale("log")
    axes.set_xlabel("directions by descending curvature, share")
    axes.set_ylabel("posterior variance")


def _top(*values: np.ndarray) -> float:
    """Where an axis ends: above all that is finite."""
    result = np.concatenate(values)
    return 1.08 * float(result[np.isfinite(result)].max(initial=0.0)) or 1.0


def _repeated(data: xr.Dataset) -> Figure:
    """Held-out errors against bounds, one point a network."""
    figure, axes = style.panels(1, 1, height=2.6)
    bounds, errors = (data[name].values.ravel() for name in ("bound", "held_out_error"))
    axes.plot(bounds, errors, linestyle="none", markersize=3, alpha=0.7, **LOOKS["approximate"])
    ends = [0, _top(bounds, errors)]
    axes.plot(ends, ends, color=style.BLACK, linewidth=0.8)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_xlabel("bound")
    axes.set_ylabel("error on held-out images")
    return figure


def _is_single(data: xr.Dataset) -> bool:
    """Whether there is nothing to compare: bounds are repeated to show how often they fail."""
    return data.sizes["network"] == data.sizes["method"] == 1


def draw(data: xr.Dataset) -> Figure:
    """Bounds and errors by method; paths and variances of the first network."""
    assert failures(data).size, "raises where every posterior diverged"
    if _is_single(data):
        return _repeated(data)
    figure, grid = style.panels(2, 2, height=2.3)
    bounds, errors, paths, variances = grid.ravel()
    _by_method(bounds, data, "bound")
    _printed(bounds, data)
    bounds.set_ylabel("bound on the error")
    _by_method(errors, data, "error")
    _by_method(errors, data, "held_out_error", filled=False)
    errors.set_ylabel("error of drawn networks")
    for axes in (bounds, errors):
        axes.set_ylim(0, _top(*(np.asarray(line.get_ydata()) for line in axes.lines)))
    first = data.isel(network=0)
    _paths(paths, first)
    _variances(variances, first)
    network, layer = first["network"].item(), first["layer"].values[0]
    titles = ("(a)", "(b)", f"(c) {network}", f"(d) {layer}:{network}")
    for axes, title in zip(grid.flat, titles, strict=True):
        style.letter(axes, title)
    handles = [
        style.entry(method, linestyle="none", markersize=4, **LOOKS[method])
        for method in data["method"].values
    ]
    if printed_rows(data):
        handles.append(style.entry("printed", color=style.BLACK, linewidth=1.2))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    return figure


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure, and the setting."""
    samples, held_out = int(data["samples"]), int(data["held_out"])
    level = f"{confidence(data):g}"
    if _is_single(data):
        return (
            f"Bounds at confidence {level}, and errors of drawn networks on held-out images; on "
            f"the line both are equal. One point a network trained on {samples} images of its own, "
            f"{held_out} others held out."
        )
    printed = "; short lines: Table 10" if printed_rows(data) else ""
    return (
        "(a) The bound, one point a network with "
        f"initial weights and images of its own{printed}. (b) What "
        "the error of drawn networks is at most on these images (filled), and their error on "
        f"{held_out} others (hollow). (c) The divergence while the posterior is trained, mean "
        "over networks. (d) Posterior variances in the first layer by the curvature of the "
        "Kronecker product in their directions: the middle and the band from the tenth to the "
        f"ninetieth percentile, of the first network. Confidence {level}, {samples} images."
    )
