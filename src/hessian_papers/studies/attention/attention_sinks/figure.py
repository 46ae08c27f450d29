"""Bulk and outliers of self-attention with vector tokens against the strength of a sink."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.studies.attention.attention_sinks.derived import (
    bulk_errors,
    largest_outliers,
    repeated,
    resolved,
)
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

SMALL: dict[str, Any] = {"markersize": 3}
# Outliers closer than this share of the largest are a group, which stand beside each other, this
# much of the distance of two sinks apart.
GROUPED, WIDE = 0.015, 0.06
SINK = "mean attention on token 1"
LOOKS: dict[str, Any] = {
    "largest eigenvalue": {"color": style.COLOURS["outlier 1"], "marker": "o"},
    "mean bulk magnitude": {"color": style.COLOURS["bulk"], "marker": "s"},
    "one": {"label": "", "color": style.BLACK, "linewidth": 0.5, "linestyle": "-"},
}


def _draw_bulk(axes: Axes, data: xr.Dataset) -> None:
    look = style.NUMERIC | SMALL | {"color": style.BLACK, "marker": "s"}
    for attention, bulk in zip(data["sink_attention"].values, repeated(data), strict=True):
        axes.plot(np.full(len(bulk), attention), 1e3 * bulk, **look)
    axes.plot(
        data["attention"], 1e3 * data["bulk"], color=style.COLOURS["bulk"],
        **(style.EXACT | {"linewidth": 0.9}),
    )  # fmt: skip
    axes.axhline(0, color=style.BLACK, linewidth=0.5)
    axes.set_ylabel(r"bulk eigenvalues ($\times 10^{-3}$)")
    handles = [
        style.entry(r"closed form $\pm\sigma_i$", color=style.COLOURS["bulk"]),
        style.entry("numerical, repeated", **look),
    ]
    axes.legend(handles=handles, loc="upper right", handlelength=1.2, borderaxespad=0.2)
    top = float(1e3 * abs(data["bulk"]).max()) or 1.0
    axes.set_ylim(-1.1 * top, 1.6 * top)


def _beside(values: np.ndarray) -> np.ndarray:
    """Where ascending values stand so that those of a group stand beside each other, from 0."""
    groups = np.split(values, np.flatnonzero(np.diff(values) > GROUPED * values[-1]) + 1)
    return np.concatenate(
        [WIDE * (np.arange(len(group)) - (len(group) - 1) / 2) for group in groups]
    )


def _draw_outliers(axes: Axes, data: xr.Dataset) -> None:
    """The sinks stand at equal distances, which leaves each eigenvalue its own mark."""
    largest, attention = largest_outliers(data), data["sink_attention"].values
    colour = style.COLOURS["outlier 1"]
    look = style.NUMERIC | {"color": colour, "markersize": 2.2, "markeredgewidth": 0, "alpha": 0.9}
    places = np.arange(len(attention))
    label = f"largest {float(data['outlier_share']):.0%} of the outliers, each"
    for place, spectrum in zip(places, largest, strict=True):
        axes.plot(place + _beside(spectrum), spectrum, label=label, **look)
        label = ""
    axes.plot(
        places, largest.mean(axis=1), color=style.BLACK, linestyle="--", linewidth=1.0,
        label="their mean", zorder=1,
    )  # fmt: skip
    axes.set_xticks(places, [f"{item:.2f}" for item in attention])
    axes.set_ylim(0, 1.3 * largest.max())
    axes.set_ylabel("outlier eigenvalues")
    axes.legend(loc="upper left", handlelength=1.6, borderaxespad=0.2)


def draw(data: xr.Dataset) -> Figure:
    """Bulk and outliers against the mean attention on the first token."""
    figure, grid = style.panels(1, 2, height=2.3)
    panels = {"bulk": _draw_bulk, "outliers": _draw_outliers}
    for axes, letter, (title, drawn) in zip(grid, "ab", panels.items(), strict=True):
        drawn(axes, data)
        style.letter(axes, f"({letter}) {title}")
        axes.set_xlabel(SINK)
    return figure


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure."""
    p, d = data.sizes["rank"], data.sizes["bulk_rank"] // 2
    return (
        f"Eigenvalues of a self-attention layer with vector tokens ({p} parameters) against the "
        "strength of a sink, a bias on the first token's scores. (a) The bulk: "
        f"{2 * d} values, each occurring {int(data['copies'])} times; lines: closed form, points: "
        "numerical. (b) The largest other eigenvalues, one mark each, groups side by side."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """Other networks and the error of the bulk, which the paper does not draw."""
    ratios = []
    for name, variable in zip(LOOKS, ("replicate_largest", "replicate_bulk"), strict=False):
        start = data[variable].isel(sink_bias=0, drop=True)
        ratio = (data[variable] / start.where(start != 0)).rename(name)
        ratio = ratio.assign_coords({SINK: data["replicate_attention"]})
        ratios.append(named(ratio, "ratio to the value without sink"))
    chosen = resolved(data)
    off = xr.DataArray(bulk_errors(chosen), {SINK: chosen["sink_attention"]}, "sink_bias")
    words = "relative error of the bulk's closed form"
    panels = [
        Panel("other weights, other sink tokens", SINK, [*ratios, xr.DataArray(1.0, name="one")]),
        Panel("error of the bulk", SINK, [named(off, words, rounding=True)]),
    ]
    hidden = "" if resolved(data).sizes["sink_bias"] else " It is unknown, as rounding hides it."
    return picture(panels, LOOKS), (
        f"(a) Bulk and largest eigenvalue of {data.sizes['replicate']} other networks, each with "
        "another token as the sink. (b) Largest error of the bulk's closed form, relative to the "
        f"largest eigenvalue (dashed: {EXACT:.0e}); it falls below the rounding of one number "
        f"where the bulk is that small compared with the largest.{hidden}"
    )
