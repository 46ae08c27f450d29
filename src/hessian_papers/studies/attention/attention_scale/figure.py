"""Self-attention's eigenvalues and condition numbers against weight norms and sinks."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.drawing.errors import FLOOR, error_axis, visible
from hessian_papers.studies.attention.attention_scale.derived import (
    at_numerical_points,
    dense_errors,
    distinct_errors,
    numerical,
)
from hessian_papers.studies.spectra import group
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

# A larger condition number is infinite, to float64.
SINGULAR = 1e18
SMALL: dict[str, Any] = {"markersize": 3}
OUTLIERS = tuple(style.COLOURS[f"outlier {k}"] for k in (1, 2, 3))


class Panel(NamedTuple):
    """The style of a sweep.

    Attributes:
        title: of its panel.
        axis: what it is drawn against, in words.
        along: and the array.
        condition: its name in the panel of condition numbers.
    """

    title: str
    axis: str
    along: str
    condition: str


TOKEN = "mean attention on token 1"
PANELS = {
    "query_key": Panel(
        "norm of $w_Q$ and $w_K$", r"$\|w_Q\| = \|w_K\|$", "varied", "of $w_Q$, $w_K$ (a)"
    ),
    "value": Panel("norm of $w_V$", r"$|w_V|$", "varied", "of $w_V$ (b)"),
    "sink": Panel("attention sink", TOKEN, "attention", "sink (c)"),
    "massive_sink": Panel("massive sink token", TOKEN, "attention", "massive sink (d)"),
}

# The sweeps that the paper draws.
OF_THE_PAPER = ("query_key", "value", "sink")


def _scale(axes: Axes, data: xr.Dataset) -> None:
    """Logarithmic on both sides of zero, linear below a thousandth of the largest eigenvalue."""
    largest = float(abs(group(data, "outlier")).max())
    top = int(np.ceil(np.log10(largest)))
    bulk = float(group(data, "bulk").max("rank").min())
    smallest = int(np.floor(np.log10(max(bulk, 1e-12 * largest))))
    linear = min(max(smallest, top - 4), top - 2)
    axes.set_yscale("symlog", linthresh=10.0**linear)
    powers = [10.0**k for k in range(top, linear - 1, -2)]
    axes.set_yticks([-power for power in powers] + [0.0, *powers])
    axes.minorticks_off()


def _draw_eigenvalues(axes: Axes, data: xr.Dataset, along: str) -> None:
    look = style.NUMERIC | SMALL | {"color": style.BLACK}
    kinds = (numerical(data, kind).values for kind in ("outlier", "bulk"))
    for point, *rows in zip(at_numerical_points(data)[along].values, *kinds, strict=True):
        for values, marker in zip(rows, "os", strict=True):
            axes.plot(np.full(len(values), point), values, **(look | {"marker": marker}))
    x = data[along]
    axes.plot(x, group(data, "bulk"), color=style.COLOURS["bulk"], linestyle="--", **style.EXACT)
    for outlier, colour in zip(group(data, "outlier").T, reversed(OUTLIERS), strict=True):
        axes.plot(x, outlier, color=colour, **style.EXACT)
    axes.fill_between(
        x, data["largest_lower"], data["largest_upper"], color=OUTLIERS[0], alpha=0.18, linewidth=0
    )
    for bound in ("lower", "upper"):
        axes.plot(x, data[bound], color=style.BLACK, linestyle=":", linewidth=0.8)
    axes.axhline(0, color=style.BLACK, linewidth=0.5)
    _scale(axes, data)


def _draw_error(axes: Axes, data: xr.Dataset, along: str) -> None:
    for error, points, marker, size in (
        (distinct_errors(data).values, "numerical_point", ".", 3),
        (dense_errors(data), "dense_point", "D", 3.5),
    ):
        axes.semilogy(
            data[along].sel(point=data[points]), visible(error), linestyle="none", marker=marker,
            markersize=size, color=style.COLOURS["error"], markerfacecolor="none",
        )  # fmt: skip
    _error_axis(axes)


def _error_axis(axes: Axes) -> None:
    error_axis(axes)
    axes.set_yticks([1e-17, 1e-13, 1e-9])
    axes.minorticks_off()


def _draw_condition(column: Any, data: xr.Dataset, *names: str) -> None:
    """Condition numbers of some sweeps, their lower bound, and the error."""
    main, error = column
    handles = []
    for name, colour, marker in zip(names, (style.BLUE, style.ORANGE), "o^", strict=True):
        sweep = data.sel(sweep=name)
        along = PANELS[name].along
        # Those of a Hessian that is singular within float64 are left out.
        shown = (sweep["condition_number"] < SINGULAR) & (sweep["condition_bound"] < SINGULAR)
        at = at_numerical_points(sweep.assign(shown=shown))
        measured = at.isel(
            numerical_point=at["shown"] & (at["numerical_condition_number"] < SINGULAR)
        )
        exact, numeric = measured["condition_number"], measured["numerical_condition_number"]
        drawn = sweep.isel(point=shown)
        look = style.NUMERIC | SMALL | {"marker": marker, "color": colour}
        main.semilogy(measured[along], numeric, **look)
        main.semilogy(drawn[along], drawn["condition_number"], color=colour, **style.EXACT)
        main.semilogy(drawn[along], drawn["condition_bound"], color=colour, linestyle=":")
        if not shown.any():  # an axis in the logarithm needs numbers
            main.semilogy(sweep[along], np.ones(len(shown)), alpha=0)
        error.semilogy(
            measured[along], visible(abs(numeric / exact - 1).values), linestyle="none",
            marker=marker, markersize=2.5, color=colour,
        )  # fmt: skip
        handles.append(style.entry(PANELS[name].condition, color=colour))
    _error_axis(error)
    handles.append(style.entry("lower bound", color=style.BLACK, linestyle=":"))
    main.legend(handles=handles, loc="best", handlelength=1.4)


def _legend(figure: Figure) -> None:
    numeric = style.NUMERIC | SMALL | {"color": style.BLACK}
    handles = [
        *(style.entry(f"outlier {k}", color=colour) for k, colour in enumerate(OUTLIERS, start=1)),
        style.entry(r"bulk $\pm\gamma$", color=style.COLOURS["bulk"], linestyle="--"),
        style.entry("numerical, single", **numeric),
        style.entry("numerical, repeated", **(numeric | {"marker": "s"})),
        style.entry(
            r"$\frac{1}{3}\mathrm{tr} \pm \xi$", color=style.BLACK, linestyle=":", linewidth=0.8
        ),
        Patch(color=OUTLIERS[0], alpha=0.18, linewidth=0, label=r"bounds on $\lambda_{\max}$"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)


def _panel(axes: Axes, data: xr.Dataset, name: str, letter: str) -> None:
    """The eigenvalues along one sweep."""
    panel = PANELS[name]
    _draw_eigenvalues(axes, data.sel(sweep=name), panel.along)
    style.letter(axes, f"({letter}) {panel.title}")
    axes.set_xlabel(panel.axis)
    if panel.along == "varied":
        axes.set_xscale("log")


def draw(data: xr.Dataset) -> Figure:
    """The paper's three sweeps."""
    figure, grid = style.panels(1, 3, height=2.7)
    for axes, name, letter in zip(grid, OF_THE_PAPER, "abc", strict=True):
        _panel(axes, data, name, letter)
    grid[0].set_ylabel(r"Hessian eigenvalue $\lambda$")
    _legend(figure)
    return figure


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure."""
    d = int(data["key_dimension"])
    return (
        f"Eigenvalues of a self-attention layer with $d_K = {d}$ against the norm of its weights "
        "(a, b) and the strength of an attention sink, a bias on the first token's scores (c). "
        "Lines: closed form; points: numerical; bulk: the repeated ones."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """A fourth sweep, the condition numbers and the errors, which the paper does not draw."""
    figure, grid = style.panels(
        3, 3, height=1.6, gridspec_kw={"height_ratios": [1, 2.6, 1]}, sharex=False
    )
    errors = [*grid[0], grid[2, 0]]
    for (name, panel), axes, letter in zip(PANELS.items(), errors, "abcd", strict=True):
        _draw_error(axes, data.sel(sweep=name), panel.along)
        axes.set_title(f"({letter}) error, {panel.title}", loc="left", fontsize=7)
        axes.set_xlabel(panel.axis)
        if panel.along == "varied":
            axes.set_xscale("log")
    _panel(grid[1, 0], data, "massive_sink", "e")
    _draw_condition(grid[1:, 1], data, "query_key", "value")
    _draw_condition(grid[1:, 2], data, "sink", "massive_sink")
    style.letter(grid[1, 1], "(f) condition number, norms")
    style.letter(grid[1, 2], "(g) condition number, sinks")
    grid[2, 1].set_xlabel("norm varied")
    grid[2, 2].set_xlabel(TOKEN)
    for main, error in grid[1:].T:
        error.sharex(main)
        main.tick_params(labelbottom=False)
        main.set_xlabel("")
    grid[1, 1].set_xscale("log")
    for axes in (grid[0, 0], grid[2, 0]):
        axes.set_ylabel("relative error")
    grid[1, 0].set_ylabel(r"Hessian eigenvalue $\lambda$")
    grid[1, 1].set_ylabel(r"$\max|\lambda| \,/\, \min|\lambda|$")
    _legend(figure)
    return figure, (
        f"Errors of the closed form relative to the largest eigenvalue (dashed: {EXACT:.0e}); "
        f"dots: distinct eigenvalues, diamonds: all {2 * int(data['key_dimension']) + 1}. (e) As "
        "in the figure, with each first token multiplied by "
        f"{float(data['massive_activation']):g}. (f, g) Condition numbers, their lower bound by "
        "Remark 3.1 (dotted), and below their relative difference. Zeros are drawn at "
        f"{FLOOR:.0e}, in the band of rounding."
    )
