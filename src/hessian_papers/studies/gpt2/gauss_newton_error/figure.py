"""The relative error of the largest GGN eigenvalue with and without attention, and what it adds."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.drawing import LOOKS
from hessian_papers.studies.gpt2.gauss_newton_error.derived import added, compared_at, contrast
from hessian_papers.studies.gpt2.seeds import COMPARED
from hessian_spectra.pictures import style

AXES = {
    "residual": "mean residual norm",
    "loss": "loss",
    "step": "step",
}
ERROR = r"relative error of $\lambda_{\max}$(GGN)"
FALLING = ("residual", "loss")  # drawn so that training goes to the right
RUN: dict[str, Any] = {"linewidth": 0.6, "markersize": 2.0, "alpha": 0.6}
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


def _draw_contrast(axes: Axes, data: xr.Dataset, along: str, compared: str) -> None:
    """The increase by attention: its mean with the interval, or each pair of runs."""
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


def _draw_errors(axes: Axes, data: xr.Dataset, along: str) -> None:
    single = bool(data["shown"] == "runs")
    _draw_runs(axes, data, along, marked=single)
    if not single:
        _draw_means(axes, data, along)
    if (data["measured"] > 0).any():
        axes.set_yscale("log")
    if single:
        _draw_bars(axes, data, along)


def _along(axes: Axes, data: xr.Dataset, along: str) -> None:
    """The horizontal axis of a column of panels."""
    axes.set_xlabel(AXES[along])
    if along in FALLING:
        axes.invert_xaxis()


def _panels(rows: Sequence[float], along: Sequence[str]) -> tuple[Figure, np.ndarray]:
    figure, grid = style.panels(
        len(rows),
        len(along),
        height=1.65 if len(rows) > 1 else 2.6,
        width=style.FULL_WIDTH if len(along) > 1 else 0.72 * style.FULL_WIDTH,
        height_ratios=rows,
        sharex="col",
        squeeze=False,
    )
    return figure, grid


def _leave_empty(panels: Iterable[Axes]) -> None:
    """No panel where another column has one."""
    for axes in panels:
        axes.set_axis_off()


def _finish(figure: Figure, grid: np.ndarray, data: xr.Dataset, along: Sequence[str]) -> None:
    for letter, column, name in zip(style.letters(), grid.T, along, strict=False):
        _along(column[-1], data, name)
        top = next(axes for axes in column if axes.axison)
        prefix = f"({letter}) " if len(along) > 1 else ""
        style.letter(top, f"{prefix}at equal {AXES[name].removeprefix('mean ')}")
    figure.align_ylabels(grid[:, 0])


def draw(data: xr.Dataset) -> Figure:
    """The errors along each quantity, and the loss along the step."""
    along = compared_at(data)
    ratios = (1.0,) * ("step" in along) + (1.8,)
    figure, grid = _panels(ratios, along)
    for column, name in zip(grid.T, along, strict=True):
        if name == "step":
            _draw_loss(column[0], data)
        else:
            _leave_empty(column[:-1])
        _draw_errors(column[-1], data, name)
    grid[-1, 0].set_ylabel(ERROR)
    _finish(figure, grid, data, along)
    figure.legend(handles=_handles(data), loc="outside upper center", ncols=2)
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The increase of the errors by attention."""
    along = compared_at(data)
    figure, grid = _panels((1.0, 1.0), along)
    for column, name in zip(grid.T, along, strict=True):
        for axes, compared in zip(column, COMPARED, strict=True):
            _draw_contrast(axes, data, name, compared)
    grid[-2, 0].set_ylabel("what attention\nadds to it")
    grid[-1, 0].set_ylabel("ln of the ratio\nof the errors")
    _finish(figure, grid, data, along)
    of = (
        "of each pair of runs" if data["shown"] == "runs" else "paired by seed, with Student's 95 %"
    )
    ending = "" if data["shown"] == "runs" else " interval (band)"
    return figure, (
        r"What attention adds to the relative error of $λ_{\max}(\operatorname{GGN})$: difference "
        f"and ratio {of}{ending}, each run interpolated straight between measurements in the "
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
        f"through {last} steps of pre-training ({sizes}). {drawn}."
    )
