"""Self-attention at the edge of stability: sharpness, trace, loss, norms, and the error."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

# How many steps the panel of the oscillation shows.
ZOOM = 24
SMALL: dict[str, Any] = {"markersize": 2.5}
KEY: dict[str, Any] = {
    "handlelength": 1.4,
    "borderaxespad": 0.2,
    "labelspacing": 0.25,
    "columnspacing": 1.0,
}


def _threshold(closed_form: Arrays) -> float:
    """The sharpness 2/η above which gradient descent is unstable."""
    return float(2 / closed_form["learning_rate"])


def _edge(closed_form: Arrays) -> int | None:
    """The row of the first step with a sharpness of at least 2/η, if there is one."""
    reached = np.flatnonzero(closed_form["sharpness"] >= _threshold(closed_form))
    return int(reached[0]) if len(reached) else None


def _errors(closed_form: Arrays, numerics: Arrays) -> np.ndarray:
    rows = np.searchsorted(closed_form["step"], numerics["step"])
    return spectrum_error(closed_form["eigenvalues"][rows], numerics["eigenvalues"])


def _draw_sharpness(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    step = closed_form["step"]
    colour = style.COLOURS["outlier 1"]
    axes.fill_between(
        step, closed_form["lower"], closed_form["upper"], color=colour, alpha=0.18, linewidth=0,
        label=r"bounds $\frac{1}{3}\mathrm{tr} + \frac{1}{2}\xi$, $\frac{1}{3}\mathrm{tr} + \xi$",
    )  # fmt: skip
    axes.plot(
        numerics["step"], numerics["eigenvalues"][:, -1], color=style.BLACK, label="numerical",
        **(style.NUMERIC | SMALL),
    )  # fmt: skip
    axes.plot(step, closed_form["sharpness"], color=colour, label="closed form", **style.EXACT)
    axes.axhline(
        _threshold(closed_form), color=style.BLACK, linestyle="--", linewidth=0.8, label=r"$2/\eta$"
    )
    axes.set_ylim(0, 1.75 * closed_form["upper"].max())
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")
    axes.legend(loc="upper right", ncols=2, **KEY)


def _draw_trace(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    axes.plot(
        numerics["step"], numerics["eigenvalues"].sum(axis=1), color=style.BLACK, label="numerical",
        **(style.NUMERIC | SMALL),
    )  # fmt: skip
    axes.plot(
        closed_form["step"], closed_form["trace"], color=style.COLOURS["trace"],
        label=r"closed form $\alpha + \zeta(\|w_Q\|^2 + \|w_K\|^2)$", **style.EXACT,
    )  # fmt: skip
    axes.set_ylim(top=1.35 * closed_form["trace"].max())
    axes.set_ylabel(r"trace $\mathrm{tr}(H)$")
    axes.legend(loc="lower right", **KEY)


def _draw_phases(axes: Axes, closed_form: Arrays) -> None:
    """Sharpness and trace over the first steps at the edge, or over the last steps."""
    edge = _edge(closed_form)
    last = len(closed_form["step"])
    start = max(0, last - ZOOM if edge is None else edge - 3)
    shown = slice(start, min(last, start + ZOOM))
    step = closed_form["step"][shown]
    for name, colour, label, marker in (
        ("sharpness", style.COLOURS["outlier 1"], r"sharpness", "o"),
        ("trace", style.COLOURS["trace"], "trace", "s"),
    ):
        axes.plot(
            step, closed_form[name][shown], color=colour, marker=marker, label=label,
            linewidth=1.0, **SMALL,
        )  # fmt: skip
    axes.axhline(_threshold(closed_form), color=style.BLACK, linestyle="--", linewidth=0.8)
    axes.set_ylabel("eigenvalue, trace")
    axes.legend(loc="lower right", **KEY)


def _draw_norms(axes: Axes, closed_form: Arrays, name: str, labels: tuple[str, ...]) -> None:
    looks = zip(
        (style.BLUE, style.GREEN, style.ORANGE), ("-", "--", "-."), (1.2, 1.8, 1.2), strict=True
    )
    for column, (label, (colour, line, width)) in enumerate(zip(labels, looks, strict=True)):
        axes.plot(
            closed_form["step"], closed_form[name][:, column], color=colour, linestyle=line,
            linewidth=width, label=label,
        )  # fmt: skip
    axes.legend(loc="lower right", ncols=3, **KEY)


def _draw_error(axes: Axes, closed_form: Arrays, numerics: Arrays) -> None:
    # A step with no error at all still shows, at the bottom of the axis.
    error = np.maximum(_errors(closed_form, numerics), 1e-18)
    axes.semilogy(numerics["step"], error, ".", color=style.COLOURS["error"], markersize=3)
    axes.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    axes.set_ylim(1e-18, 1e-8)
    axes.set_ylabel("relative error of\nthe closed form")


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Eight panels over the training steps; a dotted line marks where the sharpness reaches 2/η."""
    figure, grid = style.panels(4, 2, height=1.65)
    loss, residual = grid[0]
    loss.semilogy(closed_form["step"], closed_form["loss"], color=style.COLOURS["loss"])
    loss.set_ylabel("loss")
    residual.semilogy(
        closed_form["step"], closed_form["residual_norm"], color=style.COLOURS["loss"]
    )
    residual.set_ylabel(r"residual norm $\|f - y\|$")
    _draw_sharpness(grid[1, 0], closed_form, numerics)
    _draw_norms(grid[1, 1], closed_form, "moment_norms", (r"$\|m_1\|$", r"$\|m_2\|$", r"$\|m_3\|$"))
    grid[1, 1].set_ylabel("attention moments")
    _draw_trace(grid[2, 0], closed_form, numerics)
    _draw_norms(grid[2, 1], closed_form, "weight_norms", ("$|w_V|$", r"$\|w_Q\|$", r"$\|w_K\|$"))
    grid[2, 1].set_ylabel("norms of the weights")
    _draw_phases(grid[3, 0], closed_form)
    _draw_error(grid[3, 1], closed_form, numerics)
    _finish(grid, closed_form)
    return figure


