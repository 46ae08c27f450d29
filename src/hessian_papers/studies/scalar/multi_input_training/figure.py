"""The spectrum of a multi-input network in training, and both closed forms' errors."""

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.errors import error_axis, visible
from hessian_papers.studies.scalar.trainings import compared
from hessian_papers.studies.spectra import error, group
from hessian_spectra.pictures import style


def _draw_group(axes: Axes, exact: xr.DataArray, numeric: xr.DataArray, colour: str) -> None:
    """One group of eigenvalues against the step: points below, the closed form on top."""
    axes.plot(numeric["step"], numeric, color=colour, **style.NUMERIC)
    axes.plot(exact["step"], exact, color=colour, linewidth=0.8)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_ylabel("eigenvalue")


def _draw_errors(axes: Axes, data: xr.Dataset) -> None:
    for form, label, colour, marker in (
        ("decorrelated", "correlations ignored", style.GREEN, "v"),
        ("exact", "form for correlated inputs", style.BLACK, "o"),
    ):
        shown = visible(error(data.assign(exact=data[form])).values)
        axes.semilogy(data["step"], shown, marker, color=colour, markersize=3.5, label=label)
    error_axis(axes, top=1e2)
    axes.set_ylabel("relative error")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.72))


def draw(data: xr.Dataset) -> Figure:
    """Upper outliers, lower outliers and bulk against the step, and the errors of both forms."""
    figure, grid = style.panels(2, 2, height=2.4)
    (upper, lower), (bulk, errors) = grid
    numeric, count = compared(data), int(data["inputs"])
    # The outliers ascend; a panel shows one half of them.
    for axes, title, kind, half, colour in (
        (upper, f"(a) the {count} upper outliers", "outlier", slice(count, None), "outlier 1"),
        (lower, f"(b) the {count} lower outliers", "outlier", slice(count), "outlier 2"),
        (bulk, "(c) bulk $\\pm\\,\\overline{\\delta x_d}$", "bulk", slice(None), "bulk"),
    ):
        exact, numerical = group(data, kind), group(numeric, kind, of="numerical")
        colour = style.COLOURS[colour]
        _draw_group(axes, exact.isel(rank=half), numerical.isel(rank=half), colour)
        style.letter(axes, title)
    _draw_errors(errors, numeric)
    style.letter(errors, "(d) error of the whole spectrum")
    for axes in grid.flat:
        axes.set_xlabel("step of gradient descent")
        axes.set_xlim(data["step"][0], max(data["step"][-1], 1))

    handles = [
        style.entry("closed form", color=style.BLACK),
        style.entry("numerical", color=style.BLACK, **style.NUMERIC),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    diverged_at, inputs = int(data["diverged_at"]), int(data["inputs"])
    return (
        "The closed form for correlated inputs is the spectrum at every step, and the one that "
        "ignores correlations is not. "
        f"Hessian spectrum of a linear network with {inputs} inputs, "
        f"{data.sizes['rank']} parameters, during {data['step'].values[-1]} "
        "steps of gradient descent; lines: closed form for correlated inputs, points: numerical "
        f"spectrum. (a) to (c) The {2 * inputs} outliers and the bulk. (d) Error of "
        "the whole spectrum relative to its largest eigenvalue."
        + ("" if diverged_at < 0 else f" The run diverged at step {diverged_at}.")
    )
