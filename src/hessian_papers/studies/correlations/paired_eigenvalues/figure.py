"""How closely two eigenvalues sum to tr(H)/D, the next best two, and what chance would reach."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.correlations.ensembles import ACTIVATIONS
from hessian_papers.studies.correlations.paired_eigenvalues.derived import (
    curved,
    distances,
    rounding,
)
from hessian_spectra.pictures import style

PARAMETRISATIONS = {"orthogonal": "orthogonal", "sp": "SP"}
SMALLEST, SECOND, CHANCE = style.BLUE, style.ORANGE, style.GREEN
# Of the networks this share lies within a band, half of the rest on either side.
BAND = 0.8
# Distances below this many roundings are nothing but rounding.
RESOLVED = 1e3


def _band(axes: Axes, values: xr.DataArray, foot: float, **line: Any) -> None:
    """Median over all but the size, and the band around it; a triangle for what is lower."""
    low, middle, high = np.maximum(_quantiles(values), foot)
    sizes, shown, colour = values["size"].values, middle > foot, line["color"]
    axes.fill_between(sizes, low, high, where=shown, color=colour, alpha=0.22, linewidth=0)
    axes.plot(sizes[shown], middle[shown], **line)
    below = middle <= foot
    if below.any():
        at = np.full(np.count_nonzero(below), foot)
        axes.plot(sizes[below], at, "v", color=colour, markersize=3.5, clip_on=False)


def _quantiles(values: xr.DataArray) -> np.ndarray:
    """Lower end of the band, median, upper end, of what is finite, for each size."""
    levels = [0.5 - BAND / 2, 0.5, 0.5 + BAND / 2]
    rows = [row.values[np.isfinite(row.values)] for row in values.transpose("size", ...)]
    nothing = np.full(len(levels), np.nan)
    return np.stack([np.quantile(row, levels) if len(row) else nothing for row in rows], axis=1)


def _foot(panel: xr.Dataset) -> float:
    """Where the axis ends: below all bands, but those of single points that are rounding alone."""
    low, middle, _ = _quantiles(distances(panel).sel(pair="best"))
    exact = middle < RESOLVED * rounding(panel).median("network").values
    return float(low.min() if exact.all() or not exact.any() else low[~exact].min()) / 4


def _known(data: xr.Dataset) -> xr.DataArray:
    """The points whose spectrum is known."""
    return data["exact_distance"].notnull().all(["network", "pair"])


def _scales(axes: Axes, sizes: np.ndarray) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(sizes[0] / 1.35, sizes[-1] * 1.35)
    ticks = [size for size in (1, 3, 10, 30, 100) if sizes[0] <= size <= sizes[-1]]
    ticks = ticks if len(ticks) > 1 else sizes[:: max(len(sizes) // 4, 1)].tolist()
    axes.set_xticks(ticks, map(str, ticks))
    axes.minorticks_off()


def _draw_panel(axes: Axes, panel: xr.Dataset) -> None:
    _scales(axes, panel["size"].values)
    panel = panel.isel(size=curved(panel).any("network").values)
    if not panel.sizes["size"]:
        return
    foot = _foot(panel)
    for pair, colour, marker in (("best", SMALLEST, "o"), ("second", SECOND, "s")):
        line = {"color": colour, "marker": marker, "markersize": 2.5, "linewidth": 1.0}
        _band(axes, distances(panel).sel(pair=pair), foot, **line)
    _band(axes, panel["chance"].where(curved(panel)), foot, color=CHANCE, linestyle=":")
    mean = panel["exact_mean"].median("network")
    axes.plot(mean["size"], mean, color=style.BLACK, linestyle="--", linewidth=0.9)
    known = panel.isel(size=_known(panel).values)
    predicted = known["exact_distance"].sel(pair="second")
    for values in (rounding(known), predicted) if known.sizes["size"] else ():
        level = np.maximum(_quantiles(values)[1], foot)
        axes.plot(known["size"], level, color=style.VERMILION, clip_on=False, **style.EXACT_RING)
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


def draw(data: xr.Dataset) -> Figure:
    """One column per parametrisation and kind of data, one row per width."""
    cases, widths = data["case"].values.tolist(), data["width"].values.tolist()
    figure, grid = style.panels(len(widths), len(cases), height=2.1, squeeze=False)
    letters = style.letters()
    for row, width in zip(grid, widths, strict=True):
        for axes, case in zip(row, cases, strict=True):
            panel = data.sel(case=case, width=width)
            _draw_panel(axes, panel.sel(size=panel["size"] <= width))
            parametrisation, kind = _named(case)
            style.letter(axes, f"({next(letters)}) {parametrisation}, $m$ = {width}\n{kind}")
        row[0].set_ylabel("$|\\lambda_i + \\lambda_j - \\mathrm{tr}(H)/D|$")
    for axes in grid[-1]:
        axes.set_xlabel("input size $D$")
    figure.align_ylabels(grid[:, 0])
    _legend(figure, bool(_known(data).any()))
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    depth, kind = data["depth"].item(), ACTIVATIONS[data["activation"].item()]
    points = data["largest"].notnull().any("network").sum().item()
    cases, widths = data["case"].values.tolist(), data["width"].values
    sentences = [
        "Except where it is proved, no two eigenvalues sum to tr(H)/D more closely than chance "
        "makes them.",
        f"The two pairs of Hessian eigenvalues whose sums are closest to tr(H)/D, at "
        f"initialisation: {kind} networks of {depth} layers with one output, width "
        f"{' and '.join(map(str, widths))}, {data.sizes['network']} networks at each of "
        f"{points} points, all eigenvalues exact.",
        f"Lines: median, bands: {BAND:.0%} of the networks. Green: the smallest distance in "
        f"{data.sizes['jitter']} spectra per network whose non-zero eigenvalues are moved at "
        "random by up to half the distance between their two neighbours, that is, by chance.",
    ]
    flat = [case for case in cases if not curved(data.sel(case=case)).any()]
    sentences += [f"{', '.join(_named(case))}: all Hessians are zero." for case in flat]
    if _known(data).any():
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
