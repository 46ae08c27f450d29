"""The sharpness over D.3.3's maximum and over the sum of the same terms."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.reading import PARAMETRISATIONS, TIMES
from hessian_papers.studies.correlations.sharpness_bounds.reading import FORMULAS, Reading
from hessian_spectra.pictures import style

LOOKS = {
    "maximum": (style.BLUE, "s", "over the largest layer term (D.3.3)"),
    "sum": (style.VERMILION, "o", "over the sum of the layer terms"),
}


def _panel(axes: Axes, reading: Reading, parametrisation: str, time: str) -> None:
    x = reading["position"].astype(float)
    markers = 3.4 if len(x) <= 25 else 0.0
    for name, (colour, marker, _) in LOOKS.items():
        middle, low, high, least, most = (
            reading.quantile(name, level, parametrisation, time)
            for level in (0.5, 0.025, 0.975, 0.0, 1.0)
        )
        axes.plot(x, middle, color=colour, marker=marker, markersize=markers)
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        for end in (least, most):
            axes.plot(x, end, color=colour, linewidth=0.6, linestyle=":")
    axes.axhline(1, color=style.BLACK, linewidth=0.8)
    axes.set_yscale("log")
    drawing.along(axes, reading)


def _vertical_axis(grid: np.ndarray, reading: Reading) -> None:
    """One range and one set of ticks for all panels."""
    extremes = np.stack([reading[f"ratio_{name}"] for name in LOOKS])
    least, most = (float(end(extremes, initial=1.0)) for end in (np.nanmin, np.nanmax))
    known = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    bottom, top = np.log(least / 1.04), np.log(most * 1.04)
    bottom = drawing.foot(reading, bottom, top)
    for axes in grid.flat:
        axes.set_ylim(np.exp(bottom), np.exp(top))
        style.mark(axes.yaxis, [t for t in known if least / 2 < t < 2 * most])


def draw(reading: Reading) -> Figure:
    """Medians, central 95 % and the whole range over the networks, at both times."""
    names, times = reading.parametrisations, reading.times
    figure, grid = style.panels(2, len(names), height=2.0, squeeze=False, sharey=True)
    letters = style.letters()
    for row, time in zip(grid, times, strict=True):
        for axes, name in zip(row, names, strict=True):
            _panel(axes, reading, name, time)
            style.letter(axes, f"({next(letters)}) {PARAMETRISATIONS[name]}, {TIMES[time]}")
        row[0].set_ylabel("sharpness ratio")
    _vertical_axis(grid, reading)
    for axes in grid[0]:
        axes.set_xlabel("")
    for axes, name in zip(grid[1], names, strict=True):
        drawing.outcome_strip(axes, reading, name)
    handles: list[Any] = [
        style.entry(f"sharpness {label}", color=colour, marker=marker, markersize=4)
        for colour, marker, label in LOOKS.values()
    ]
    handles += [
        Patch(color=style.GREY, alpha=0.4, label="central 95 % of the networks"),
        style.entry("smallest and largest", color=style.GREY, linestyle=":"),
        *drawing.outcome_handles(reading),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, columnspacing=1.6)
    return figure


def _pooled_text(reading: Reading, formula: str, parametrisation: str, time: str) -> str:
    """The pooled ratios' median and their whole range."""
    values = reading.pooled(formula, parametrisation, time)
    if not np.isfinite(values).all():
        return "not defined"
    least, middle, most = (values[reading.level(level)] for level in (0.0, 0.5, 1.0))
    return f"{middle:.2f} [{least:.2f}, {most:.2f}]"


def caption(reading: Reading) -> str:
    """What is drawn, and the pooled ratios."""
    parts = []
    for time in reading.times:
        texts = [
            f"{PARAMETRISATIONS[name]} "
            + " and ".join(_pooled_text(reading, formula, name, time) for formula in FORMULAS)
            for name in reading.parametrisations
        ]
        parts.append(f"{TIMES[time]} {'; '.join(texts)}")
    return (
        "The sharpness is about the sum of the layers' terms, and the largest of them may be half "
        "of it. "
        f"The sharpness of {drawing.networks(reading)} ({drawing.setting(reading)}) over the "
        "largest of the layers' terms σ_max²(left product) σ_max²(right product), which D.3.3 "
        "derives from a block-diagonal Hessian, and over their sum, the largest eigenvalue of the "
        "generalised Gauss-Newton matrix on whitened inputs; the inputs here are a Gaussian "
        "sample, white on average only. Medians and ranges over all networks of a "
        "parametrisation, maximum and sum: "
        f"{'. '.join(parts)}. {drawing.outcome_text(reading)}"
    )
