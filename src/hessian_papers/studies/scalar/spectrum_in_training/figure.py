"""The outlier pair during training: the pair and the trace, the small outlier's sign and size."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.ledger.bounds import needs
from hessian_papers.studies.scalar.spectrum_in_training.derived import RESOLVED, pair, small_share
from hessian_papers.studies.spectra import error
from hessian_papers.studies.trainings import compared, training
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

NAMES = {
    "linear": "Linear network",
    "relu": "ReLU network",
    "linear_high": "Linear network, high rate",
}
# The phases of learning: of each its colour, and the sign of the small outlier.
PHASES = {"early": (style.SKY, "<"), "late": (style.YELLOW, ">"), "divergent": (style.ORANGE, "<")}
# The strip of phases under the axis, as shares of the panel's height.
STRIP = (-0.075, -0.015)
LIMIT: dict[str, Any] = {"color": style.BLACK, "linestyle": "-.", "linewidth": 0.8}

# What the start predicts lies on the closed form: thin and dashed on top of it.
PREDICTED: dict[str, Any] = {
    "color": style.BLACK, "linestyle": (0, (3, 4)), "linewidth": 0.7, "zorder": 5
}  # fmt: skip

# Below this there is nothing but round-off, which differs between processors.
ROUND_OFF = 1e-9
FOLLOWED = {
    "numerical_rotation": ("the bulk eigenspace turns", "sine of the largest angle"),
    "numerical_iterate": ("iterates enter the initial one", "share of the iterate"),
}
RUNS = (
    style.VERMILION, style.BLUE, style.SKY, style.GREEN, style.PURPLE, style.ORANGE, style.BLACK
)  # fmt: skip


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
            look = style.look(PHASES[name][0], linewidth=0, clip_on=False, zorder=0)
            axes.axvspan(left, min(right, last), *STRIP, **look)
    axes.tick_params(axis="x", pad=6)


def _stability_limit(run: xr.Dataset) -> float:
    """The sharpness 2(1 + μ)/η above which gradient descent with momentum μ is unstable."""
    return 2 * (1 + float(run["momentum"])) / float(run["learning_rate"])


def _exceeds_limit(run: xr.Dataset) -> bool:
    """A run exceeds the limit of stability where its sharpness is anywhere above it."""
    return bool(pair(run)[0].max() > _stability_limit(run))


def _draw_pair(large: Axes, small: Axes, run: xr.Dataset) -> None:
    """The large outlier with the trace, and the small outlier with the bulk."""
    exact, numeric = pair(run), pair(compared(run), "numerical")
    for place, axes in enumerate((large, small)):
        colour = style.COLOURS[f"outlier {place + 1}"]
        axes.plot(numeric[place]["step"], numeric[place], color=colour, **style.NUMERIC)
        axes.plot(run["step"], exact[place], color=colour, **style.EXACT)
        if "predicted_large" in run:
            outlier = run[("predicted_large", "predicted_small")[place]]
            axes.plot(outlier["step"], outlier, **PREDICTED)
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


def _last(run: xr.Dataset, threshold: float) -> float:
    """The last step at which |λ₂| is above a share of λ₁, or that of the run if it never is."""
    steps = run["step"].values
    above = steps[small_share(run).values > threshold]
    return float(max(above[-1] if len(above) else steps[-1], steps[0] + 1))


def _draw_run(column: Any, run: xr.Dataset) -> None:
    large, small, size = column
    _draw_pair(large, small, run)
    _draw_size(size, run)
    size.set_ylim(RESOLVED, 10)
    for panel, threshold in ((large, 1e-3), (small, 1e-3), (size, RESOLVED)):
        last = _last(run, threshold)
        panel.set_xlim(int(run["step"][0]), last)
        _show_phases(panel, run, last)
    large.tick_params(labelbottom=False)
    for panel in (small, size):
        panel.set_xlabel("step")


def _legend(figure: Figure, with_limit: bool, with_prediction: bool) -> None:
    bulk = "bulk $\\pm\\,\\overline{\\delta x}$"
    handles = [
        style.entry("outlier $\\lambda_1$", color=style.COLOURS["outlier 1"]),
        style.entry("outlier $\\lambda_2$", color=style.COLOURS["outlier 2"]),
        style.entry("trace", color=style.COLOURS["trace"], linestyle="--"),
        style.entry(bulk, color=style.COLOURS["bulk"], linestyle=":"),
        style.entry("closed form", color=style.BLACK),
        style.entry("numerical", color=style.BLACK, **style.NUMERIC),
        *(
            Patch(color=colour, label=f"{name} phase, $\\lambda_2{sign}0$")
            for name, (colour, sign) in PHASES.items()
        ),
    ]
    if with_prediction:
        handles.append(style.entry("predicted from the start", **PREDICTED))
    if with_limit:
        handles.append(style.entry("stability limit $2(1+\\mu)/\\eta$", **LIMIT))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)


def draw(data: xr.Dataset) -> Figure:
    """The pair, the bulk eigenspace or each input by itself: whatever a study follows."""
    if "rotation" in data:
        return _eigenspaces(data)
    return _coordinates(data) if "decorrelated" in data else _pairs(data)


def _eigenspaces(data: xr.Dataset) -> Figure:
    """The angle of the bulk eigenspace, and the part of iterates in the initial one, by run."""
    panels = [
        Panel(title, "step", [named(data[name].clip(min=ROUND_OFF).dropna("step"), words)])
        for name, (title, words) in FOLLOWED.items()
    ]
    looks = {
        run: {"label": run.replace("_", " "), "color": color, "marker": mark}
        for run, color, mark in zip(data["run"].values.tolist(), RUNS, "osD^v<>", strict=False)
    }
    return picture(panels, looks, columns=2)


def _coordinates(data: xr.Dataset) -> Figure:
    """The largest error of the spectrum, with the inputs' correlations and without them."""
    run = compared(training(data, run=data["run"].values[0]))
    errors = {
        "with the correlations": error(run),
        "as if nothing were correlated": error(run.assign(exact=run["decorrelated"])),
    }
    values = xr.concat([*errors.values()], xr.Variable("form", [*errors])).clip(min=ROUND_OFF)
    title = f"a network of {int(data['inputs'])} correlated inputs"
    return picture([Panel(title, "step", [named(values, "largest error, over $\\lambda_1$")])])


