"""The distances of the two best pairs of eigenvalues from tr(H)/D, and what chance would reach."""

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
SMALLEST, SECOND, CHANCE, RING = style.BLUE, style.ORANGE, style.GREEN, style.VERMILION
MEAN: dict[str, Any] = {"color": style.BLACK, "linestyle": "--", "linewidth": 0.9}
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
    """The level below all bands, but those of single points that are rounding alone."""
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


def _draw_panel(axes: Axes, panel: xr.Dataset, foot: float, *, control: bool) -> None:
    """Both distances, beside the mean eigenvalue, or beside chance and what is known."""
    for pair, colour, marker in (("best", SMALLEST, "o"), ("second", SECOND, "s")):
        line = {"color": colour, "marker": marker, "markersize": 2.5, "linewidth": 1.0}
        _band(axes, distances(panel).sel(pair=pair), foot, **line)
    if control:
        _band(axes, panel["chance"].where(curved(panel)), foot, color=CHANCE, linestyle=":")
        known = panel.isel(size=_known(panel).values)
        predicted = known["exact_distance"].sel(pair="second")
        for values in (rounding(known), predicted) if known.sizes["size"] else ():
            level = np.maximum(_quantiles(values)[1], foot)
            axes.plot(known["size"], level, color=RING, clip_on=False, **style.EXACT_RING)
    else:
        mean = panel["exact_mean"].median("network")
        axes.plot(mean["size"], mean, **MEAN)


def _curves(data: xr.Dataset, case: str, width: int) -> xr.Dataset:
    """A panel's sizes, up to the width, at which there is any curvature."""
    panel = data.sel(case=case, width=width)
    panel = panel.sel(size=panel["size"] <= width)
    return panel.isel(size=curved(panel).any("network").values)


def _named(case: str) -> tuple[str, str]:
    """The parametrisation and the data of a case, as texts say them."""
    parametrisation, data = case.split("-")
    return PARAMETRISATIONS[parametrisation], data


def _drawn(data: xr.Dataset, *, control: bool) -> Figure:
    """One row per parametrisation and kind of data on one axis, one column per width.

    Of a single width the kinds of data stand side by side.
    """
    named = [(c, m) for c in data["case"].values.tolist() for m in data["width"].values.tolist()]
    columns = max(2, data.sizes["width"])
    parts = [named[start : start + columns] for start in range(0, len(named), columns)]
    figure, grid = style.panels(
        len(parts), columns, height=1.6, width=4.5, squeeze=False, sharex="col", sharey="row"
    )
    letters = style.letters()
    for row, panels in zip(grid, parts, strict=True):
        curves = [_curves(data, *panel) for panel in panels]
        foot = min((_foot(panel) for panel in curves if panel.sizes["size"]), default=None)
        for axes, panel, (case, width) in zip(row, curves, panels, strict=False):
            _scales(axes, data["size"].values[data["size"].values <= width])
            if panel.sizes["size"] and foot:
                _draw_panel(axes, panel, foot, control=control)
            parametrisation, kind = _named(case)
            style.letter(axes, f"({next(letters)}) {parametrisation}, $m$ = {width}\n{kind}")
        # Last, since a limit that is set keeps the axis from what is drawn later.
        row[0].set_ylim(bottom=foot)
        row[0].set_ylabel("$|\\lambda_i + \\lambda_j - \\mathrm{tr}(H)/D|$")
        for axes in row[len(panels) :]:
            axes.set_axis_off()
    for axes in grid[-1]:
        axes.set_xlabel("input size $D$")
    figure.align_ylabels(grid[:, 0])
    handles: list[Any] = [
        style.entry("smallest distance", color=SMALLEST, marker="o", markersize=2.5),
        style.entry("second smallest", color=SECOND, marker="s", markersize=2.5),
    ]
    if control:
        handles.append(style.entry("smallest by chance", color=CHANCE, linestyle=":"))
        ring = style.entry("exact, 0 at rounding or the foot", color=RING, **style.EXACT_RING)
        handles += [ring] if _known(data).any() else []
    else:
        handles.append(style.entry("mean eigenvalue", **MEAN))
    share = f"{BAND:.0%} of the networks"
    handles.append(Patch(color=style.BLACK, alpha=0.25, linewidth=0, label=share))
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def draw(data: xr.Dataset) -> Figure:
    """Both distances beside the mean eigenvalue, as in the paper."""
    return _drawn(data, control=False)


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """Both distances beside those that chance makes and those that are known exactly."""
    text = (
        f"Green, dotted: the smallest distance in {data.sizes['jitter']} spectra per network whose "
        "non-zero eigenvalues are moved at random by up to half the distance between their two "
        "neighbours, which is what chance makes."
    )
    if _known(data).any():
        text += (
            " Rings: the exact spectrum, known for $D = 1$ and for an orthonormal first layer "
            "with decorrelated data."
        )
    return _drawn(data, control=True), text


def caption(data: xr.Dataset) -> str:
    """The text below the figure: what is to be seen, and how to read it."""
    depth, kind = data["depth"].item(), ACTIVATIONS[data["activation"].item()]
    widths = " and ".join(map(str, data["width"].values))
    text = (
        "The two pairs of Hessian eigenvalues with sums closest to "
        rf"$\operatorname{{tr}}(H)/D$ at initialisation: {kind} networks of {depth} layers, one "
        f"output, width {widths}; {data.sizes['network']} at each point. Lines: median; bands: "
        f"{BAND:.0%} of networks. Zeros are drawn at rounding level."
    )
    flat = [c for c in data["case"].values.tolist() if not curved(data.sel(case=c)).any()]
    for case in flat:
        text += f" {', '.join(_named(case))}: all Hessians are zero."
    if kind == "ReLU" and depth > 2:
        text += " Width 150 is not run."
    return text
