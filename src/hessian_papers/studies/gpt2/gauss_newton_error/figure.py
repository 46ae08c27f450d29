"""The relative error of the largest GGN eigenvalue with and without attention, and what it adds."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.drawing import LOOKS
from hessian_papers.studies.gpt2.gauss_newton_error.derived import added, contrast
from hessian_papers.studies.gpt2.seeds import COMPARED
from hessian_spectra.pictures import style

AXES = {
    "residual": "mean residual norm",
    "loss": "loss",
    "step": "step",
    "sharpness": "largest Hessian eigenvalue",
}
FALLING = ("residual", "loss")  # drawn so that training goes to the right
RUN: dict[str, Any] = {"linewidth": 0.6, "markersize": 2.0, "alpha": 0.6}
BAND: dict[str, Any] = {"alpha": 0.22, "linewidth": 0}


def _draw_runs(axes: Axes, data: xr.Dataset, along: str, *, marked: bool) -> None:
    """Each run as it was measured."""
    for variant in data["variant"].values:
        runs, (colour, marker, _) = data.sel(along=along, variant=variant), LOOKS[variant]
        lines = runs["quantity"].values.T, runs["measured"].values.T
        axes.plot(*lines, color=colour, marker=marker if marked else "", **RUN)


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


def _draw_contrast(axes: Axes, data: xr.Dataset, along: str, compared: str) -> None:
    """What attention adds: its mean with the interval, or each pair of runs."""
    axes.axhline(0, color=style.BLACK, linewidth=0.8)
    try:
        mean = contrast(data, along, compared)
    except NothingToMeasure as missing:
        axes.text(0.5, 0.6, str(missing).partition("configuration ")[2], ha="center",
                  transform=axes.transAxes, fontsize=7)  # fmt: skip
        return
    if data["shown"] == "runs":
        pairs = added(data, along, compared)
        axes.plot(pairs["level"], pairs["value"].values.T, color=style.BLACK, linewidth=0.8)
        return
    level, known = mean["level"].values, mean["value"].values
    axes.plot(level, known, color=style.BLACK, linewidth=1.2)
    known = known[np.isfinite(known)]
    # The interval of few seeds may be many times as wide as the mean is high.
    least, most = known.min(initial=0.0), known.max(initial=0.0)
    room = 0.5 * (most - least) or 1.0
    bottom, top = least - room, most + room
    if data.sizes["seed"] > 1:
        low, high = (mean[end].clip(2 * bottom, 2 * top).values for end in ("low", "high"))
        axes.fill_between(level, low, high, color=style.GREY, **BAND)
    axes.set_ylim(bottom, top)


def _draw_loss(axes: Axes, data: xr.Dataset) -> None:
    for variant in data["variant"].values:
        losses, colour = data["loss"].sel(variant=variant), LOOKS[variant][0]
        mean = losses.mean("seed", skipna=False)
        axes.plot(data["step"].values, losses.values.T, color=colour, **RUN)
        axes.plot(data["step"].values, mean.values, color=colour, linewidth=1.6)
    axes.set_ylabel("loss")


def _column(grid: np.ndarray, data: xr.Dataset, along: str) -> None:
    """The panels along one quantity, on one horizontal axis."""
    *losses, errors, difference, ratio = grid
    for axes in losses:
        axes.set_visible(along == "step")
    if losses and along == "step":
        _draw_loss(losses[0], data)
    single = bool(data["shown"] == "runs")
    _draw_runs(errors, data, along, marked=single)
    if not single:
        _draw_means(errors, data, along)
    if (data["measured"] > 0).any():
        errors.set_yscale("log")
    for axes, compared in zip((difference, ratio), COMPARED, strict=True):
        _draw_contrast(axes, data, along, compared)
    ratio.set_xlabel(AXES[along])
    if along in FALLING:
        ratio.invert_xaxis()
    if along == "sharpness" and (data["level"].sel(along=along) > 0).all():
        ratio.set_xscale("log")


def draw(data: xr.Dataset) -> Figure:
    """The errors, and what attention adds to them, along each quantity; the loss along the step."""
    along = data["along"].values.tolist()
    ratios = (1.0,) * ("step" in along) + (1.6, 0.8, 0.8)
    figure, grid = style.panels(
        len(ratios),
        len(along),
        height=1.65,
        width=style.FULL_WIDTH if len(along) > 1 else 0.72 * style.FULL_WIDTH,
        height_ratios=ratios,
        sharex="col",
        squeeze=False,
    )
    for letter, column, name in zip(style.letters(), grid.T, along, strict=False):
        _column(column, data, name)
        top = next(axes for axes in column if axes.get_visible())
        prefix = f"({letter}) " if len(along) > 1 else ""
        style.letter(top, f"{prefix}at equal {AXES[name].removeprefix('mean ')}")
    grid[-3, 0].set_ylabel(r"relative error of $\lambda_{\max}$(GGN)")
    grid[-2, 0].set_ylabel("what attention\nadds to it")
    grid[-1, 0].set_ylabel("ln of the ratio\nof the errors")
    figure.align_ylabels(grid[:, 0])
    figure.legend(handles=_handles(data), loc="outside upper center", ncols=2)
    return figure


def _handles(data: xr.Dataset) -> list[Any]:
    single = bool(data["shown"] == "runs")
    handles: list[Any] = [
        style.entry(label, color=colour, marker=marker if single else "", markersize=3)
        for colour, marker, label in (LOOKS[variant] for variant in data["variant"].values)
    ]
    if single:
        return [*handles, style.entry("a pair of runs", color=style.BLACK, linewidth=0.8)]
    return [
        *handles,
        style.entry("a run, as measured", color=style.GREY, linewidth=0.6),
        Patch(color=style.GREY, alpha=0.4, label="standard error; below: 95 % interval"),
    ]


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    sizes = ", ".join(
        f"{count:,} weights {LOOKS[name][2]}"
        for name, count in zip(data["variant"].values, data["parameters"].values, strict=True)
    )
    last, seeds = int(data["step"][-1]), data.sizes["seed"]
    drawn = (
        "Each run as measured, below difference and ratio of each pair of runs, interpolated"
        if data["shown"] == "runs"
        else f"Mean over {seeds} seeds and standard error, below difference and ratio paired by "
        "seed with Student's 95 % interval; each run interpolated"
    )
    return (
        "Whether the Gauss-Newton matrix's error is larger with attention changes from run to run "
        "and along the axis. "
        f"Relative error |1 − λ_max(GGN)/λ_max(H)| of language models through {last} steps of "
        f"pre-training ({sizes}). {drawn} straight between measurements in the order of training, "
        "by its mean where it has a level several times."
    )
