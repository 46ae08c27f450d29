"""The outlier pair during training: the pair and the trace, the small outlier's sign, the error."""

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays
from hessian_spectra.studies.scalar.drawing import patches, shade

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

# Below this share of the large outlier the small one is round-off, and its sign means nothing.
RESOLVED = 1e-12


def _errors(closed_form: Arrays, numerics: Arrays, run: str) -> np.ndarray:
    """The error of the whole spectrum at each step with numbers, ``(s,)``."""
    rows = np.searchsorted(closed_form[f"{run}/step"], numerics[f"{run}/step"])
    exact = closed_form[f"{run}/eigenvalues"][rows]
    return spectrum_error(exact, numerics[f"{run}/eigenvalues"])


def _shade(axes: Axes, steps: np.ndarray, phase: np.ndarray) -> None:
    """Colour the background by the phase of learning, one stripe per stay in a phase."""
    starts = np.flatnonzero(np.r_[True, phase[1:] != phase[:-1]])
    edges = np.r_[steps[starts], steps[-1]].astype(float)
    for name, (left, right) in zip(phase[starts].tolist(), pairwise(edges.tolist()), strict=True):
        shade(axes, name, left, right)


def _numeric_pair(closed_form: Arrays, numerics: Arrays, run: str) -> tuple[Any, Any]:
    """Steps with numbers and the numerical eigenvalues at the pair's places in the spectrum."""
    steps = numerics[f"{run}/step"]
    rows = np.searchsorted(closed_form[f"{run}/step"], steps)
    index = closed_form[f"{run}/outlier_index"][rows]
    return steps, np.take_along_axis(numerics[f"{run}/eigenvalues"], index, axis=1)


def _draw_pair(axes: Any, closed_form: Arrays, numerics: Arrays, run: str) -> None:
    """The large outlier with the trace, and the small outlier with the bulk."""
    large, small = axes
    steps, outlier = closed_form[f"{run}/step"], closed_form[f"{run}/outlier"]
    numeric_steps, pair = _numeric_pair(closed_form, numerics, run)
    for panel, k in ((large, 0), (small, 1)):
        colour = style.COLOURS[f"outlier {k + 1}"]
        panel.plot(numeric_steps, pair[:, k], color=colour, **style.NUMERIC)
        panel.plot(steps, outlier[:, k], color=colour, **style.EXACT)
    large.plot(steps, closed_form[f"{run}/trace"], color=style.COLOURS["trace"], linestyle="--")
    if _exceeds_limit(closed_form, run):
        limit = _stability_limit(closed_form, run)
        large.axhline(limit, color=style.BLACK, linestyle="-.", linewidth=0.8)
    for sign in (1, -1):
        bulk = sign * closed_form[f"{run}/bulk"]
        small.plot(steps, bulk, color=style.COLOURS["bulk"], linestyle=":", linewidth=0.9)
    small.axhline(0, color=style.BLACK, linewidth=0.6)


def _draw_run(column: Any, closed_form: Arrays, numerics: Arrays, run: str) -> None:
    steps, outlier = closed_form[f"{run}/step"], closed_form[f"{run}/outlier"]
    large, small, size, error = column
    _draw_pair((large, small), closed_form, numerics, run)
    share = np.abs(outlier[:, 1]) / outlier[:, 0]
    size.semilogy(steps, share, color=style.COLOURS["outlier 2"], **style.EXACT)
    size.set_ylim(RESOLVED, 10)
    # A step with no error at all still shows, at the bottom of the axis.
    shown = np.maximum(_errors(closed_form, numerics, run), 1e-18)
    error.semilogy(numerics[f"{run}/step"], shown, ".", color=style.COLOURS["error"], markersize=3)
    error.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    error.set_ylim(1e-18, 1e-8)

    for panels, threshold in (((large, small), 1e-3), ((size, error), RESOLVED)):
        above = np.flatnonzero(share > threshold)
        last = steps[above[-1]] if len(above) else steps[-1]
        for panel in panels:
            panel.set_xlim(steps[0], max(last, steps[0] + 1))
    for panel in (large, small, size):
        _shade(panel, steps, closed_form[f"{run}/phase"])
    for panel in (large, size):
        panel.tick_params(labelbottom=False)
    for panel in (small, error):
        panel.set_xlabel("step")


