"""The spectrum of a multi-input network in training, and both closed forms' errors."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.scalar.multi_input_training.reading import (
    CORRELATED,
    DECORRELATED,
    Reading,
)
from hessian_spectra.pictures import style


def _draw_group(
    axes: Axes, reading: Reading, exact: np.ndarray, numeric: np.ndarray, colour: str
) -> None:
    """One group of eigenvalues against the step: points below, the closed form on top."""
    axes.plot(reading.numeric_steps, numeric, color=colour, **style.NUMERIC)
    axes.plot(reading.steps, exact, color=colour, linewidth=0.8)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_ylabel("eigenvalue")


def _draw_errors(axes: Axes, reading: Reading) -> None:
    for form, label, colour, marker in (
        (DECORRELATED, "correlations ignored", style.GREEN, "v"),
        (CORRELATED, "form for correlated inputs", style.BLACK, "o"),
    ):
        shown = visible(reading.errors(form))
        axes.semilogy(
            reading.numeric_steps, shown, marker, color=colour, markersize=3.5, label=label
        )
    error_axis(axes, top=1e2)
    axes.set_ylabel("relative error")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.72))


def draw(reading: Reading) -> Figure:
    """Upper outliers, lower outliers and bulk against the step, and the errors of both forms."""
    figure, grid = style.panels(2, 2, height=2.4)
    (upper, lower), (bulk, error) = grid
    # The outliers ascend; a panel shows one half of them.
    lower_exact, upper_exact = np.split(reading.select("outlier"), 2, axis=1)
    lower_numeric, upper_numeric = np.split(reading.select_numeric("outlier"), 2, axis=1)
    bulks = reading.select("bulk"), reading.select_numeric("bulk")
    count = reading.coordinates
    for axes, title, (exact, numeric), colour in (
        (upper, f"(a) the {count} upper outliers", (upper_exact, upper_numeric), "outlier 1"),
        (lower, f"(b) the {count} lower outliers", (lower_exact, lower_numeric), "outlier 2"),
        (bulk, "(c) bulk $\\pm\\,\\overline{\\delta x_d}$", bulks, "bulk"),
    ):
        _draw_group(axes, reading, exact, numeric, style.COLOURS[colour])
        style.letter(axes, title)
    _draw_errors(error, reading)
    style.letter(error, "(d) error of the whole spectrum")
    for axes in grid.flat:
        axes.set_xlabel("step of gradient descent")
        axes.set_xlim(reading.steps[0], max(reading.steps[-1], 1))

    handles = [
        style.entry("closed form", color=style.BLACK),
        style.entry("numerical", color=style.BLACK, **style.NUMERIC),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    diverged_at = reading.diverged_at
    return (
        "The closed form for correlated inputs is the spectrum at every step, and the one that "
        "ignores correlations is not. "
        f"Hessian spectrum of a linear network with {reading.coordinates} inputs, "
        f"{reading.closed_form['eigenvalues'].shape[1]} parameters, during {reading.steps[-1]} "
        "steps of gradient descent; lines: closed form for correlated inputs, points: numerical "
        f"spectrum. (a) to (c) The {2 * reading.coordinates} outliers and the bulk. (d) Error of "
        "the whole spectrum relative to its largest eigenvalue."
        + ("" if diverged_at is None else f" The run diverged at step {diverged_at}.")
    )
