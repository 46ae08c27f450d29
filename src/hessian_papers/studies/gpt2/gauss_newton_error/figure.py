"""The relative error of the largest GGN eigenvalue with and without attention, and the ratio."""

import contextlib
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_papers.ledger.bounds import NothingToMeasure, needs
from hessian_papers.studies.gpt2.drawing import LOOKS
from hessian_papers.studies.gpt2.gauss_newton_error.derived import (
    added,
    compared_at,
    contrast,
    larger,
)
from hessian_spectra.pictures import style

AXES = {"residual": "mean residual norm", "loss": "loss", "step": "step"}
# Residual norms and losses fall: the axis is turned, and says so.
TURNED = " (falls in training, to the right)"
ERROR = r"relative error of $\lambda_{\max}$(GGN)"
FALLING = ("residual", "loss")
RUN: dict[str, Any] = {"linewidth": 0.6, "markersize": 2.0, "alpha": 0.6}
RATIO = "ln of the ratio of the errors"
LEVELS = {"added": {"label": ""}, "none": {"label": "", "linestyle": "-"}}
BAND: dict[str, Any] = {"alpha": 0.22, "linewidth": 0}


def _draw_runs(axes: Axes, data: xr.Dataset, along: str, *, marked: bool) -> None:
    """Each run as it was measured."""
    for variant in data["variant"].values:
        runs, (colour, marker, _) = data.sel(along=along, variant=variant), LOOKS[variant]
        lines = runs["quantity"].values.T, runs["measured"].values.T
        axes.plot(*lines, color=colour, marker=marker if marked else "", **RUN)


def _draw_bars(axes: Axes, data: xr.Dataset, along: str) -> None:
    """Bars show what the residuals of the eigenvalues leave open of each measurement."""
    bottom, top = axes.get_ylim()
    for variant in data["variant"].values:
        runs = data.sel(along=along, variant=variant)
        error, off = runs["measured"].values, runs["measured_uncertainty"].values
        ends = (error - off).clip(bottom), (error + off).clip(bottom)
        axes.vlines(
            runs["quantity"].values, *ends, color=LOOKS[variant][0], linewidth=0.6, alpha=0.4
        )
    axes.set_ylim(bottom, top)


def _draw_means(axes: Axes, data: xr.Dataset, along: str) -> None:
    """Mean over the seeds and its standard error, where all seeds are."""
    seeds = data.sizes["seed"]
    for variant in data["variant"].values:
        runs, colour = data.sel(along=along, variant=variant), LOOKS[variant][0]
        level, mean = runs["level"].values, runs["error"].mean("seed", skipna=False).values
        axes.plot(level, mean, color=colour, linewidth=1.6)
        if seeds > 1:
            error = runs["error"].std("seed", ddof=1, skipna=False).values / np.sqrt(seeds)
            axes.fill_between(level, mean - error, mean + error, color=colour, **BAND)


def _draw_loss(axes: Axes, data: xr.Dataset) -> None:
    for variant in data["variant"].values:
        losses, colour = data["loss"].sel(variant=variant), LOOKS[variant][0]
        mean = losses.mean("seed", skipna=False)
        axes.plot(data["step"].values, losses.values.T, color=colour, **RUN)
        axes.plot(data["step"].values, mean.values, color=colour, linewidth=1.6)
    axes.set_ylabel("loss")


def _draw_errors(axes: Axes, data: xr.Dataset, along: str) -> None:
    single = bool(data["shown"] == "runs")
    _draw_runs(axes, data, along, marked=single)
    if not single:
        _draw_means(axes, data, along)
    if (data["measured"] > 0).any():
        axes.set_yscale("log")
    if single:
        _draw_bars(axes, data, along)


def _at_equal(along: str) -> str:
    return f"at equal {AXES[along].removeprefix('mean ')}"


