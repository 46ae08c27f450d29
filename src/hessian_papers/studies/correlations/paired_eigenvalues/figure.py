"""How closely two eigenvalues sum to tr(H)/D, the next best two, and what chance would reach."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.correlations.paired_eigenvalues.reading import Reading
from hessian_papers.studies.correlations.reading import ACTIVATIONS
from hessian_spectra.pictures import style

PARAMETRISATIONS = {"orthogonal": "orthogonal", "sp": "SP"}
SMALLEST, SECOND, CHANCE = style.BLUE, style.ORANGE, style.GREEN
# Of the networks this share lies within a band, half of the rest on either side.
BAND = 0.8
# Distances below this many roundings are nothing but rounding.
RESOLVED = 1e3


def _band(axes: Axes, sizes: np.ndarray, values: np.ndarray, foot: float, **line: Any) -> None:
    """Median over all axes but the first, and the band around it; a triangle for what is lower."""
    low, middle, high = np.maximum(_quantiles(values), foot)
    shown = middle > foot
    colour = line["color"]
    axes.fill_between(sizes, low, high, where=shown, color=colour, alpha=0.22, linewidth=0)
    axes.plot(sizes[shown], middle[shown], **line)
    below = middle <= foot
    if below.any():
        at = np.full(np.count_nonzero(below), foot)
        axes.plot(sizes[below], at, "v", color=colour, markersize=3.5, clip_on=False)


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Lower end of the band, median, upper end, of what is finite, ``(3, P)``."""
    levels = [0.5 - BAND / 2, 0.5, 0.5 + BAND / 2]
    rows = [row[np.isfinite(row)] for row in values.reshape(len(values), -1)]
    nothing = np.full(len(levels), np.nan)
    return np.stack([np.quantile(row, levels) if len(row) else nothing for row in rows], axis=1)


def _foot(panel: Reading) -> float:
    """Where the axis ends: below all bands, but those of single points that are rounding alone."""
    low, middle, _ = _quantiles(panel.distances[..., 0])
    exact = middle < RESOLVED * np.median(panel.rounding, axis=1)
    return float(low.min() if exact.all() or not exact.any() else low[~exact].min()) / 4


def _draw_panel(axes: Axes, panel: Reading) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = panel["size"]
    axes.set_xlim(sizes[0] / 1.35, sizes[-1] * 1.35)
    ticks = [size for size in (1, 3, 10, 30, 100) if sizes[0] <= size <= sizes[-1]]
    ticks = ticks if len(ticks) > 1 else sizes[:: max(len(sizes) // 4, 1)].tolist()
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()
    if not panel.curved.any():
        return
    panel = panel.at(
        np.asarray(panel.curved.any(axis=1)), "networks with a Hessian other than zero"
    )
    sizes, foot = panel["size"], _foot(panel)
    smallest, second = np.moveaxis(panel.distances, -1, 0)
    for values, colour, marker in ((smallest, SMALLEST, "o"), (second, SECOND, "s")):
        line = {"color": colour, "marker": marker, "markersize": 2.5, "linewidth": 1.0}
        _band(axes, sizes, values, foot, **line)
    chance = np.where(panel.curved[..., None], panel["chance"], np.nan)
    _band(axes, sizes, chance, foot, color=CHANCE, linestyle=":")
    mean = np.median(panel.closed_form["mean"], axis=1)
    axes.plot(sizes, mean, color=style.BLACK, linestyle="--", linewidth=0.9)
    known, (_, predicted) = panel.known, np.moveaxis(panel.closed_form["distance"], -1, 0)
    for values in (panel.rounding, predicted) if known.any() else ():
        level = np.maximum(_quantiles(values[known])[1], foot)
        axes.plot(sizes[known], level, color=style.VERMILION, clip_on=False, **style.EXACT_RING)
    axes.set_ylim(bottom=foot)


def _legend(figure: Figure, with_prediction: bool) -> None:
    handles: list[Any] = [
        style.entry("smallest distance", color=SMALLEST, marker="o", markersize=2.5),
        style.entry("second smallest", color=SECOND, marker="s", markersize=2.5),
        style.entry("smallest in jittered spectra", color=CHANCE, linestyle=":"),
        style.entry("mean eigenvalue", color=style.BLACK, linestyle="--", linewidth=0.9),
        Patch(color=style.BLACK, alpha=0.25, linewidth=0, label=f"{BAND:.0%} of the networks"),
    ]
    if with_prediction:
        handles.append(
            style.entry(
                "exact (0: at rounding, or the foot)", color=style.VERMILION, **style.EXACT_RING
            )
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=3)


def _named(case: str) -> tuple[str, str]:
    """The parametrisation and the data of a case, as texts say them."""
    parametrisation, data = case.split("-")
    return PARAMETRISATIONS[parametrisation], data


def draw(reading: Reading) -> Figure:
    """One column per parametrisation and kind of data, one row per width."""
    cases, widths = reading.cases, reading.widths
    figure, grid = style.panels(len(widths), len(cases), height=2.1, squeeze=False)
    letters = style.letters()
    for row, width in zip(grid, widths, strict=True):
        for axes, case in zip(row, cases, strict=True):
            _draw_panel(axes, reading.panel(case, width))
            parametrisation, data = _named(case)
            style.letter(axes, f"({next(letters)}) {parametrisation}, $m$ = {width}\n{data}")
        row[0].set_ylabel("$|\\lambda_i + \\lambda_j - \\mathrm{tr}(H)/D|$")
    for axes in grid[-1]:
        axes.set_xlabel("input size $D$")
    figure.align_ylabels(grid[:, 0])
    _legend(figure, bool(reading.known.any()))
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    points, networks, jitters = reading["chance"].shape
    depth, kind = reading.depth, ACTIVATIONS[reading.activation]
    sentences = [
        "Except where it is proved, no two eigenvalues sum to tr(H)/D more closely than chance "
        "makes them.",
        f"The two pairs of Hessian eigenvalues whose sums are closest to tr(H)/D, at "
        f"initialisation: {kind} networks of {depth} layers with one output, width "
        f"{' and '.join(map(str, reading.widths))}, {networks} networks at each of {points} "
        "points, all eigenvalues exact.",
        f"Lines: median, bands: {BAND:.0%} of the networks. Green: the smallest distance in "
        f"{jitters} spectra per network whose non-zero eigenvalues are moved at random by up to "
        "half the distance between their two neighbours, that is, by chance.",
    ]
    flat = [", ".join(_named(case)) for case in reading.cases if not reading.of(case).curved.any()]
    sentences += [f"{name}: all Hessians are zero." for name in flat]
    if reading.known.any():
        sentences.append(
            "Rings: the exact spectrum, known for D = 1 and for an orthonormal first layer with "
            "decorrelated data; there the smallest distance is 0, drawn at the rounding of the "
            "largest eigenvalue, or at the foot of the axis."
        )
    if kind == "ReLU" and depth > 2:
        sentences.append(
            "The paper's width 150 is not run: no reduction of these Hessians is known, and they "
            "have 45000 rows or more."
        )
    return " ".join(sentences)