def _pairs(data: xr.Dataset) -> Figure:
    """One column per training run, its closed form drawn over the numerical spectrum."""
    runs = _runs(data)
    heights = {"height_ratios": [1.0, 1.25, 1.0]}
    figure, grid = style.panels(3, len(runs), height=1.7, squeeze=False, gridspec_kw=heights)
    for letter, column, (name, run) in zip(style.letters(), grid.T, runs.items(), strict=False):
        _draw_run(column, run)
        rate, momentum = float(run["learning_rate"]), float(run["momentum"])
        setting = f"$\\eta$ = {rate:g}, $\\mu$ = {momentum:g}"
        style.letter(column[0], f"({letter}) {NAMES.get(name, name)}\n{setting}")
    labels = ["$\\lambda_1$ and trace", "$\\lambda_2$ and bulk", "$|\\lambda_2|\\,/\\,\\lambda_1$"]
    for axes, label in zip(grid[:, 0], labels, strict=True):
        axes.set_ylabel(label)
    figure.align_ylabels(grid[:, 0])
    _legend(figure, any(map(_exceeds_limit, runs.values())), "predicted_large" in data)
    return figure


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The errors of the closed form against the numerical spectra, and how they are read."""
    needs("alignment" in data, "what is not followed here is in the picture itself")
    words = "error relative to the largest eigenvalue"
    panels = [
        Panel(NAMES.get(name, name), "step", [named(error(run), words, rounding=True)])
        for name, run in ((name, compared(run)) for name, run in _runs(data).items())
    ]
    figure = picture(panels)
    return figure, f"Largest error of the whole closed-form spectrum (dashed: {EXACT:.0e})."


def _sentences(name: str, run: xr.Dataset) -> Iterator[str]:
    """The events of one run, a sentence each."""
    moves = run["step"].values[1:][np.diff(run["units"]) != 0]
    if len(moves):
        steps = f"{', '.join(map(str, moves[:3]))}{' and later' if len(moves) > 3 else ''}"
        yield f"{name}: units change cell, with jumps, at step {steps}."
    emptied_at, diverged_at = int(run["emptied_at"]), int(run["diverged_at"])
    if emptied_at >= 0:
        yield f"{name}: from step {emptied_at} the positive cell is empty."
    crossed_at = int(run["predicted_until"]) if "predicted_until" in run else -1
    if crossed_at >= 1 and diverged_at < 0:
        yield f"{name}: predicted up to step {crossed_at - 1}."
    if diverged_at >= 0:
        yield f"{name} diverged at step {diverged_at}."


def caption(data: xr.Dataset) -> str:
    """The key to the figure, and the events of its runs."""
    if "rotation" in data:
        turned = data["numerical_rotation"].max("step") > ROUND_OFF
        leaving = ", ".join(data["run"].values[turned.values].tolist()).replace("_", " ")
        return (
            "(a) How far the bulk eigenspace has turned. (b) The part of the iterate that lies in "
            "the initial one. Both by numerical eigenvectors; round-off stands at 1e-9. "
            f"{f'It turns with {leaving} alone.' if leaving else 'It turns with none of them.'}"
        )
    if "decorrelated" in data:
        return (
            f"Error of the spectrum while a network of {int(data['inputs'])} correlated inputs is "
            "trained, against the numerical one. Below 1e-9 there is round-off alone."
        )
    sentences = [
        "Lines: closed form; points: numerical (ReLU: positive cell). Strips: phase of learning. "
        "Upper rows end where $|λ_2|$ stays below $λ_1/1000$. Bottom: thick line through "
        "maxima where $|λ_2|$ oscillates.",
        *(
            sentence
            for name, run in _runs(data).items()
            for sentence in _sentences(NAMES.get(name, name), run)
        ),
    ]
    return " ".join(sentences)
