"""The trace of the Hessian through training: random probes, and equation (7) on top."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays
from hessian_spectra.studies.images.drawing import columns, epoch_axis, image_set

HUTCHINSON: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.5,
    "color": style.BLACK,
    "elinewidth": 0.9,
    "capsize": 2,
}
EQUATION: dict[str, Any] = {"color": style.COLOURS["trace"], **style.EXACT}
FLOOR: dict[str, Any] = {"color": style.GREEN, "linestyle": "--", "linewidth": 1.0}
# A Gaussian error is within two standard errors 95 times in 100.
BAND = 2.0


def standardised(exact: Arrays, numeric: Arrays) -> np.ndarray:
    """(Hutchinson − eq. 7) / standard error at each epoch, ``(t,)``."""
    return np.asarray((numeric["trace"] - exact["trace"]) / numeric["standard_error"])


def _draw_trace(axes: Axes, exact: Arrays, numeric: Arrays) -> None:
    axes.errorbar(numeric["epoch"], numeric["trace"], numeric["standard_error"], **HUTCHINSON)
    axes.plot(exact["epoch"], exact["trace"], zorder=3, **EQUATION)


def _draw_loss(axes: Axes, exact: Arrays) -> None:
    look: dict[str, Any] = {
        "color": style.COLOURS["loss"],
        "linewidth": 1.0,
        "marker": "o",
        "markersize": 2,
    }
    axes.plot(exact["epoch"], exact["loss"], **look)
    axes.axhline(float(exact["floor"]), **FLOOR)
    axes.set_ylim(bottom=0)


def _draw_difference(axes: Axes, exact: Arrays, numeric: Arrays) -> None:
    axes.plot(
        numeric["epoch"],
        standardised(exact, numeric),
        color=style.COLOURS["error"],
        linestyle="none",
        marker="o",
        markersize=3.5,
    )


def _finish_difference(axes: Axes, largest: float) -> None:
    axes.axhspan(-BAND, BAND, color=style.GREY, alpha=0.2, linewidth=0)
    axes.axhline(0, **EQUATION)
    limit = max(3.0, 1.1 * largest)
    axes.set_ylim(-limit, limit)
    axes.set_xlabel("epoch")


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """For each image set the trace, the loss, and the difference in standard errors."""
    sets = columns(closed_form, numerics)
    figure, grid = style.panels(
        3,
        len(sets),
        height=1.6,
        width=min(style.FULL_WIDTH, 2.25 * len(sets) + 2.0),
        sharex="col",
        squeeze=False,
        height_ratios=(1.5, 0.65, 0.9),
    )
    for column, (source, networks) in enumerate(sets.items()):
        trace, loss, difference = grid[:, column]
        for exact, numeric in networks:
            _draw_trace(trace, exact, numeric)
            _draw_loss(loss, exact)
            _draw_difference(difference, exact, numeric)
        largest = max(float(np.abs(standardised(*sides)).max()) for sides in networks)
        _finish_difference(difference, largest)
        last = max(int(exact["epoch"][-1]) for exact, _ in networks)
        epoch_axis(difference, last, narrow=len(sets) > 1)
        style.letter(trace, f"({'abcdefghij'[column]}) {image_set(source)}")
    grid[0, 0].set_ylabel("trace of the Hessian")
    grid[1, 0].set_ylabel("loss")
    grid[2, 0].set_ylabel("difference /\nstandard error")
    figure.align_ylabels(grid[:, 0])
    _legend(figure, len(sets))
    return figure


def _legend(figure: Figure, sets: int) -> None:
    points = {name: HUTCHINSON[name] for name in ("linestyle", "marker", "markersize", "color")}
    handles = [
        Line2D([], [], **points, label="Hutchinson ± standard error"),
        Line2D([], [], **EQUATION, label="equation (7)"),
        Line2D([], [], **FLOOR, label="loss of least squares"),
        Patch(color=style.GREY, alpha=0.2, linewidth=0, label="±2 standard errors"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4 if sets > 1 else 2)


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    texts = []
    for column, (source, networks) in enumerate(columns(closed_form, numerics).items()):
        exact = networks[0][0]
        errors = np.concatenate([standardised(*sides) for sides in networks])
        trace, lowest = exact["trace"], int(exact["trace"].argmin())
        texts.append(
            f"({'abcdefghij'[column]}) {image_set(source)}, {int(exact['samples'])} images of "
            f"{int(exact['rank'])} independent features: root mean square of the "
            f"{len(errors)} differences {np.sqrt(np.mean(errors**2)):.2f} standard errors, largest "
            f"{np.abs(errors).max():.1f}; the trace goes from {trace[0]:.0f} to "
            f"{trace[lowest]:.0f} at epoch {int(exact['epoch'][lowest])} and to {trace[-1]:.0f}, "
            f"the loss from {exact['loss'][0]:.2f} to {exact['loss'][-1]:.3f}"
        )
    share = max(
        float((numeric["standard_error"] / numeric["trace"]).max())
        for networks in columns(closed_form, numerics).values()
        for _, numeric in networks
    )
    return (
        "Trace of the Hessian of deep linear networks on whitened images at epochs of their "
        "training, by Hutchinson's method (points; bars: one standard error, at most "
        f"{100 * share:.1f} % of the trace) and by eq. (7) (line, on top). {'; '.join(texts)}. "
        "Equation (7) has no assumption on the loss: what the Hessian has beside its Gauss-Newton "
        "part has trace 0, so they agree early, when the loss is high, as well as late. Dashed: "
        "the loss of least squares, below which no linear network comes."
    )
