"""The sharpness over D.3.3's maximum and over the sum of the same terms."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.ensembles import PARAMETRISATIONS, TIMES, positions
from hessian_spectra.pictures import style

LOOKS = {
    "maximum": (style.BLUE, "s", "over the largest layer term (D.3.3)"),
    "sum": (style.VERMILION, "o", "over the sum of the layer terms"),
}


def _panel(axes: Axes, data: xr.Dataset) -> None:
    """The ratios of one parametrisation at one time."""
    x = positions(data).values.astype(float)
    markers = 3.4 if len(x) <= drawing.MARKED else 0.0
    for name, (colour, marker, _) in LOOKS.items():
        ratio = data["ratio"].sel(formula=name)
        axes.plot(x, ratio.sel(level=0.5), color=colour, marker=marker, markersize=markers)
        ends = ratio.sel(level=0.025), ratio.sel(level=0.975)
        axes.fill_between(x, *ends, color=colour, alpha=0.2, linewidth=0)
        for level in (0.0, 1.0):
            axes.plot(x, ratio.sel(level=level), color=colour, linewidth=0.6, linestyle=":")
    axes.axhline(1, color=style.BLACK, linewidth=0.8)
    axes.set_yscale("log")
    drawing.along(axes, data)


def _vertical_axis(grid: np.ndarray, data: xr.Dataset) -> None:
    """One range and one set of ticks for all panels, whichever ratios are defined."""
    ratio = data["ratio"].fillna(1.0)
    least, most = min(float(ratio.min()), 1.0), max(float(ratio.max()), 1.0)
    known = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    bottom, top = np.log(least / 1.04), np.log(most * 1.04)
    bottom = drawing.foot(data, bottom, top)
    for axes in grid.flat:
        axes.set_ylim(np.exp(bottom), np.exp(top))
        style.mark(axes.yaxis, [t for t in known if least / 2 < t < 2 * most])


def draw(data: xr.Dataset) -> Figure:
    """Medians, central 95 % and the whole range over the networks, at both times."""
    data = drawing.squeezed(data)
    names, times = data["parametrisation"].values, data["time"].values
    figure, grid = style.panels(2, len(names), height=2.0, squeeze=False, sharey=True)
    letters = style.letters()
    for row, time in zip(grid, times, strict=True):
        for axes, name in zip(row, names, strict=True):
            _panel(axes, data.sel(parametrisation=name, time=time))
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[time]}")
        row[0].set_ylabel("sharpness ratio")
    _vertical_axis(grid, data)
    for axes in grid[0]:
        axes.set_xlabel("")
    for axes, name in zip(grid[1], names, strict=True):
        drawing.outcome_strip(axes, data.sel(parametrisation=name))
    handles: list[Any] = [
        style.entry(f"sharpness {label}", color=colour, marker=marker, markersize=4)
        for colour, marker, label in LOOKS.values()
    ]
    handles += [
        Patch(color=style.GREY, alpha=0.4, label="central 95 % of the networks"),
        style.entry("smallest and largest", color=style.GREY, linestyle=":"),
        *drawing.outcome_handles(data),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, columnspacing=1.6)
    return figure


def _pooled_text(pooled: xr.DataArray) -> str:
    """The pooled ratios' median and their whole range."""
    if not np.isfinite(pooled).all():
        return "not defined"
    least, middle, most = pooled.sel(level=[0.0, 0.5, 1.0]).values
    return f"{middle:.2f} [{least:.2f}, {most:.2f}]"


def caption(data: xr.Dataset) -> str:
    """What is drawn, and the pooled ratios."""
    parts = []
    for time in data["time"].values:
        texts = [
            f"{PARAMETRISATIONS[name]} "
            + " and ".join(map(_pooled_text, data["pooled"].sel(parametrisation=name, time=time)))
            for name in data["parametrisation"].values
        ]
        parts.append(f"{TIMES[time]} {'; '.join(texts)}")
    return (
        "The sharpness is about the sum of the layers' terms, and the largest of them may be half "
        "of it. "
        f"The sharpness of {drawing.networks(data)} ({drawing.setting(data)}) over the "
        "largest of the layers' terms σ_max²(left product) σ_max²(right product), which D.3.3 "
        "derives from a block-diagonal Hessian, and over their sum, the largest eigenvalue of the "
        "generalised Gauss-Newton matrix on whitened inputs; the inputs here are a Gaussian "
        "sample, white on average only. Medians and ranges over all networks of a "
        "parametrisation, maximum and sum: "
        f"{'. '.join(parts)}. {drawing.outcome_text(data)}"
    )