def draw(data: xr.Dataset) -> Figure:
    """The errors along each quantity, and the loss along the step."""
    along = compared_at(data)
    ratios = (1.0,) * ("step" in along) + (1.8,)
    figure, grid = style.panels(
        len(ratios),
        len(along),
        height=1.65 if len(ratios) > 1 else 2.6,
        width=style.FULL_WIDTH if len(along) > 1 else 0.72 * style.FULL_WIDTH,
        height_ratios=ratios,
        sharex="col",
        squeeze=False,
    )
    for letter, column, name in zip(style.letters(), grid.T, along, strict=False):
        *above, errors = column
        for axes in above:
            if name == "step":
                _draw_loss(axes, data)
            else:
                axes.set_axis_off()
        _draw_errors(errors, data, name)
        errors.set_xlabel(AXES[name] + TURNED * (name in FALLING))
        if name in FALLING:
            errors.invert_xaxis()
        top = column[0] if column[0].axison else errors
        style.letter(top, f"({letter}) {_at_equal(name)}" if len(along) > 1 else _at_equal(name))
    grid[-1, 0].set_ylabel(ERROR)
    figure.align_ylabels(grid[:, 0])
    figure.legend(handles=_handles(data), loc="outside upper center", ncols=2)
    return figure


def _contrast(data: xr.Dataset, along: str) -> Panel:
    """The ratio of the errors: its mean with the interval, or each pair of runs."""
    mean = contrast(data, along)
    if data["shown"] == "runs":
        values = added(data, along)["value"].rename(seed="pair").drop_vars("pair")
    else:
        values = banded(*(mean[end] for end in ("value", "low", "high")))
    falls = along in FALLING
    level = AXES[along] + TURNED * falls
    values = named(values.rename("added").rename(level=level), RATIO)
    turned = Axes.invert_xaxis if falls else Axes.get_xaxis
    return Panel(_at_equal(along), level, [values, xr.DataArray(0.0, name="none")], turned)


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The ratio of the errors with and without attention, wherever all runs have a common level.

    Raises:
        NothingToMeasure: nowhere have they one.
    """
    panels = []
    for along in compared_at(data):
        with contextlib.suppress(NothingToMeasure):
            panels.append(_contrast(data, along))
    needs(panels, "in this configuration nothing is common to all runs")
    figure = picture(panels, LEVELS, columns=len(panels))
    of = (
        "of each pair of runs" if data["shown"] == "runs" else "paired by seed, with Student's 95 %"
    )
    ending = "" if data["shown"] == "runs" else " interval (band)"
    return figure, (
        r"Relative error of $λ_{\max}(\operatorname{GGN})$ with attention over that without, ratio "
        f"{of}{ending}, each run interpolated straight between measurements in the "
        "order of training, by its mean where it has a level several times."
    )


def _handles(data: xr.Dataset) -> list[Any]:
    single = bool(data["shown"] == "runs")
    handles: list[Any] = [
        style.entry(label, color=colour, marker=marker if single else "", markersize=3)
        for colour, marker, label in (LOOKS[variant] for variant in data["variant"].values)
    ]
    if single:
        return handles
    return [
        *handles,
        style.entry("a run, as measured", color=style.GREY, linewidth=0.6),
        Patch(color=style.GREY, alpha=0.4, label="standard error"),
    ]


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure."""
    counts = data["parameters"].values
    sizes = ", ".join(
        f"{count:,} weights {LOOKS[name][2]}"
        for name, count in zip(data["variant"].values, counts, strict=True)
    )
    if len(counts) > 3:
        sizes = f"{counts.min():,} to {counts.max():,} weights"
    last, seeds = int(data["step"][-1]), data.sizes["seed"]
    mean = f"Mean over {seeds} seeds and standard error (band)"
    runs = "Each run as measured; bars: what its eigenvalues leave open"
    drawn = runs if data["shown"] == "runs" else mean
    return (
        r"Relative error $|1 - λ_{\max}(\operatorname{GGN})/λ_{\max}(H)|$ of language models "
        f"through {last} steps of pre-training ({sizes}). {drawn}.{_larger(data)}"
    )


def _larger(data: xr.Dataset) -> str:
    """The sentence on where the curves cross, of the first quantity that is compared."""
    along = compared_at(data)[0]
    with contextlib.suppress(NothingToMeasure):
        share = float(larger(data, along).mean())
        return f" The error with attention is the larger one over {share:.0%} of the {along} range."
    return ""
