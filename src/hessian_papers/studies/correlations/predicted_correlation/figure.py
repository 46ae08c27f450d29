"""Predicted against measured correlations of the sharpness with both norms."""

from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from hessian_papers.studies.correlations.ensembles import PARAMETRISATIONS, TIMES
from hessian_papers.studies.correlations.predicted_correlation.derived import misses
from hessian_spectra.pictures import style

COLOURS = {"sp": style.VERMILION, "mup": style.BLUE, "ntp": style.GREEN}
MARKERS = {1: "o", 2: "^"}
TITLES = {
    "norms": r"$‖W_1‖_2^2 + ‖W_2‖_2^2$",
    "terms": r"terms with $S$",
    "Gauss-Newton": "Gauss-Newton matrix",
}
HOLLOW: dict[str, Any] = {"markerfacecolor": "white"}


def draw(data: xr.Dataset) -> Figure:
    """A panel for each formula, a mark for each point, the mean over teachers."""
    mean = data[["measured", "predicted"]].mean("teacher")
    figure, panels = style.panels(1, len(TITLES), height=2.5, sharex=True, sharey=True)
    letters = style.letters()
    for axes, (formula, title) in zip(panels, TITLES.items(), strict=True):
        axes.plot([-1, 1], [-1, 1], color=style.GREY, linewidth=0.8)
        for name, time, layer in _kinds(data):
            of = {"parametrisation": name, "time": time, "layer": layer}
            point = mean.sel(of)
            predicted = point["predicted"].sel(formula=formula)
            axes.plot(point["measured"], predicted, linestyle="none", **_look(name, time, layer))
        off = misses(data).sel(formula=formula).mean().item()
        style.letter(axes, f"({next(letters)}) {title}")
        axes.text(0.96, 0.05, f"rms {off:.2f}", transform=axes.transAxes, ha="right")
        axes.set_xlabel("measured $r$")
    panels[0].set_ylabel("predicted $r$")
    entries = [
        style.entry(
            f"{PARAMETRISATIONS[name]}, $W_{layer}$, {TIMES[time]}",
            **_look(name, time, layer),
            linestyle="none",
        )
        for name, time, layer in _kinds(data)
    ]
    figure.legend(handles=entries, loc="outside upper center", ncols=4, fontsize=6)
    return figure


def _kinds(data: xr.Dataset) -> list[tuple[str, str, int]]:
    axes = (data[name].values.tolist() for name in ("parametrisation", "time", "layer"))
    names, times, layers = axes
    return [(name, time, layer) for name in names for time in times for layer in layers]


def _look(name: str, time: str, layer: int) -> dict[str, Any]:
    look = {"color": COLOURS[name], "marker": MARKERS[layer], "markersize": 4.0}
    return look | (HOLLOW if time == "initialisation" else {})


def caption(data: xr.Dataset) -> str:
    """The text below the figure."""
    networks, teachers = int(data["networks"]), data.sizes["teacher"]
    return (
        "Pearson's r of a matrix's squared spectral norm with the sharpness, against its r with "
        "what stands for the sharpness; a mark for each size, the mean over "
        f"{teachers} teachers of {networks // teachers} networks. S: second moments of the inputs; "
        "rms: over all marks of a teacher."
    )
