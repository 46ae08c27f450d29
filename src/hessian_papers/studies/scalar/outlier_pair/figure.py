"""The outlier pair during training: the pair and the trace, the small outlier's sign, the error."""

from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.scalar.drawing import patches, strip
from hessian_papers.studies.scalar.outlier_pair.derived import RESOLVED, pair, small_share
from hessian_papers.studies.spectra import error
from hessian_papers.studies.trainings import compared, training
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

TITLES = {
    "linear": "linear network",
    "relu": "ReLU network, positive cell",
    "linear_high": "linear network, large $\\eta$",
}
NAMES = {
    "linear": "Linear network",
    "relu": "ReLU network",
    "linear_high": "Linear network at the high learning rate",
}
LIMIT: dict[str, Any] = {"color": style.BLACK, "linestyle": "-.", "linewidth": 0.8}


def _runs(data: xr.Dataset) -> dict[str, xr.Dataset]:
    """All runs by name, each at the steps that it comes to."""
    return {run: training(data, run=run) for run in data["run"].values.tolist()}


def _show_phases(axes: Axes, run: xr.Dataset, last: float) -> None:
    """The phases of learning up to a step, under the axis: a piece for each stay in one."""
    phase, steps = run["phase"].values, run["step"].values
    starts = np.flatnonzero(np.r_[True, phase[1:] != phase[:-1]])
    edges = np.r_[steps[starts], steps[-1]].astype(float)
    for name, (left, right) in zip(phase[starts].tolist(), pairwise(edges.tolist()), strict=True):
        if left < last:
            strip(axes, name, left, min(right, last))
    axes.tick_params(axis="x", pad=6)


def _stability_limit(run: xr.Dataset) -> float:
    """The sharpness 2(1 + μ)/η above which gradient descent with momentum μ is unstable."""
    return 2 * (1 + float(run["momentum"])) / float(run["learning_rate"])


def _exceeds_limit(run: xr.Dataset) -> bool:
    """Whether the sharpness is anywhere above the limit of stability."""
    return bool(pair(run)[0].max() > _stability_limit(run))


def _draw_pair(large: Axes, small: Axes, run: xr.Dataset) -> None:
    """The large outlier with the trace, and the small outlier with the bulk."""
    exact, numeric = pair(run), pair(compared(run), "numerical")
    for place, axes in enumerate((large, small)):
        colour = style.COLOURS[f"outlier {place + 1}"]
        axes.plot(numeric[place]["step"], numeric[place], color=colour, **style.NUMERIC)
        axes.plot(run["step"], exact[place], color=colour, **style.EXACT)
    large.plot(run["step"], run["trace"], color=style.COLOURS["trace"], linestyle="--")
    if _exceeds_limit(run):
        large.axhline(_stability_limit(run), **LIMIT)
    for bulk in (run["bulk"], -run["bulk"]):
        small.plot(run["step"], bulk, color=style.COLOURS["bulk"], linestyle=":", linewidth=0.9)
    small.axhline(0, color=style.BLACK, linewidth=0.6)


def _draw_size(axes: Axes, run: xr.Dataset) -> None:
    """Each step thin, and a line through the maxima where it oscillates.

    How deep it falls at a change of sign depends on how near to that a step happens to be.
    """
    steps, share = run["step"].values, small_share(run).values
    colour = style.COLOURS["outlier 2"]
    inner = share[1:-1]
    tops = 1 + np.flatnonzero((inner > share[:-2]) & (inner >= share[2:]) & (inner > RESOLVED))
    oscillates = len(tops) > 2
    axes.semilogy(steps, share, color=colour, linewidth=0.5 if oscillates else 1.2)
    if oscillates:
        axes.semilogy(steps[tops], share[tops], color=colour, **style.EXACT)


