"""Distance from uniform attention, its second moment and the bulk against the key dimension."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.attention.uniform_attention.derived import CONSTANT, bulk_range
from hessian_spectra.pictures import style

LOOKS = {
    "xavier": (style.BLUE, "-", "o", "variance $2/(1+d_K)$"),
    "unit": (style.GREEN, "--", "s", "norm 1"),
    "sp": (style.VERMILION, "-.", "^", "variance $1/3$ (SP)"),
}

THIN: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.8, "linestyle": ":"}


def _bands(axes: Axes, values: xr.DataArray) -> None:
    """Median over the draws, and the middle 90 % of them, for each initialisation."""
    x = values["key_dimension"]
    for name in values["initialisation"].values:
        colour, line, marker, label = LOOKS[name]
        own = values.sel(initialisation=name)
        low, middle, high = own.quantile([0.05, 0.5, 0.95], "draw", skipna=False)
        axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
        axes.plot(x, middle, color=colour, linestyle=line, marker=marker, markersize=3, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")


def _slope(axes: Axes, values: xr.DataArray, power: float, words: str) -> None:
    """A thin line of some power of d_K below the medians."""
    smallest, *_ = x = values["key_dimension"].values
    start = values.sel(key_dimension=smallest).median("draw", skipna=False) / 2
    axes.plot(x, start.values * (x / smallest) ** power, label=words, **THIN)


def draw(data: xr.Dataset) -> Figure:
    """Four panels over d_K."""
    figure, grid = style.panels(2, 2, height=2.2)
    data = data.sortby("key_dimension")
    panels = [
        ("distance", "(a) attention", "total variation from uniform", -1.0, "$1/d_K$"),
        ("second_moment", "(b) second moment", r"$m_2$ less variance, relative", -1.0, "$1/d_K$"),
        ("bulk", "(c) bulk", r"$|\gamma|$", -0.5, r"$1/\sqrt{d_K}$"),
    ]  # fmt: skip
    for axes, (name, title, label, power, words) in zip(grid.flat, panels, strict=False):
        _bands(axes, data[name])
        _slope(axes, data[name].isel(initialisation=0), power, words)
        axes.set_ylabel(label)
        style.letter(axes, title)
    last, factors = grid[1, 1], data["factor"].values
    _bands(last, bulk_range(data) + 1e-12)
    last.axhline(CONSTANT, label="10 %", **THIN)
    last.set_ylabel(r"range of $|\gamma|$, relative")
    style.letter(last, f"(d) entries times {factors.min():g} to {factors.max():g}")
    for axes in grid.flat:
        axes.legend(loc="best", fontsize=6.5, handlelength=2.2)
    for axes in grid[1]:
        axes.set_xlabel("key dimension $d_K$")
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    return (
        "Self-attention at initialisation tends to uniform attention with growing d_K where the "
        "variance of the query and key weights falls with it, and to nothing where it does not. "
        f"Median and middle 90 % of {data.sizes['draw']} draws of w_V, w_Q, w_K, a sequence of "
        f"{int(data['length'])} normal tokens and targets; of w_Q and w_K each d_K takes the "
        "first entries. (b) against the variance of the tokens, (d) with the entries of w_Q and "
        "w_K multiplied by the factors above it. The paper leaves their distribution open; its "
        "Figure 2 has norms of 1, its appendix D.1.3 the standard parametrisation (SP)."
    )
