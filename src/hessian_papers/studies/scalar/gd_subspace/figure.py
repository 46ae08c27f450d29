"""Which optimizers keep the bulk eigenspace: iterates, rotation of the bulk, invariance, error."""

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.errors import BOTTOM, error_axis, rounding_band, visible
from hessian_papers.studies.scalar.trainings import compared, training
from hessian_papers.studies.spectra import error
from hessian_spectra.pictures import style

# Optimizer -> label, colour, marker.
LOOKS = {
    "gradient_descent": ("gradient descent", style.BLACK, "o"),
    "heavy_ball": ("heavy ball", style.BLUE, "s"),
    "nesterov": ("Nesterov", style.SKY, "D"),
    "sgd": ("SGD", style.GREEN, "^"),
    "weight_decay": ("weight decay", style.ORANGE, "v"),
    "adam": ("Adam", style.VERMILION, "P"),
    "random_velocity": ("heavy ball, random start velocity", style.PURPLE, "X"),
}


def _line(axes: Axes, values: xr.DataArray, name: str) -> None:
    axes.plot(values["step"], visible(values.values), color=LOOKS[name][1], **style.EXACT)


def _points(axes: Axes, values: xr.DataArray, name: str) -> None:
    _, colour, marker = LOOKS[name]
    points = style.NUMERIC | {"marker": marker}
    axes.plot(values["step"], visible(values.values), color=colour, **points)


def draw(data: xr.Dataset) -> Figure:
    """Lines: closed form; points: numerical eigenvectors of the same Hessians."""
    figure, grid = style.panels(2, 2, height=2.4, sharex=True)
    (iterate, rotation), (invariance, errors) = grid
    names = data["optimizer"].values.tolist()
    for name in names:
        exact = training(data, optimizer=name)
        numeric = compared(exact)
        _points(iterate, numeric["numerical_iterate"], name)
        _line(iterate, exact["iterate"], name)
        _points(rotation, numeric["numerical_rotation"].dropna("step"), name)
        _line(rotation, exact["rotation"], name)
        _points(invariance, numeric["invariance"], name)
        _points(errors, error(numeric), name)
    for axes in (iterate, rotation, invariance):
        rounding_band(axes)
    error_axis(errors)
    titles = {
        "(a) iterate in the initial bulk space": "$\\|Z_0^\\top\\theta_t\\|\\,/\\,\\|\\theta_t\\|$",
        "(b) rotation of the bulk space": "sine of largest angle",
        "(c) the initial bulk space under $H_t$": "$\\|(I-Z_0Z_0^\\top)H_tZ_0\\|\\,/\\,\\|H_t\\|$",
        "(d) error of the whole spectrum": "relative error",
    }
    for axes, (title, label) in zip(grid.flat, titles.items(), strict=True):
        style.letter(axes, title)
        axes.set_ylabel(label)
        axes.set_yscale("log")
        axes.set_ylim(BOTTOM, 10)
    for axes in grid[1]:
        axes.set_xlabel("step")
    _legend(figure, names)
    return figure


def _legend(figure: Figure, names: list[str]) -> None:
    handles = []
    for name in names:
        label, colour, marker = LOOKS[name]
        handles.append(style.entry(label, color=colour, marker=marker, markersize=4))
    handles.append(style.entry("line: closed form", color=style.GREY))
    handles.append(style.entry("points: numerical", color=style.GREY, **style.NUMERIC))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    diverged = [
        f" {LOOKS[name][0]} diverged at step {step}."
        for name, step in data["diverged_at"].to_series().items()
        if step >= 0
    ]
    return (
        "Gradient descent and its relatives stay out of the bulk eigenspace that they start "
        "orthogonal to; Adam and a random initial velocity do not. "
        "A linear network f(x) = ⟨w, v⟩ x trained by several optimizers from the same weights; Z₀ "
        "is a basis of the bulk eigenspace at the start. (a) Share of the iterate in it. (b) Sine "
        "of the largest angle between it and the bulk space of the step. "
        "The numerical points of (b) rise with the round-off of eigenvectors as the residual, and "
        "with it the gap between bulk and small outlier, closes; they are left out where the two "
        "cannot be told apart. (c) needs no such gap. "
        "(d) Error of the whole spectrum relative to its largest eigenvalue." + "".join(diverged)
    )
