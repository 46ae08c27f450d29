"""Which optimizers keep the bulk eigenspace: iterates, rotation of the bulk, invariance, error."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

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

# A step with no error at all still shows, at the bottom of the axis.
FLOOR = 1e-18


def _errors(closed_form: Arrays, numerics: Arrays, name: str) -> np.ndarray:
    rows = np.searchsorted(closed_form[f"{name}/step"], numerics[f"{name}/step"])
    return spectrum_error(closed_form[f"{name}/eigenvalues"][rows], numerics[f"{name}/eigenvalues"])


def _line(axes: Any, closed_form: Arrays, name: str, key: str) -> None:
    colour = LOOKS[name][1]
    axes.plot(
        closed_form[f"{name}/step"],
        np.maximum(closed_form[f"{name}/{key}"], FLOOR),
        color=colour,
        **style.EXACT,
    )


def _points(axes: Any, steps: np.ndarray, values: np.ndarray, name: str) -> None:
    _, colour, marker = LOOKS[name]
    points: Any = style.NUMERIC | {"marker": marker}
    axes.plot(steps, np.maximum(values, FLOOR), color=colour, **points)


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Lines: closed form; points: numerical eigenvectors of the same Hessians."""
    figure, grid = style.panels(2, 2, height=2.4, sharex=True)
    (iterate, rotation), (invariance, error) = grid
    names = closed_form["optimizers"].tolist()
    for name in names:
        steps, resolved = numerics[f"{name}/step"], numerics[f"{name}/resolved"]
        _points(iterate, steps, numerics[f"{name}/iterate"], name)
        _line(iterate, closed_form, name, "iterate")
        _points(rotation, steps[resolved], numerics[f"{name}/rotation"][resolved], name)
        _line(rotation, closed_form, name, "rotation")
        _points(invariance, steps, numerics[f"{name}/invariance"], name)
        _points(error, steps, _errors(closed_form, numerics, name), name)
    error.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
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
        axes.set_ylim(FLOOR, 10)
    for axes in grid[1]:
        axes.set_xlabel("step")
    _legend(figure, names)
    return figure


def _legend(figure: Figure, names: list[str]) -> None:
    handles = []
    for name in names:
        label, colour, marker = LOOKS[name]
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=4, label=label))
    numeric: Any = style.NUMERIC
    handles.append(Line2D([], [], color=style.GREY, label="line: closed form"))
    handles.append(Line2D([], [], color=style.GREY, label="points: numerical", **numeric))
    figure.legend(handles=handles, loc="outside upper center", ncols=5)


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    names = closed_form["optimizers"].tolist()
    leaving = ("adam", "random_velocity")
    staying = [name for name in names if name not in leaving]

    def worst(chosen: list[str], key: str) -> float:
        return float(max(closed_form[f"{name}/{key}"].max() for name in chosen))

    error = max(_errors(closed_form, numerics, name).max() for name in names)
    diverged = [
        f" {LOOKS[name][0]} diverged at step {closed_form[f'{name}/diverged_at']}."
        for name in names
        if closed_form[f"{name}/diverged_at"] >= 0
    ]
    return (
        "A linear network f(x) = ⟨w, v⟩ x trained by several optimizers from the same weights; Z₀ "
        "is a basis of the bulk eigenspace at the start. Gradient descent, heavy ball and Nesterov "
        "from rest, SGD and weight decay stay orthogonal to it (share of the iterate at most "
        f"{worst(staying, 'iterate'):.1e}) and keep it (sine of the largest angle at most "
        f"{worst(staying, 'rotation'):.1e}). Adam and a random initial velocity leave it: "
        f"{worst(['adam'], 'iterate'):.2g} and {worst(['random_velocity'], 'iterate'):.2g} of the "
        "iterate lie in it, and the bulk space turns by angles with a sine of up to "
        f"{worst(['adam'], 'rotation'):.2g} and {worst(['random_velocity'], 'rotation'):.2g}. "
        "The numerical points of (b) rise with the round-off of eigenvectors as the residual, and "
        "with it the gap between bulk and small outlier, closes; they are left out where the two "
        "cannot be told apart. (c) needs no such gap. "
        f"(d) Error of the whole spectrum relative to its largest eigenvalue, at most {error:.1e}."
        + "".join(diverged)
    )
