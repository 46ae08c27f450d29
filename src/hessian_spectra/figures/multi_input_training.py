"""The spectrum of a multi-input network in training, and both closed forms' errors."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.figures import style
from hessian_spectra.results import Arrays


def _rows(closed_form: Arrays, numerics: Arrays) -> np.ndarray:
    """Which recorded steps have numbers."""
    return np.searchsorted(closed_form["step"], numerics["step"])


def _errors(closed_form: Arrays, numerics: Arrays, form: str) -> np.ndarray:
    rows = _rows(closed_form, numerics)
    return spectrum_error(closed_form[form][rows], numerics["eigenvalues"])


def _draw_group(
    axes: Any, closed_form: Arrays, numerics: Arrays, group: str, columns: slice
) -> None:
    """One group of eigenvalues against the step: points below, the closed form on top."""
    colour = style.COLOURS["outlier 1" if group == "outlier" else "bulk"]
    if group == "outlier" and columns.start is None:
        colour = style.COLOURS["outlier 2"]
    index = closed_form[f"{group}_index"][_rows(closed_form, numerics)][:, columns]
    numeric = np.take_along_axis(numerics["eigenvalues"], index, axis=1)
    axes.plot(numerics["step"], numeric, color=colour, **style.NUMERIC)
    lines = closed_form[group][:, columns]
    axes.plot(closed_form["step"], lines, color=colour, linewidth=0.8)


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Upper and lower outliers with the bulk, errors, and the covariance of the inputs."""
    figure, grid = style.panels(2, 2, height=2.4)
    (upper, lower), (error, covariance) = grid
    half = closed_form["outlier"].shape[1] // 2
    _draw_group(upper, closed_form, numerics, "outlier", slice(half, None))
    _draw_group(lower, closed_form, numerics, "bulk", slice(None))
    _draw_group(lower, closed_form, numerics, "outlier", slice(None, half))
    lower.axhline(0, color=style.BLACK, linewidth=0.6)
    style.letter(upper, f"(a) the {half} upper outliers")
    style.letter(lower, f"(b) the {half} lower outliers and the bulk")
    for axes in (upper, lower):
        axes.set_ylabel("eigenvalue")

    for form, colour, marker in (
        ("eigenvalues", style.BLACK, "."),
        ("decorrelated", style.GREEN, "v"),
    ):
        shown = np.maximum(_errors(closed_form, numerics, form), 1e-18)
        error.semilogy(numerics["step"], shown, marker, color=colour, markersize=4)
    error.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    error.set_ylim(1e-18, 1e2)
    error.set_ylabel("relative error")
    error.text(0.03, 0.72, "correlations ignored", color=style.GREEN, transform=error.transAxes)
    error.text(0.03, 0.26, "correlated form", color=style.BLACK, transform=error.transAxes)
    style.letter(error, "(c) error of the whole spectrum")
    for axes in (upper, lower, error):
        axes.set_xlabel("step of gradient descent")
        axes.set_xlim(closed_form["step"][0], max(closed_form["step"][-1], 1))

    bound = np.abs(closed_form["covariance"]).max()
    image = covariance.imshow(closed_form["covariance"], cmap="RdBu_r", vmin=-bound, vmax=bound)
    covariance.grid(False)
    covariance.set_xlabel("input coordinate")
    covariance.set_ylabel("input coordinate")
    figure.colorbar(image, ax=covariance, label="$E[x_d\\,x_e]$")
    style.letter(covariance, "(d) covariance of the inputs")
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    points: Any = style.NUMERIC
    handles = [
        Line2D([], [], color=style.COLOURS["outlier 1"], label="upper outliers"),
        Line2D([], [], color=style.COLOURS["outlier 2"], label="lower outliers"),
        Line2D([], [], color=style.COLOURS["bulk"], label="bulk $\\pm\\,\\overline{\\delta x_d}$"),
        Line2D([], [], color=style.BLACK, label="closed form"),
        Line2D([], [], color=style.BLACK, label="numerical", **points),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5)


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
        f"inputs, points: numerical spectrum. (a), (b) {2 * coordinates} outliers and the bulk. "
        f"(c) Error of the whole spectrum relative to its largest eigenvalue: at most {exact:.1e}; "
        f"for the form that ignores the correlations {ignored.min():.2g} to {ignored.max():.2g}. "
        f"(d) The inputs are correlated, by up to {largest:.2g} in absolute value."
        + (f" The run diverged at step {diverged}." if diverged >= 0 else "")
    )