def _stability_limit(closed_form: Arrays, run: str) -> float:
    """The sharpness 2(1 + μ)/η above which gradient descent with momentum μ is unstable."""
    momentum = float(closed_form[f"{run}/momentum"])
    return 2 * (1 + momentum) / float(closed_form[f"{run}/learning_rate"])


def _exceeds_limit(closed_form: Arrays, run: str) -> bool:
    return bool(closed_form[f"{run}/outlier"].max() > _stability_limit(closed_form, run))


def _legend(figure: Figure, with_limit: bool) -> None:
    def line(label: str, colour: str, **options: Any) -> Line2D:
        return Line2D([], [], label=label, color=colour, **options)

    handles = [
        line("outlier $\\lambda_1$", style.COLOURS["outlier 1"]),
        line("outlier $\\lambda_2$", style.COLOURS["outlier 2"]),
        line("trace", style.COLOURS["trace"], linestyle="--"),
        line("bulk $\\pm\\,\\overline{\\delta x}$", style.COLOURS["bulk"], linestyle=":"),
        line("closed form", style.BLACK),
        line("numerical", style.BLACK, **style.NUMERIC),
        *patches(),
    ]
    if with_limit:
        handles.append(
            line("stability limit $2(1+\\mu)/\\eta$", style.BLACK, linestyle="-.", linewidth=0.8)
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=5)


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """One column per training run, its closed form drawn over the numerical spectrum."""
    runs = closed_form["runs"].tolist()
    figure, grid = style.panels(
        4,
        len(runs),
        height=1.6,
        squeeze=False,
        gridspec_kw={"height_ratios": [1.0, 1.25, 1.0, 0.8]},
    )
    for i, run in enumerate(runs):
        _draw_run(grid[:, i], closed_form, numerics, run)
        rate, momentum = closed_form[f"{run}/learning_rate"], closed_form[f"{run}/momentum"]
        heading = f"({'abc'[i]}) {TITLES[run]}\n$\\eta$ = {rate:g}, $\\mu$ = {momentum:g}"
        style.letter(grid[0, i], heading)
    labels = [
        "$\\lambda_1$ and trace",
        "$\\lambda_2$ and bulk",
        "$|\\lambda_2|\\,/\\,\\lambda_1$",
        "relative error",
    ]
    for axes, label in zip(grid[:, 0], labels, strict=True):
        axes.set_ylabel(label)
    figure.align_ylabels(grid[:, 0])
    _legend(figure, any(_exceeds_limit(closed_form, run) for run in runs))
    return figure


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    runs = closed_form["runs"].tolist()
    worst = max(_errors(closed_form, numerics, run).max() for run in runs)
    points = sum(len(numerics[f"{run}/step"]) for run in runs)
    sentences = [
        "The pair of outlying eigenvalues of the Hessian during training; lines: closed form, "
        "points: numerical spectrum.",
        "Background: phase of learning by t = ⟨w, v⟩/θ*; the small outlier is positive in the late "
        "phase (1/3 < t < 1) alone. The two upper rows show the steps up to the last one with "
        "|λ₂| above a thousandth of λ₁.",
    ]
    for run in runs:
        outlier, steps = closed_form[f"{run}/outlier"], closed_form[f"{run}/step"]
        shown = outlier[np.abs(outlier[:, 1]) > RESOLVED * outlier[:, 0], 1]
        changes = int(np.count_nonzero(np.diff(np.sign(shown))))
        sentences.append(
            f"{NAMES[run]}: λ₂ starts at {outlier[0, 1]:.3g} "
            f"and changes sign {changes} time{'' if changes == 1 else 's'}; |λ₂|/λ₁ is "
            f"{abs(outlier[-1, 1]) / outlier[-1, 0]:.1e} at step {steps[-1]}."
        )
        moves = steps[1:][np.diff(closed_form[f"{run}/units"]) != 0]
        if len(moves):
            sentences.append(
                "Hidden units enter or leave the positive cell, and the curves may jump, at step "
                f"{', '.join(map(str, moves[:5]))}{' and later' if len(moves) > 5 else ''}."
            )
        if closed_form[f"{run}/diverged_at"] >= 0:
            sentences.append(f"It diverged at step {closed_form[f'{run}/diverged_at']}.")
    sentences.append(
        f"Bottom: error of the whole spectrum, relative to its largest eigenvalue: at most "
        f"{worst:.1e} over {points} spectra (dashed: 1e-10)."
    )
    return " ".join(sentences)
