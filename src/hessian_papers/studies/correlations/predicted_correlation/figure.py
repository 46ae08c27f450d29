"""Correlations with norms, of what stands for the sharpness against those of the sharpness."""

from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.studies.correlations.ensembles import (
    PARAMETRISATIONS,
    TIMES,
    counted_teachers,
    of_the_time,
)
from hessian_papers.studies.correlations.predicted_correlation.derived import misses
from hessian_spectra.pictures import style

COLOURS = {"sp": style.VERMILION, "mup": style.BLUE, "ntp": style.GREEN}
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">")
TITLES = {
    "norms": r"$‖W_1‖_2^2 + ‖W_2‖_2^2$",
    "terms": r"terms with $S$",
    "Gauss-Newton": "Gauss-Newton matrix",
}
# Along depth: the terms are of products, and so is what is correlated.
DEEP = {"norms": r"terms without $S$", "terms": TITLES["terms"]}
CORRELATIONS = (-1.0, -0.5, 0.0, 0.5, 1.0)
FIRST, HOLLOW = "initialisation", {"markerfacecolor": "white"}


def draw(data: xr.Dataset) -> Figure:
    """A panel for each formula, a mark for each point, the mean over teachers."""
    mean = data[["measured", "surrogate"]].mean("teacher")
    titles = DEEP if data["along"] == "depth" else TITLES
    figure, panels = style.panels(1, len(titles), height=2.5, sharex=True, sharey=True)
    letters = style.letters()
    for axes, (formula, title) in zip(panels, titles.items(), strict=True):
        axes.plot([-1, 1], [-1, 1], color=style.GREY, linewidth=0.8)
        for name, time, layer in _kinds(data):
            of = {"parametrisation": name, "time": time, "layer": layer}
            point = mean.sel(of)
            surrogate = point["surrogate"].sel(formula=formula)
            marks = point["measured"].values.ravel(), surrogate.values.ravel()
            axes.plot(*marks, linestyle="none", **_look(name, time, layer))
        miss = misses(data).sel(formula=formula).mean().item()
        style.letter(axes, f"({next(letters)}) {title}")
        axes.text(0.96, 0.05, f"rms {miss:.2f}", transform=axes.transAxes, ha="right")
        axes.set_xlabel("$r$ of the sharpness")
    panels[0].set(ylabel="$r$ of the surrogate", xticks=CORRELATIONS, yticks=CORRELATIONS)
    figure.legend(handles=_handles(data), loc="outside upper center", ncols=4, fontsize=6)
    return figure


def _handles(data: xr.Dataset) -> list[Any]:
    """The colour of each parametrisation, the shape of each layer, and what is hollow."""
    plain: dict[str, Any] = {"linestyle": "none", "markersize": 4.0}
    grey = plain | {"color": style.GREY}
    others = "all but " if data["along"] == "depth" else ""
    return [
        *(
            style.entry(PARAMETRISATIONS[name], color=COLOURS[name], marker="o", **plain)
            for name in data["parametrisation"].values.tolist()
        ),
        *(
            style.entry(f"{others}$W_{layer}$", marker=_marker(layer), **grey)
            for layer in data["layer"].values.tolist()
        ),
        *(
            style.entry(TIMES[time], marker="o", **grey | (HOLLOW if time == FIRST else {}))
            for time in data["time"].values.tolist()
        ),
    ]


def _kinds(data: xr.Dataset) -> list[tuple[str, str, int]]:
    axes = (data[name].values.tolist() for name in ("parametrisation", "time", "layer"))
    names, times, layers = axes
    return [(name, time, layer) for name in names for time in times for layer in layers]


def _marker(layer: int) -> str:
    return MARKERS[(layer - 1) % len(MARKERS)]


def _look(name: str, time: str, layer: int) -> dict[str, Any]:
    look = {"color": COLOURS[name], "marker": _marker(layer), "markersize": 4.0}
    return look | (HOLLOW if time == FIRST else {})


def caption(data: xr.Dataset) -> str:
    """The text below the figure."""
    each = int(data["networks"]) // len(of_the_time(data.isel(time=-1))["teacher"])
    deep = bool(data["along"] == "depth")
    what = "products without one matrix" if deep else "matrices"
    points = "depth and size" if deep else "size"
    return (
        f"Pearson's r of squared norms of {what} with the sharpness, against r with its surrogate "
        f"in the same networks. Marks: each {points}, mean over {counted_teachers(data)} of {each} "
        "networks. S: inputs' second moments; rms: over marks."
    )
