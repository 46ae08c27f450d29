"""Bounds by method; how variances go with the curvature and divergences fall."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_papers.formulas import raised
from hessian_papers.studies.pac_bayes.bounds.derived import (
    chance,
    confidence,
    failures,
    printed_rows,
    rows_of,
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
RANK, EPOCHS = "rank of the direction by curvature", "epochs of the posterior"
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
    called = {row.architecture: row.network for row in rows_of(data)}
    names = [raised(called.get(name, name)) for name in data["network"].values.tolist()]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)


def _printed(axes: Axes, data: xr.Dataset) -> None:
    """A line across its bar for each bound that is printed."""
    places, half = _places(data), 0.45 * ASIDE / data.sizes["method"]
    for row in printed_rows(data):
        middle = places[row.architecture, row.method]
        axes.hlines(row.bound, middle - half, middle + half, **PRINT)


def _mark_dips(axes: Axes, data: xr.Dataset) -> None:
    """A line at how many variances are below half of the prior's."""
    for method, dip in zip(data["method"].values, data["dip"].values, strict=True):
        if dip > 0:
            axes.axvline(float(dip), color=LOOKS[method], linewidth=0.9, linestyle=":")


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
    first, shown = data.isel(network=0), "path_divergence" in data
    own, network = first.isel(seed=0, layer=0), first["network"].item()
    middle, low, high = (own["variance"].sel(quantile=level) for level in (0.5, 0.1, 0.9))
    variances = banded(middle, low, high).assign_coords({RANK: own["rank"].astype(float)})
    panels = [
        Panel(
            f"{own['layer'].item()}:{raised(network)}",
            RANK,
            [named(variances, "posterior variance")],
            partial(_mark_dips, data=own),
        )
    ]
    if shown:
        paths = first["path_divergence"].mean("seed").rename(path_epoch=EPOCHS)
        panels.append(Panel(network, EPOCHS, [named(paths, r"$\mathrm{KL}(Q \, \| \, P)$")]))
    figure = picture(panels, {method: {"color": colour} for method, colour in LOOKS.items()})
    text = (
        "(a) Posterior variances in the first layer by the rank of the curvature in their "
        "directions: the median and the band from the 10th to the 90th percentile, for the first "
        "network."
    )
    if (own["dip"] > 0).any():
        text += " Dotted: how many variances are below half of the prior's."
    if shown:
        text += " (b) The divergence while Algorithm 1 runs, mean over networks."
    return figure, text


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure, and the setting."""
    samples, held_out = int(data["samples"]), int(data["held_out"])
    printed = "; lines across: the print" if printed_rows(data) else ""
    return (
        f"Bounds at confidence {confidence(data):g}: bars are means, points single networks"
        f"{printed}. Hollow: the error of sampled networks on {held_out} held-out images. "
        f"Dashed: the error of guessing. Local: our trainer. {samples} images."
    )