def _finish(grid: Any, closed_form: Arrays) -> None:
    titles = (
        ("loss", "residual"), ("sharpness", "attention moments"), ("trace", "weights"),
        ("the first steps at the edge", "error"),
    )  # fmt: skip
    edge = _edge(closed_form)
    step = closed_form["step"]
    letters = iter("abcdefgh")
    for axes, title in zip(grid.flat, [text for row in titles for text in row], strict=True):
        style.letter(axes, f"({next(letters)}) {title}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if axes is grid[3, 0]:
            continue
        axes.set_xlim(step[0], max(step[-1], 1))
        if edge is not None:
            axes.axvline(step[edge], color=style.BLACK, linestyle=":", linewidth=0.8)
    for axes in grid[3]:
        axes.set_xlabel("step of gradient descent")


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    threshold, edge = _threshold(closed_form), _edge(closed_form)
    sharpness = closed_form["sharpness"]
    if edge is None:
        course = (
            f"The sharpness stays below 2/η = {threshold:.3g}; its largest value is "
            f"{sharpness.max():.3g}."
        )
    else:
        mean, largest = sharpness[edge:].mean() / threshold, sharpness.max() / threshold
        course = (
            f"The sharpness rises from {sharpness[0]:.2g} to 2/η = {threshold:.3g}, which it "
            f"reaches at step {closed_form['step'][edge]} (dotted), and then oscillates around it "
            f"with period 2: its mean from there on is {mean:.3f} · 2/η, "
            f"and its largest value {largest:.3f} · 2/η."
        )
    end = f"The loss goes from {closed_form['loss'][0]:.2g} to {closed_form['loss'][-1]:.1e}."
    if closed_form["diverged_at"] >= 0:
        end = f"Training diverges at step {closed_form['diverged_at']}."
    worst = _errors(closed_form, numerics).max()
    return (
        "Progressive sharpening and the edge of stability in a single self-attention layer "
        f"trained to reverse sequences, by gradient descent with learning rate η = "
        f"{closed_form['learning_rate']:.3g}. {course} {end} Panel (h): error of the whole "
        f"spectrum relative to its largest eigenvalue, at most {worst:.1e} over "
        f"{len(numerics['step'])} spectra (dashed: 1e-10)."
    )
