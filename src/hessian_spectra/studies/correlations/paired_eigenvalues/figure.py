"""How closely two eigenvalues sum to tr(H)/D, the next best two, and what chance would reach."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hessian_spectra.drawing import style
from hessian_spectra.results import Arrays

NAMES = {"orthogonal": "orthogonal", "sp": "SP"}
SMALLEST, SECOND, CHANCE = style.BLUE, style.ORANGE, style.GREEN
# Of the networks this share lies within a band, half of the rest on either side.
BAND = 0.8
# Jittered spectra that come at least as close, in at most this share of them: hardly chance.
LEVEL = 0.05
# Distances below this many roundings are nothing but rounding.
RESOLVED = 1e3


def drawable(numerics: Arrays) -> np.ndarray:
    """Distances ``(P, N, 2)`` no smaller than rounding: float64's unit of the largest eigenvalue.

    An axis in logarithms has no place for a distance of zero.
    """
    rounding = np.finfo(np.float64).eps * numerics["largest"]
    return np.maximum(numerics["distance"], rounding[..., None])


def share_beyond_chance(numerics: Arrays, points: np.ndarray) -> float:
    """Share of the networks whose best pair is one that few jittered spectra reach.

    Args:
        numerics: the arrays of the study.
        points: ``(P,)`` which points count.
    """
    distance, chance = numerics["distance"][points, :, 0], numerics["chance"][points]
    reached = np.count_nonzero(chance <= distance[..., None], axis=-1)
    return float(np.mean((1 + reached) / (1 + chance.shape[-1]) <= LEVEL))


def _cases(closed_form: Arrays) -> list[tuple[str, str]]:
    pairs = zip(closed_form["parametrisation"].tolist(), closed_form["data"].tolist(), strict=True)
    return list(dict.fromkeys(pairs))


def _in_case(closed_form: Arrays, case: tuple[str, str]) -> np.ndarray:
    return (closed_form["parametrisation"] == case[0]) & (closed_form["data"] == case[1])


def _band(axes: Axes, sizes: np.ndarray, values: np.ndarray, foot: float, **line: Any) -> None:
    """Median over all axes but the first, and the band around it; a triangle for what is lower."""
    low, middle, high = np.maximum(_quantiles(values), foot)
    shown = middle > foot
    colour = line["color"]
    axes.fill_between(sizes, low, high, where=shown, color=colour, alpha=0.22, linewidth=0)
    axes.plot(sizes[shown], middle[shown], **line)
    if not shown.all():
        below = np.full(np.count_nonzero(~shown), foot)
        axes.plot(sizes[~shown], below, "v", color=colour, markersize=3.5, clip_on=False)


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Lower end of the band, median, upper end, ``(3, P)``."""
    levels = [0.5 - BAND / 2, 0.5, 0.5 + BAND / 2]
    return np.quantile(values.reshape(len(values), -1), levels, axis=1)


def _foot(distance: np.ndarray, rounding: np.ndarray) -> float:
    """Where the axis ends: below all bands, but those of single points that are rounding alone.

    Args:
        distance: ``(P, N, 2)``.
        rounding: ``(P, N)``.
    """
    low, middle, _ = _quantiles(distance[..., 0])
    exact = middle < RESOLVED * np.median(rounding, axis=1)
    return float(low.min() if exact.all() or not exact.any() else low[~exact].min()) / 4


def _draw_panel(axes: Axes, closed_form: Arrays, numerics: Arrays, points: np.ndarray) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = closed_form["size"][points]
    rounding = np.finfo(np.float64).eps * numerics["largest"][points]
    distance = drawable(numerics)[points]
    foot = _foot(distance, rounding)
    for k, (colour, marker) in enumerate(((SMALLEST, "o"), (SECOND, "s"))):
        line = {"color": colour, "marker": marker, "markersize": 2.5, "linewidth": 1.0}
        _band(axes, sizes, distance[..., k], foot, **line)
    _band(axes, sizes, numerics["chance"][points], foot, color=CHANCE, linestyle=":")
    mean = np.median(closed_form["mean"][points], axis=1)
    axes.plot(sizes, mean, color=style.BLACK, linestyle="--", linewidth=0.9)
    predicted = closed_form["distance"][points]
    known = np.isfinite(predicted).all(axis=(1, 2))
    for values in (rounding, predicted[..., 1]) if known.any() else ():
        level = np.maximum(np.median(values[known], axis=1), foot)
        axes.plot(sizes[known], level, color=style.VERMILION, clip_on=False, **style.EXACT_RING)
    axes.set_ylim(bottom=foot)
    axes.set_xlim(sizes[0] / 1.35, sizes[-1] * 1.35)
    ticks = [size for size in (1, 3, 10, 30, 100) if size <= sizes[-1]]
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()


