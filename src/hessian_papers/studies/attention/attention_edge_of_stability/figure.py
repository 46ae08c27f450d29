"""Self-attention at the edge of stability: sharpness, trace, loss, norms, and the error."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing import curves
from hessian_papers.drawing.envelope import draw_envelope, envelope
from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.attention.attention_edge_of_stability.reading import Reading
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

# How many steps the panel of the oscillation shows.
ZOOM = 24
SMALL: dict[str, Any] = {"markersize": 2.5}
KEY: dict[str, Any] = {
    "handlelength": 1.4,
    "borderaxespad": 0.2,
    "labelspacing": 0.25,
    "columnspacing": 1.0,
}


def _draw_threshold(axes: Axes, reading: Reading, **options: Any) -> None:
    axes.axhline(reading.threshold, color=style.BLACK, linestyle="--", linewidth=0.8, **options)


def _draw_numerical(axes: Axes, reading: Reading, values: np.ndarray) -> None:
    look = style.NUMERIC | SMALL | {"color": style.BLACK}
    axes.plot(reading.numeric_steps, values, label="numerical", **look)


def _draw_loss(axes: Axes, reading: Reading) -> None:
    axes.semilogy(reading.steps, reading["loss"], color=style.COLOURS["loss"])
    axes.set_ylabel("loss")


def _draw_residual(axes: Axes, reading: Reading) -> None:
    axes.semilogy(reading.steps, reading["norm/residual"], color=style.COLOURS["loss"])
    axes.set_ylabel(r"residual norm $\|f - y\|$")


def _draw_sharpness(axes: Axes, reading: Reading) -> None:
    colour = style.COLOURS["outlier 1"]
    axes.fill_between(
        reading.steps, envelope(reading["lower"])[0], envelope(reading["upper"])[1],
        color=style.GREY, alpha=0.2, linewidth=0,
        label=r"bounds $\frac{1}{3}\mathrm{tr} + \frac{1}{2}\xi$, $\frac{1}{3}\mathrm{tr} + \xi$",
    )  # fmt: skip
    _draw_numerical(axes, reading, reading.numerics["eigenvalues"].max(axis=1))
    draw_envelope(axes, reading.steps, reading["sharpness"], color=colour, label="closed form")
    _draw_threshold(axes, reading, label=r"$2/\eta$")
    axes.set_ylim(0, 1.75 * reading["upper"].max())
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")
    axes.legend(loc="upper right", ncols=2, **KEY)


def _draw_trace(axes: Axes, reading: Reading) -> None:
    _draw_numerical(axes, reading, reading.numerics["eigenvalues"].sum(axis=1))
    draw_envelope(
        axes, reading.steps, reading["trace"], color=style.COLOURS["trace"],
        label=r"closed form $\alpha + \zeta(\|w_Q\|^2 + \|w_K\|^2)$",
    )  # fmt: skip
    axes.set_ylim(top=1.35 * reading["trace"].max())
    axes.set_ylabel(r"trace $\mathrm{tr}(H)$")
    axes.legend(loc="lower right", **KEY)


def _draw_phases(axes: Axes, reading: Reading) -> None:
    """Sharpness and trace over the first steps at the edge, or over the last steps."""
    last = len(reading.steps)
    start = max(0, last - ZOOM if reading.edge is None else reading.edge - 3)
    shown = slice(start, min(last, start + ZOOM))
    for name, colour, marker in (
        ("sharpness", style.COLOURS["outlier 1"], "o"),
        ("trace", style.COLOURS["trace"], "s"),
    ):
        axes.plot(
            reading.steps[shown], reading[name][shown], color=colour, marker=marker, label=name,
            linewidth=1.0, **SMALL,
        )  # fmt: skip
    _draw_threshold(axes, reading)
    axes.set_ylabel("eigenvalue, trace")
    axes.legend(loc="lower right", **KEY)


def _draw_norms(axes: Axes, reading: Reading, labels: dict[str, str]) -> None:
    looks = ((style.BLUE, "-", 1.2), (style.GREEN, "--", 1.8), (style.ORANGE, "-.", 1.2))
    for (name, label), (colour, line, width) in zip(labels.items(), looks, strict=True):
        draw_envelope(
            axes, reading.steps, reading[f"norm/{name}"], color=colour, linestyle=line,
            linewidth=width, label=label,
        )  # fmt: skip
    axes.legend(loc="lower right", ncols=3, **KEY)


def _draw_moments(axes: Axes, reading: Reading) -> None:
    _draw_norms(axes, reading, {"m_1": r"$\|m_1\|$", "m_2": r"$\|m_2\|$", "m_3": r"$\|m_3\|$"})
    axes.set_ylabel("attention moments")


def _draw_weights(axes: Axes, reading: Reading) -> None:
    _draw_norms(
        axes, reading, {"w_value": "$|w_V|$", "w_query": r"$\|w_Q\|$", "w_key": r"$\|w_K\|$"}
    )
    axes.set_ylabel("norms of the weights")


def _draw_error(axes: Axes, reading: Reading) -> None:
    error = visible(reading.errors())
    axes.semilogy(reading.numeric_steps, error, ".", color=style.COLOURS["error"], markersize=3)
    error_axis(axes)
    axes.set_ylabel("relative error of\nthe closed form")


# In the order of the panels, row by row.
PANELS = {
    "loss": _draw_loss,
    "residual": _draw_residual,
    "sharpness": _draw_sharpness,
    "attention moments": _draw_moments,
    "trace": _draw_trace,
    "weights": _draw_weights,
    "the first steps at the edge": _draw_phases,
    "error": _draw_error,
}


def draw(reading: Reading) -> Figure:
    """Eight panels over the training steps; a dotted line marks where the sharpness reaches 2/η."""
    figure, grid = style.panels(4, 2, height=1.65)
    step = reading.steps
    for axes, letter, (title, drawn) in zip(grid.flat, "abcdefgh", PANELS.items(), strict=True):
        drawn(axes, reading)
        if drawn is _draw_sharpness:
            curves.main(axes)
        style.letter(axes, f"({letter}) {title}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if drawn is _draw_phases:
            continue
        axes.set_xlim(step[0], max(step[-1], 1))
        if reading.edge is not None:
            axes.axvline(step[reading.edge], color=style.BLACK, linestyle=":", linewidth=0.8)
    for axes in grid[3]:
        axes.set_xlabel("step of gradient descent")
    return figure


def _course(reading: Reading) -> str:
    """How the sharpness goes, in words."""
    if reading.edge is None:
        return "The sharpness stays below 2/η."
    return (
        f"The sharpness rises to 2/η, which it reaches at step {reading.steps[reading.edge]} "
        "(dotted), and goes on around it."
    )


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    end = f" Training diverges at step {reading.diverged_at}."
    return (
        f"{_course(reading)} A single self-attention layer is trained to reverse sequences, by "
        f"gradient descent with learning rate η = {reading['learning_rate']:.3g}."
        f"{'' if reading.diverged_at is None else end} In (c) to (f) bands are from the smallest "
        "to the largest of three neighbouring steps, and lines are halfway; (g) has the steps "
        "themselves. Panel (h): error of the whole spectrum relative to its largest eigenvalue "
        f"(dashed: {EXACT:.0e})."
    )