def _draw_run(column: Any, run: xr.Dataset) -> None:
    large, small, size, errors = column
    steps, share = run["step"].values, small_share(run).values
    _draw_pair(large, small, run)
    _draw_size(size, run)
    size.set_ylim(RESOLVED, 10)
    numeric = compared(run)
    shown = visible(error(numeric).values)
    errors.semilogy(numeric["step"], shown, ".", color=style.COLOURS["error"], markersize=3)
    error_axis(errors)

    for panels, threshold in (((large, small), 1e-3), ((size, errors), RESOLVED)):
        above = steps[share > threshold]
        last = above[-1] if len(above) else steps[-1]
        last = float(max(last, steps[0] + 1))
        for panel in panels:
            panel.set_xlim(steps[0], last)
            if panel is not errors:
                _show_phases(panel, run, last)
    for panel in (large, size):
        panel.tick_params(labelbottom=False)
    for panel in (small, errors):
        panel.set_xlabel("step")


def _legend(figure: Figure, with_limit: bool) -> None:
    bulk = "bulk $\\pm\\,\\overline{\\delta x}$"
    handles = [
        style.entry("outlier $\\lambda_1$", color=style.COLOURS["outlier 1"]),
        style.entry("outlier $\\lambda_2$", color=style.COLOURS["outlier 2"]),
        style.entry("trace", color=style.COLOURS["trace"], linestyle="--"),
        style.entry(bulk, color=style.COLOURS["bulk"], linestyle=":"),
        style.entry("closed form", color=style.BLACK),
        style.entry("numerical", color=style.BLACK, **style.NUMERIC),
        *patches(alpha=1.0),
    ]
    if with_limit:
        handles.append(style.entry("stability limit $2(1+\\mu)/\\eta$", **LIMIT))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)


def draw(data: xr.Dataset) -> Figure:
    """One column per training run, its closed form drawn over the numerical spectrum."""
    runs = _runs(data)
    heights = {"height_ratios": [1.0, 1.25, 1.0, 0.8]}
    figure, grid = style.panels(4, len(runs), height=1.6, squeeze=False, gridspec_kw=heights)
    for letter, column, (name, run) in zip("abc", grid.T, runs.items(), strict=False):
        _draw_run(column, run)
        rate, momentum = float(run["learning_rate"]), float(run["momentum"])
        setting = f"$\\eta$ = {rate:g}, $\\mu$ = {momentum:g}"
        style.letter(column[0], f"({letter}) {TITLES[name]}\n{setting}")
    labels = [
        "$\\lambda_1$ and trace",
        "$\\lambda_2$ and bulk",
        "$|\\lambda_2|\\,/\\,\\lambda_1$",
        "relative error",
    ]
    for axes, label in zip(grid[:, 0], labels, strict=True):
        axes.set_ylabel(label)
    figure.align_ylabels(grid[:, 0])
    _legend(figure, any(map(_exceeds_limit, runs.values())))
    return figure


def _sentences(name: str, run: xr.Dataset) -> list[str]:
    """What is to be said about one run, a sentence each."""
    values = []
    moves = run["step"].values[1:][np.diff(run["units"]) != 0]
    if len(moves):
        values.append(
            f"{NAMES[name]}: hidden units enter or leave the positive cell, and the curves may "
            "jump, at step "
            f"{', '.join(map(str, moves[:5]))}{' and later' if len(moves) > 5 else ''}."
        )
    emptied_at, diverged_at = int(run["emptied_at"]), int(run["diverged_at"])
    if emptied_at >= 0:
        values.append(
            f"{NAMES[name]}: from step {emptied_at} on no hidden unit is in the positive cell."
        )
    if diverged_at >= 0:
        values.append(f"{NAMES[name]} diverged at step {diverged_at}.")
    return values


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    sentences = [
        "As training goes on, the large outlier of the Hessian becomes its trace, and the small "
        "one changes sign and vanishes; lines: closed form, points: numerical spectrum.",
        "Strips: phase of learning by t = ⟨w, v⟩/θ*; the small outlier is positive in the late "
        "phase (1/3 < t < 1) alone. The two upper rows show the steps up to the last one with "
        "|λ₂| above a thousandth of λ₁; in the third row, where |λ₂| oscillates, the thick line is "
        "through its maxima, and the depth of the dips, changes of sign, is one of sampling.",
        *(sentence for name, run in _runs(data).items() for sentence in _sentences(name, run)),
        "Bottom: error of the whole spectrum, relative to its largest eigenvalue (dashed: "
        f"{EXACT:.0e}).",
    ]
    return " ".join(sentences)
