"""The phases of learning: the outlier pair's product and signs against t = ⟨w, v⟩ / θ*."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.scalar.drawing import patches, shade
from hessian_papers.studies.scalar.learning_phases.derived import (
    contradict,
    pair,
    printed_phases,
    select_signs,
)
from hessian_papers.studies.spectra import error
from hessian_spectra.pictures import style

Stretch = tuple[str, float, float]  # name, start and end

SIGNS = {1: (style.VERMILION, "o"), -1: (style.BLUE, "s")}  # sign of θ* -> colour, marker


def _ratio(data: xr.Dataset) -> xr.DataArray:
    """The ratio t = ⟨w, v⟩ / θ* of networks with a signal."""
    return data["alignment"] / data["solution"]


def _points(axes: Any, data: xr.Dataset, x: xr.DataArray, y: xr.DataArray) -> None:
    """A point for each network, coloured by the sign of its θ*."""
    for sign, (colour, marker) in SIGNS.items():
        chosen = np.sign(data["solution"]) == sign
        axes.plot(
            x[chosen], y[chosen], marker, color=colour, markersize=2.5, alpha=0.7, linewidth=0
        )


def draw(data: xr.Dataset) -> Figure:
    """Product and sign of the pair by phase, the printed phases for θ* < 0, and the error."""
    figure, grid = style.panels(2, 2, height=2.3)
    (product, small), (printed, errors) = grid
    signal = select_signs(data, 1, -1)
    left, right = _range(_ratio(signal))
    _draw_product(product, signal, np.linspace(left, right, 400))
    _draw_small(small, signal)
    _draw_printed(printed, select_signs(data, -1))
    _draw_error(errors, signal)
    for axes in (product, small, errors):
        axes.set_xlim(left, right)
        axes.set_xlabel("$t=\\langle w,v\\rangle\\,/\\,\\theta^*$")
    for axes in (product, small):
        _shade(axes, left, right)
    _legend(figure)
    return figure


def _draw_product(axes: Any, data: xr.Dataset, t: np.ndarray) -> None:
    """−λ₁ λ₂ in units of its value at t = 0, against t alone."""
    unit = (data["second_moment"] * data["solution"]) ** 2
    large, small = pair(data)
    _points(axes, data, _ratio(data), -(large * small) / unit)
    axes.plot(t, (t - 1) * (3 * t - 1), color=style.BLACK, **style.EXACT)
    axes.set_ylabel("$-\\lambda_1\\lambda_2\\,/\\,(E[x^2]\\,\\theta^*)^2$")
    style.letter(axes, "(a) product of the pair")


def _draw_small(axes: Any, data: xr.Dataset) -> None:
    """λ₂/λ₁ by t."""
    large, small = pair(data)
    _points(axes, data, _ratio(data), small / large)
    large, small = pair(data, "exact")
    rings = style.EXACT_RING | {"markersize": 5, "markeredgewidth": 0.3}
    axes.plot(_ratio(data), small / large, color=style.BLACK, **rings)
    axes.set_ylabel("$\\lambda_2\\,/\\,\\lambda_1$")
    style.letter(axes, "(b) small outlier, phases by $t$")


def _draw_error(axes: Any, data: xr.Dataset) -> None:
    errors = error(data)
    _points(axes, data, _ratio(data), errors.copy(data=visible(errors.values)))
    axes.set_yscale("log")
    error_axis(axes)
    axes.set_ylabel("relative error")
    style.letter(axes, "(d) error of the whole spectrum")


def _shade(axes: Any, left: float, right: float) -> None:
    phases = ("early", left, 1 / 3), ("late", 1 / 3, 1.0), ("divergent", 1.0, right)
    for phase in _clip(phases, left, right):
        shade(axes, *phase)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _clip(stretches: Iterable[Stretch], left: float, right: float) -> Iterator[Stretch]:
    """What an axis from ``left`` to ``right`` shows of stretches."""
    for name, start, end in stretches:
        if (begin := max(start, left)) < (stop := min(end, right)):
            yield name, begin, stop


def _range(values: xr.DataArray) -> tuple[float, float]:
    """From the smallest to the largest value, widened if there is a single one."""
    left, right = float(values.min()), float(values.max())
    return (left, right) if left < right else (left - 0.05, right + 0.05)


def _draw_printed(axes: Any, data: xr.Dataset) -> None:
    """The phases as printed, for θ* < 0: two overlap just where the small outlier is positive."""
    large, small = pair(data)
    position, height = -_ratio(data), small / large
    wrong = contradict(data, *printed_phases(data))
    _points(axes, data, position, height)
    axes.plot(position[wrong], height[wrong], "x", color=style.BLACK, markersize=4)
    left, right = _range(position)
    printed = ("early", left, -1 / 3), ("divergent", -1.0, right)
    for phase in _clip(printed, left, right):
        shade(axes, *phase)
    names = ("early", left, -1.0), ("both", -1.0, -1 / 3), ("divergent", -1 / 3, right)
    top = axes.get_xaxis_transform()
    for name, begin, stop in _clip(names, left, right):
        axes.text((begin + stop) / 2, 0.96, name, ha="center", va="top", transform=top)
    axes.set_xlim(left, right)
    # Room for the names above the highest point.
    axes.set_ylim(top=max(float(height.max()), 0.0) + 0.2)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_xlabel("$\\langle w,v\\rangle\\,/\\,|\\theta^*|$")
    axes.set_ylabel("$\\lambda_2\\,/\\,\\lambda_1$")
    style.letter(axes, "(c) phases as printed, $\\theta^*<0$")


def _legend(figure: Figure) -> None:
    def points(label: str, colour: str, marker: str) -> Line2D:
        return style.entry(label, color=colour, marker=marker, linestyle="none", markersize=4)

    handles = [
        points("numerical, $\\theta^*>0$", *SIGNS[1]),
        points("numerical, $\\theta^*<0$", *SIGNS[-1]),
        style.entry("closed form", color=style.BLACK, **style.EXACT_RING),
        points("contradicts the print", style.BLACK, "x"),
        *patches(),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    count = select_signs(data, 1, -1).sizes["network"]
    return (
        "Where t = ⟨w, v⟩/θ* lies beside 1/3 and 1 tells the sign of the small outlier. "
        f"Outlier pairs of {count} random linear networks f(x) = ⟨w, v⟩ x; "
        "points: numerical spectra, coloured by the sign of the solution θ* = E[yx]/E[x²]; line "
        "and rings: closed form. (a) The product depends on t = ⟨w, v⟩/θ* alone: (t − 1)(3t − 1). "
        "(b) The sign of λ₂ by t. (c) Against ⟨w, v⟩, as printed: crosses contradict their phase, "
        "since for θ* < 0 the printed late phase is empty and the two others overlap. (d) Error "
        "of the whole spectrum relative to its largest eigenvalue."
    )
