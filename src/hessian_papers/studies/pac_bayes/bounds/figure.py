"""Bounds by method; how variances go with the curvature and divergences fall."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.pac_bayes.bounds.derived import (
    chance,
    confidence,
    failures,
    printed_rows,
)
from hessian_spectra.pictures import style

LOOKS = {
    "base": style.GREY,
    "approximate": style.ORANGE,
    "iterative": style.VERMILION,
    "iterative, decaying": style.PURPLE,
    "iterative, printed output": style.YELLOW,
    "iterative, nearest": style.GREEN,
    "iterative, exact": style.BLACK,
    "local": style.BLUE,
    "local, standard": style.SKY,
}
POINTS: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 3.5}
PRINT: dict[str, Any] = {"color": style.BLACK, "linewidth": 1.4}
# Entries of the key.
HELD_OUT = "held-out error"
GUESSING = "guessing"
CHANCE: dict[str, Any] = {"color": style.BLACK, "linestyle": "--", "linewidth": 0.9}
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


def _bars(axes: Axes, data: xr.Dataset) -> None:
    """A bar of the mean bound for each method of each network, with a point a seed."""
    width = 0.85 * ASIDE / data.sizes["method"]
    for (network, method), place in _places(data).items():
        chosen = data.sel({"network": network, "method": method}).dropna("seed", subset=["bound"])
        if not chosen.sizes["seed"]:
            continue
        color = LOOKS[method]
        axes.bar(place, chosen["bound"].mean(), width, color=color, alpha=0.45, linewidth=0)
        for name, filled in (("bound", color), ("held_out_error", "white")):
            places = np.full(chosen.sizes["seed"], place)
            axes.plot(places, chosen[name], markerfacecolor=filled, **POINTS, color=color)
    names = data["network"].values
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)


def _printed(axes: Axes, data: xr.Dataset) -> None:
    """A line across its bar for each bound that is printed."""
    places, half = _places(data), 0.45 * ASIDE / data.sizes["method"]
    for row in printed_rows(data):
        middle = places[row.architecture, row.method]
        axes.hlines(row.bound, middle - half, middle + half, **PRINT)


def _paths(axes: Axes, data: xr.Dataset) -> None:
    """The divergence falls while a posterior is trained: one panel."""
    for method in data["method"].values:
        values = data["path_divergence"].sel({"method": method}).dropna("seed")
        if values.size:
            mean = values.mean("seed").values
            axes.plot(data["path_epoch"].values, mean, color=LOOKS[method], linewidth=1.2)
            axes.set_yscale("log")
    axes.set_xlabel("epochs of the posterior")
    axes.set_ylabel(r"$\mathrm{KL}(Q \, \| \, P)$")


def _variances(axes: Axes, data: xr.Dataset) -> None:
    """Variances of the first layer by the rank of the curvature in their directions."""
    chosen = data.isel(seed=0, layer=0)
    for method in data["method"].values:
        values = chosen.sel({"method": method})
        low, middle, high = (values["variance"].sel(quantile=level) for level in (0.1, 0.5, 0.9))
        color, ranks = LOOKS[method], values["rank"]
        axes.plot(ranks, middle, color=color, linewidth=1.2)
        axes.fill_between(ranks, low, high, color=color, alpha=0.12, lw=0)
        if values["dip"] > 0:
            axes.axvline(float(values["dip"]), color=color, linewidth=0.9, linestyle=":")
    axes.set_xscale("log")
    if chosen["variance"].notnull().any():
        axes.set_yscale("log")
    axes.set_xlabel("rank of the direction by curvature")
    axes.set_ylabel("posterior variance")


def _top(*values: np.ndarray) -> float:
    """Where an axis ends: above all that is finite."""
    result = np.concatenate(values)
    return 1.08 * float(result[np.isfinite(result)].max(initial=0.0)) or 1.0


def draw(data: xr.Dataset) -> Figure:
    """A bar for each bound, beside the print, the error on held-out images and that of guessing."""
    assert failures(data).size, "raises where every posterior diverged"
    figure, axes = style.panels(1, 1, height=2.9, width=style.FULL_WIDTH)
    _bars(axes, data)
    _printed(axes, data)
    axes.axhline(chance(data), label=GUESSING, **CHANCE)
    marked = [row.bound for row in printed_rows(data)] + [chance(data)]
    axes.set_ylim(0, _top(data["bound"].values.ravel(), np.array(marked)))
    axes.set_ylabel("bound on the error")
    handles = [_patch(method) for method in data["method"].values]
    if printed_rows(data):
        handles.append(style.entry("printed", **PRINT))
    handles.append(style.entry(HELD_OUT, color=style.GREY, markerfacecolor="white", **POINTS))
    handles.append(style.entry(GUESSING, **CHANCE))
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def _patch(method: str) -> Any:
    """A method's entry in the key."""
    return Patch(color=LOOKS[method], alpha=0.45, linewidth=0, label=method)


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The variances of the first network by curvature, and divergences during training."""
    assert failures(data).size, "raises where every posterior diverged"
    shown = "path_divergence" in data
    figure, panels = style.panels(1, 1 + shown, height=2.5)
    first = data.isel(network=0)
    variances, *others = np.atleast_1d(panels)
    _variances(variances, first)
    network, layer = first["network"].item(), first["layer"].values[0]
    style.letter(variances, f"(a) {layer}:{network}")
    for axes in others:
        _paths(axes, first)
        style.letter(axes, f"(b) {network}")
    handles = [style.entry(method, color=LOOKS[method]) for method in data["method"].values]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    text = (
        "(a) Posterior variances in the first layer by the rank of the curvature in their "
        "directions: the median and the band from the 10th to the 90th percentile, for the first "
        "network."
    )
    if (first["dip"].isel(seed=0, layer=0) > 0).any():
        text += " Dotted: how many variances are below half of the prior's."
    if shown:
        text += " (b) The divergence while Algorithm 1 runs, mean over networks."
    return figure, text


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure, and the setting."""
    samples, held_out = int(data["samples"]), int(data["held_out"])
    printed = "; black lines: the print" if printed_rows(data) else ""
    return (
        f"Bounds at confidence {confidence(data):g}: bars are means over networks, points single "
        f"networks{printed}. Hollow: the error of sampled networks on {held_out} held-out images. "
        f"Dashed: the error of guessing. Local: our trainer. {samples} images."
    )