def _legend(figure: Figure, with_prediction: bool) -> None:
    def line(label: str, colour: str, **options: Any) -> Line2D:
        return Line2D([], [], label=label, color=colour, **options)

    handles: list[Any] = [
        line("smallest distance", SMALLEST, marker="o", markersize=2.5),
        line("second smallest", SECOND, marker="s", markersize=2.5),
        line("smallest in jittered spectra", CHANCE, linestyle=":"),
        line("mean eigenvalue", style.BLACK, linestyle="--", linewidth=0.9),
        Patch(color=style.BLACK, alpha=0.25, linewidth=0, label=f"{BAND:.0%} of the networks"),
    ]
    if with_prediction:
        handles.append(
            line("exact (0: at rounding, or the foot)", style.VERMILION, **style.EXACT_RING)
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=3)


def draw(closed_form: Arrays, numerics: Arrays) -> Figure:
    """One column per parametrisation and kind of data, one row per width."""
    cases = _cases(closed_form)
    widths = list(dict.fromkeys(closed_form["width"].tolist()))
    figure, grid = style.panels(len(widths), len(cases), height=2.1, squeeze=False)
    for row, width in enumerate(widths):
        for column, case in enumerate(cases):
            axes = grid[row, column]
            points = np.flatnonzero(_in_case(closed_form, case) & (closed_form["width"] == width))
            _draw_panel(axes, closed_form, numerics, points)
            letter = "abcdefghijklmnopqrstuvwxyz"[row * len(cases) + column]
            parametrisation, data = case
            style.letter(axes, f"({letter}) {NAMES[parametrisation]}, $m$ = {width}\n{data}")
            if row == len(widths) - 1:
                axes.set_xlabel("input size $D$")
        grid[row, 0].set_ylabel("$|\\lambda_i + \\lambda_j - \\mathrm{tr}(H)/D|$")
    figure.align_ylabels(grid[:, 0])
    _legend(figure, bool(np.isfinite(closed_form["distance"]).any()))
    return figure


def _case_text(closed_form: Arrays, numerics: Arrays, case: tuple[str, str]) -> str:
    """What the distances of one case are, beyond one input and with one."""
    chosen = _in_case(closed_form, case)
    name = f"{NAMES[case[0]]}, {case[1]}"
    several, one = chosen & (closed_form["size"] > 1), chosen & (closed_form["size"] == 1)
    parts = []
    if several.any():
        distance = drawable(numerics)[several]
        ratio = np.median(distance[..., 1] / distance[..., 0])
        parts.append(
            f"the second distance is {ratio:.2g} times the smallest one (median), which is beyond "
            f"chance in {share_beyond_chance(numerics, several):.1%} of the networks with D > 1"
        )
    if one.any():
        parts.append(f"in {share_beyond_chance(numerics, one):.0%} of those with D = 1")
    return f"{name}: {' and '.join(parts)}."


def caption(closed_form: Arrays, numerics: Arrays) -> str:
    """What is to be seen, with the measured numbers."""
    points, networks, jitters = numerics["chance"].shape
    depth, activation = int(closed_form["depth"]), str(closed_form["activation"])
    widths = list(dict.fromkeys(closed_form["width"].tolist()))
    kind = {"linear": "linear", "relu": "ReLU"}[activation]
    sentences = [
        f"The two pairs of Hessian eigenvalues whose sums are closest to tr(H)/D, at "
        f"initialisation: {kind} networks of {depth} layers with one output, width "
        f"{' and '.join(map(str, widths))}, {networks} networks at each of {points} points, all "
        "eigenvalues exact.",
        f"Lines: median, bands: {BAND:.0%} of the networks. Green: the smallest distance in "
        f"{jitters} spectra per network whose non-zero eigenvalues are moved at random by up to "
        "half the distance between their two neighbours, that is, by chance.",
        f"Beyond chance is a pair that at most {LEVEL:.0%} of the jittered spectra of its network "
        f"match, so by chance {math.floor(LEVEL * (1 + jitters)) / (1 + jitters):.1%} of the "
        "networks have one.",
        *(_case_text(closed_form, numerics, case) for case in _cases(closed_form)),
    ]
    if np.isfinite(closed_form["distance"]).any():
        sentences.append(
            "Rings: the exact spectrum, known for D = 1 and for an orthonormal first layer with "
            "decorrelated data; there the smallest distance is 0, drawn at the rounding of the "
            "largest eigenvalue, or at the foot of the axis."
        )
    if activation == "relu" and depth > 2:
        sentences.append(
            "The paper's width 150 is not run: no reduction of these Hessians is known, and they "
            "have 45000 rows or more."
        )
    return " ".join(sentences)
