"""Correlations with norms: those with surrogates and by laws against those with the sharpness."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.correlations.ensembles import (
    NORMS,
    PARAMETRISATIONS,
    TIMES,
    counted_teachers,
    of_the_time,
)
from hessian_papers.studies.correlations.predicted_correlation.derived import (
    law_off,
    misses,
    squared_miss,
)
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
# The laws of a random start: what each is about, and the target that it is held against.
LAWS = {
    "white": ("white inputs, formula", "norms"),
    "edge": ("sampled inputs, formula", "Gauss-Newton"),
    "Hessian": ("whole Hessian, simulated", "sharpness"),
}
TARGETS = {
    "norms": r"$‖W_1‖_2^2 + ‖W_2‖_2^2$",
    "Gauss-Newton": "Gauss-Newton sharpness",
    "sharpness": "sharpness",
}
# The shade of each norm's marks.
SHADES = {"spectral": 1.0, "frobenius": 0.55, "nuclear": 0.25}
CORRELATIONS = (-1.0, -0.5, 0.0, 0.5, 1.0)
FIRST, HOLLOW = "initialisation", {"markerfacecolor": "white"}


def draw(data: xr.Dataset) -> Figure:
    """A panel for each law, then one for each formula; a mark for each point, means of teachers."""
    titles = DEEP if data["along"] == "depth" else TITLES
    laws = LAWS if "predicted" in data else {}
    shape = {"height": 2.5, "sharex": True, "sharey": True, "squeeze": False}
    figure, panels = style.panels(2 if laws else 1, len(titles), **shape)
    letters = style.letters()
    for axes, (law, (title, target)) in zip(panels[0], laws.items(), strict=False):
        _law(axes, data, law, target)
        style.letter(axes, f"({next(letters)}) {title}")
        axes.set_xlabel(f"$r$ of {TARGETS[target]}")
    mean = data[["measured", "surrogate"]].mean("teacher")
    for axes, (formula, title) in zip(panels[-1], titles.items(), strict=True):
        axes.plot([-1, 1], [-1, 1], color=style.GREY, linewidth=0.8)
        for name, time, layer in _kinds(data):
            of = {"parametrisation": name, "time": time, "layer": layer}
            point = mean.sel(of)
            surrogate = point["surrogate"].sel(formula=formula)
            marks = point["measured"].values.ravel(), surrogate.values.ravel()
            axes.plot(*marks, linestyle="none", **_look(name, time, layer))
        times = _times(data)
        miss = misses(data.sel(time=times)).sel(formula=formula).mean().item()
        style.letter(axes, f"({next(letters)}) {title}")
        axes.text(0.96, 0.05, f"rms {miss:.2f}", transform=axes.transAxes, ha="right")
        axes.set_xlabel("$r$ of the sharpness")
    for row, label in zip(
        panels, ["predicted $r$", "$r$ of the surrogate"][-len(panels) :], strict=True
    ):
        row[0].set(ylabel=label, xticks=CORRELATIONS, yticks=CORRELATIONS)
    figure.legend(handles=_handles(data), loc="outside upper center", ncols=4, fontsize=6)
    return figure


def _law(axes: Axes, data: xr.Dataset, law: str, target: str) -> None:
    """The r by a law over the measured one at initialisation, with its standard error."""
    axes.plot([-1, 1], [-1, 1], color=style.GREY, linewidth=0.8)
    measured = data["start"].sel(target=target)
    error = measured.std("teacher", ddof=1) / np.sqrt(measured.sizes["teacher"])
    for norm, shade in SHADES.items():
        for name in data["parametrisation"].values.tolist():
            for layer in data["layer"].values.tolist():
                of = {"parametrisation": name, "layer": layer, "norm": norm}
                marks = measured.mean("teacher").sel(of), data["predicted"].sel(of | {"law": law})
                x, y = (each.values.ravel() for each in marks)
                look = _look(name, "", layer) | {"alpha": shade, "linestyle": "none"}
                axes.errorbar(x, y, xerr=error.sel(of).values.ravel(), elinewidth=0.5, **look)
    square = squared_miss(law_off(data, target, law)).mean().item()
    rms = np.sqrt(max(square, 0.0))
    axes.text(0.96, 0.05, f"rms {rms:.2f}", transform=axes.transAxes, ha="right")


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
            for time in _times(data)
        ),
        *(
            style.entry(f"{NORMS[norm]} norm", marker="o", alpha=shade, **grey)
            for norm, shade in (SHADES.items() if "predicted" in data else ())
        ),
    ]


def _times(data: xr.Dataset) -> list[str]:
    """The times of the surrogates' marks: at initialisation laws are drawn in their place."""
    times: list[str] = data["time"].values.tolist()
    return [time for time in times if time != FIRST or "predicted" not in data]


def _kinds(data: xr.Dataset) -> list[tuple[str, str, int]]:
    names, layers = (data[name].values.tolist() for name in ("parametrisation", "layer"))
    return [(name, time, layer) for name in names for time in _times(data) for layer in layers]


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
    if "predicted" in data:
        return (
            "Pearson's r of squared norms. Upper row, at initialisation: by laws of the random "
            "start, over the measured one with its standard error. Lower row, after training: with "
            "surrogates, over that with the sharpness. Marks: each size, mean over "
            f"{counted_teachers(data)} of {each} networks. rms: over marks, above without chance."
        )
    return (
        f"Pearson's r of squared norms of {what} with the sharpness, against r with its surrogate "
        f"in the same networks. Marks: each {points}, mean over {counted_teachers(data)} of {each} "
        "networks. S: inputs' second moments; rms: over marks."
    )
