"""The phases of learning: the outlier pair's product and signs against t = ⟨w, v⟩ / θ*."""

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_spectra.agreement import spectrum_error
from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays
from hessian_spectra.studies.scalar.drawing import patches, phases, shade

SIGNS = {1: (style.VERMILION, "o"), -1: (style.BLUE, "s")}  # sign of θ* -> colour, marker


def _numeric_pair(numerics: Arrays) -> np.ndarray:
    """Large and small outlier among 2m ascending numerical eigenvalues, ``(k, 2)``.

    −|δx| ≤ λ₂ ≤ |δx| ≤ λ₁ and the bulk is ±|δx|, m − 1 times each: λ₂ is always the m-th.
    """
    eigenvalues = numerics["eigenvalues"]
    return np.stack([eigenvalues[:, -1], eigenvalues[:, eigenvalues.shape[1] // 2 - 1]], axis=1)


def _points(axes: Any, x: np.ndarray, y: np.ndarray, sign: np.ndarray) -> None:
    for value, (colour, marker) in SIGNS.items():
        chosen = sign == value
        axes.plot(
            x[chosen], y[chosen], marker, color=colour, markersize=2.5, alpha=0.7, linewidth=0
        )


def _contradict(closed_form: Arrays, small: np.ndarray) -> np.ndarray:
    """Whether a network contradicts the phases as printed, in terms of ⟨w, v⟩ itself, ``(k,)``."""
    alignment, solution = closed_form["alignment"], closed_form["solution"]
    outside = (alignment <= solution / 3) | (alignment >= solution)
    between = (alignment >= solution / 3) & (alignment <= solution)
    return (outside & (small > 0)) | (between & (small < 0))


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """Product and sign of the pair by phase, the printed phases for θ* < 0, and the error."""
    figure, grid = style.panels(2, 2, height=2.3)
    (product, small), (printed, error) = grid
    solution = closed_form["solution"]
    signal = solution != 0
    sign = np.sign(solution[signal])
    ratio = closed_form["alignment"][signal] / solution[signal]
    pair = _numeric_pair(numerics)[signal]

    unit = (closed_form["second_moment"] * solution[signal]) ** 2
    _points(product, ratio, -pair.prod(axis=1) / unit, sign)
    t = np.linspace(*_range(ratio), 400)
    product.plot(t, (t - 1) * (3 * t - 1), color=style.BLACK, **style.EXACT)
    product.set_ylabel("$-\\lambda_1\\lambda_2\\,/\\,(E[x^2]\\,\\theta^*)^2$")
    style.letter(product, "(a) product of the pair")

    exact = closed_form["outlier"][signal]
    _points(small, ratio, pair[:, 1] / pair[:, 0], sign)
    rings = style.EXACT_RING | {"markersize": 5, "markeredgewidth": 0.3}
    small.plot(ratio, exact[:, 1] / exact[:, 0], color=style.BLACK, **rings)
    small.set_ylabel("$\\lambda_2\\,/\\,\\lambda_1$")
    style.letter(small, "(b) small outlier, phases by $t$")

    _draw_printed(printed, closed_form, numerics)
    errors = np.maximum(spectrum_error(closed_form["eigenvalues"], numerics["eigenvalues"]), 1e-18)
    _points(error, ratio, errors[signal], sign)
    error.set_yscale("log")
    error.axhline(1e-10, color=style.VERMILION, linewidth=0.8, linestyle="--")
    error.set_ylim(1e-18, 1e-8)
    error.set_ylabel("relative error")
    style.letter(error, "(d) error of the whole spectrum")

    for axes in (product, small, error):
        axes.set_xlim(t[0], t[-1])
        axes.set_xlabel("$t=\\langle w,v\\rangle\\,/\\,\\theta^*$")
    for axes in (product, small):
        _shade(axes, float(t[0]), float(t[-1]))
    _legend(figure)
    return figure


def _shade(axes: Any, left: float, right: float) -> None:
    edges = [left, *(edge for edge in (1 / 3, 1.0) if left < edge < right), right]
    for start, end in pairwise(edges):
        shade(axes, str(phases(np.array((start + end) / 2))), start, end)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)


def _range(values: np.ndarray) -> tuple[float, float]:
    """From the smallest to the largest value, widened if there is a single one."""
    left, right = float(values.min()), float(values.max())
    return (left, right) if left < right else (left - 0.05, right + 0.05)


def _draw_printed(axes: Any, closed_form: Arrays, numerics: Arrays) -> None:
    """The phases as printed, for θ* < 0: two overlap just where the small outlier is positive."""
    negative = closed_form["solution"] < 0
    pair = _numeric_pair(numerics)
    position = closed_form["alignment"][negative] / -closed_form["solution"][negative]
    height = (pair[:, 1] / pair[:, 0])[negative]
    wrong = _contradict(closed_form, pair[:, 1])[negative]
    _points(axes, position, height, np.full(len(position), -1))
    axes.plot(position[wrong], height[wrong], "x", color=style.BLACK, markersize=4)
    left, right = _range(position)
    for name, start, end in (("early", left, -1 / 3), ("divergent", -1.0, right)):
        if (begin := max(start, left)) < (stop := min(end, right)):
            shade(axes, name, begin, stop)
    names = (("early", left, -1.0), ("both", -1.0, -1 / 3), ("divergent", -1 / 3, right))
    for name, start, end in names:
        if (begin := max(start, left)) < (stop := min(end, right)):
            top = axes.get_xaxis_transform()
            axes.text((begin + stop) / 2, 0.96, name, ha="center", va="top", transform=top)
    axes.set_xlim(left, right)
    # Room for the names above the highest point.
    axes.set_ylim(top=max(float(height.max()), 0.0) + 0.2)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    axes.set_xlabel("$\\langle w,v\\rangle\\,/\\,|\\theta^*|$")
    axes.set_ylabel("$\\lambda_2\\,/\\,\\lambda_1$")
    style.letter(axes, "(c) phases as printed, $\\theta^*<0$")


def _legend(figure: Figure) -> None:
    def points(label: str, colour: str, marker: str) -> Line2D:
        options: dict[str, Any] = {"linestyle": "none", "markersize": 4}
        return Line2D([], [], label=label, color=colour, marker=marker, **options)

    rings: Any = style.EXACT_RING
    handles = [
        points("numerical, $\\theta^*>0$", *SIGNS[1]),
        points("numerical, $\\theta^*<0$", *SIGNS[-1]),
        Line2D([], [], color=style.BLACK, label="closed form", **rings),
        points("contradicts the print", style.BLACK, "x"),
        *patches(),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the counts."""
    small = _numeric_pair(numerics)[:, 1]
    solution = closed_form["solution"]
    signal = solution != 0
    late = closed_form["phase"][signal] == "late"
    corrected = int(np.count_nonzero(late != (small[signal] > 0)))
    wrong = _contradict(closed_form, small)
    error = spectrum_error(closed_form["eigenvalues"], numerics["eigenvalues"]).max()
    negative, positive = solution < 0, solution > 0
    return (
        f"Outlier pairs of {np.count_nonzero(signal)} random linear networks f(x) = ⟨w, v⟩ x; "
        "points: numerical spectra, coloured by the sign of the solution θ* = E[yx]/E[x²]; line "
        "and rings: closed form. (a) The product depends on t = ⟨w, v⟩/θ* alone: (t − 1)(3t − 1). "
        f"(b) In terms of t the phases tell the sign of λ₂ with {corrected} exceptions. "
        f"(c) In terms of ⟨w, v⟩, as printed, {np.count_nonzero(wrong & negative)} of "
        f"{np.count_nonzero(negative)} networks with θ* < 0 contradict their phase (crosses), and "
        f"{np.count_nonzero(wrong & positive)} of those with θ* > 0: for θ* < 0 the printed late "
        "phase is empty, and the two others overlap. "
        f"(d) Error of the whole spectrum relative to its largest eigenvalue, at most {error:.1e}."
    )
