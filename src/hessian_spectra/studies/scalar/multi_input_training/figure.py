"""The spectrum of a multi-input network in training, and both closed forms' errors."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays


def _rows(closed_form: Arrays, numerics: Arrays) -> np.ndarray:
    """Which recorded steps have numbers."""
    return np.searchsorted(closed_form["step"], numerics["step"])


def _errors(closed_form: Arrays, numerics: Arrays, form: str) -> np.ndarray:
    rows = _rows(closed_form, numerics)
    return spectrum_error(closed_form[form][rows], numerics["eigenvalues"])


def _draw_group(
    axes: Any, closed_form: Arrays, numerics: Arrays, group: str, columns: slice, colour: str
) -> None:
    """One group of eigenvalues against the step: points below, the closed form on top."""
    index = closed_form[f"{group}_index"][_rows(closed_form, numerics)][:, columns]
    numeric = np.take_along_axis(numerics["eigenvalues"], index, axis=1)
    axes.plot(numerics["step"], numeric, color=colour, **style.NUMERIC)
    axes.plot(closed_form["step"], closed_form[group][:, columns], color=colour, linewidth=0.8)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_ylabel("eigenvalue")


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Upper outliers, lower outliers and bulk against the step, and the errors of both forms."""
    figure, grid = style.panels(2, 2, height=2.4)
    (upper, lower), (bulk, error) = grid
    half = closed_form["outlier"].shape[1] // 2
    groups = (
        (upper, f"(a) the {half} upper outliers", "outlier", slice(half, None), "outlier 1"),
        (lower, f"(b) the {half} lower outliers", "outlier", slice(half), "outlier 2"),
        (bulk, "(c) bulk $\\pm\\,\\overline{\\delta x_d}$", "bulk", slice(None), "bulk"),
    )
    for axes, title, group, columns, colour in groups:
        _draw_group(axes, closed_form, numerics, group, columns, style.COLOURS[colour])
        style.letter(axes, title)

    for form, label, colour, marker in (
        ("decorrelated", "correlations ignored", style.GREEN, "v"),
        ("eigenvalues", "form for correlated inputs", style.BLACK, "o"),
    ):
        shown = np.maximum(_errors(closed_form, numerics, form), 1e-18)
        error.semilogy(numerics["step"], shown, marker, color=colour, markersize=3.5, label=label)
    error.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    error.set_ylim(1e-18, 1e2)
    error.set_ylabel("relative error")
    error.legend(loc="center right", bbox_to_anchor=(1.0, 0.72))
    style.letter(error, "(d) error of the whole spectrum")
    for axes in grid.flat:
        axes.set_xlabel("step of gradient descent")
        axes.set_xlim(closed_form["step"][0], max(closed_form["step"][-1], 1))

    points: Any = style.NUMERIC
    handles = [
        Line2D([], [], color=style.BLACK, label="closed form"),
        Line2D([], [], color=style.BLACK, label="numerical", **points),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    coordinates = len(closed_form["covariance"])
    off_diagonal = closed_form["covariance"][~np.eye(coordinates, dtype=bool)]
    largest = np.abs(off_diagonal).max() if off_diagonal.size else 0.0
    exact = _errors(closed_form, numerics, "eigenvalues").max()
    ignored = _errors(closed_form, numerics, "decorrelated")
    loss, steps = closed_form["loss"], closed_form["step"]
    diverged = closed_form["diverged_at"]
    return (
        f"Hessian spectrum of a linear network with {coordinates} inputs, "
        f"{closed_form['eigenvalues'].shape[1]} parameters, during {steps[-1]} steps of gradient "
        f"descent (loss {loss[0]:.3g} to {loss[-1]:.3g}); lines: closed form for correlated "
        f"inputs, points: numerical spectrum. (a) to (c) The {2 * coordinates} outliers and the "
        f"bulk. (d) Error of the whole spectrum relative to its largest eigenvalue: at most "
        f"{exact:.1e}; for the form that ignores the correlations {ignored.min():.2g} to "
        f"{ignored.max():.2g}. "
        f"Two inputs are correlated by up to {largest:.2g} in absolute value."
        + (f" The run diverged at step {diverged}." if diverged >= 0 else "")
    )
