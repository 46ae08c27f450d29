"""Bounds and errors by method; how divergences fall and variances go with the curvature."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.ledger.bounds import NothingToMeasure
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
# The error of guessing.
GUESSING = "guessing"
CHANCE: dict[str, Any] = {"color": style.PURPLE, "linestyle": "--", "linewidth": 0.9}
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


def _chance(axes: Axes, data: xr.Dataset) -> xr.DataArray:
    """A line at the error of guessing, of which a bound has to stay clear to say something."""
    chance = 1 - 1 / data["classes"]
    axes.axhline(float(chance), label=GUESSING, **CHANCE)
    return chance


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
    """Held-out errors against bounds, one point a network, coloured by the divergence."""
    figure, axes = style.panels(1, 1, height=2.8, width=0.8 * style.FULL_WIDTH)
    names = ("bound", "held_out_error", "divergence")
    bounds, errors, divergences = (data[name].values.ravel() for name in names)
    chance = _chance(axes, data)
    points = axes.scatter(bounds, errors, 9, divergences, cmap=style.COLOURMAP, linewidths=0)
    figure.colorbar(points, ax=axes, shrink=0.8, label=r"$\mathrm{KL}(Q \, \| \, P)$ (nats)")
    ends = [0, _top(bounds, errors, chance.values[None])]
    axes.plot(ends, ends, color=style.BLACK, linewidth=0.8)
    axes.text(0.03, 0.97, "above the line the bound fails", transform=axes.transAxes, va="top")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_xlabel("bound")
    axes.set_ylabel("error on held-out images")
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0.9))
    return figure


def _is_single(data: xr.Dataset) -> bool:
    """Whether there is nothing to compare: bounds are repeated to show how often they fail."""
    return data.sizes["network"] == data.sizes["method"] == 1


def draw(data: xr.Dataset) -> Figure:
    """Bounds and errors by method, beside the print and the error of guessing."""
    assert failures(data).size, "raises where every posterior diverged"
    if _is_single(data):
        return _repeated(data)
    figure, (bounds, errors) = style.panels(1, 2, height=2.6)
    _by_method(bounds, data, "bound")
    _printed(bounds, data)
    chance = _chance(bounds, data)
    _by_method(errors, data, "error")
    _by_method(errors, data, "held_out_error", filled=False)
    marked = [row.bound for row in printed_rows(data)] + [float(chance)]
    bounds.set_ylim(0, _top(data["bound"].values.ravel(), np.array(marked)))
    errors.set_ylim(0, _top(*(data[name].values.ravel() for name in ("error", "held_out_error"))))
    style.letter(bounds, "(a) bound on the error")
    style.letter(errors, "(b) error of drawn networks")
    for axes in (bounds, errors):
        axes.set_ylabel("fraction of images")
    handles = [
        style.entry(method, linestyle="none", markersize=4, **LOOKS[method])
        for method in data["method"].values
    ]
    if printed_rows(data):
        handles.append(style.entry("printed", color=style.BLACK, linewidth=1.2))
    handles.append(style.entry(GUESSING, **CHANCE))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The divergence while posteriors are trained, and the variances of the first network.

    Raises:
        NothingToMeasure: there is one method alone, or every posterior diverged.
    """
    if failures(data).size and _is_single(data):
        raise NothingToMeasure("there is one method alone")
    figure, (paths, variances) = style.panels(1, 2, height=2.5)
    first = data.isel(network=0)
    _paths(paths, first)
    _variances(variances, first)
    network, layer = first["network"].item(), first["layer"].values[0]
    style.letter(paths, f"(a) {network}")
    style.letter(variances, f"(b) {layer}:{network}")
    handles = [
        style.entry(method, color=LOOKS[method]["color"]) for method in data["method"].values
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure, (
        "(a) The divergence while the posterior is trained, mean over networks. (b) Posterior "
        "variances in the first layer by the curvature of the Kronecker product in their "
        "directions: the median and the band from the 10th to the 90th percentile, for the first "
        "network."
    )


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure, and the setting."""
    samples, held_out = int(data["samples"]), int(data["held_out"])
    level = f"{confidence(data):g}"
    if _is_single(data):
        return (
            f"Bounds at confidence {level} and errors of sampled networks on {held_out} held-out "
            f"images, one point for each network trained on {samples} images. Dashed: the error of "
            "guessing, where a posterior ends that shrinks back to its prior."
        )
    printed = "; short black lines: Table 10" if printed_rows(data) else ""
    return (
        f"(a) The bound, one point per network{printed}; dashed: the error of guessing. (b) The "
        "upper limit of the error of sampled networks on their images (filled), and their error "
        f"on {held_out} others (hollow). "
        f"Confidence {level}, {samples} images."
    )
