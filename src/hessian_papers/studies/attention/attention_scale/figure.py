"""Self-attention's eigenvalues and condition numbers against weight norms and sinks."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.drawing.errors import FLOOR
from hessian_papers.drawing.variables import Panel as Shown
from hessian_papers.drawing.variables import named, picture
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
    """

    title: str
    axis: str
    along: str


TOKEN = "mean attention on token 1"
PANELS = {
    "query_key": Panel("norm of $w_Q$ and $w_K$", r"$\|w_Q\| = \|w_K\|$", "varied"),
    "value": Panel("norm of $w_V$", r"$|w_V|$", "varied"),
    "sink": Panel("attention sink", TOKEN, "attention"),
    "massive_sink": Panel("massive sink token", TOKEN, "attention"),
}

CONDITIONS: dict[str, Any] = {
    "all": {"marker": "D", "markersize": 3.5, "markerfacecolor": "none"},
    "exact": {"label": "condition number"},
    "numerical": style.NUMERIC | SMALL | {"label": "numerical"},
    "bound": {"linestyle": ":", "label": "lower bound"},
    "query_key": {"color": style.BLUE, "label": PANELS["query_key"].title},
    "value": {"color": style.ORANGE, "label": PANELS["value"].title},
    "sink": {"color": style.SKY, "label": PANELS["sink"].title},
    "massive_sink": {"color": style.PURPLE, "label": PANELS["massive_sink"].title},
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


def _errors(data: xr.Dataset, name: str) -> Shown:
    """The errors of one sweep: of its distinct eigenvalues, and of all where all are known."""
    panel, sweep = PANELS[name], data.sel(sweep=name)
    rows = {"numerical_point": distinct_errors(sweep).values, "dense_point": dense_errors(sweep)}
    values = []
    for kind, (points, row) in zip(("distinct", "all"), rows.items(), strict=True):
        at = sweep[panel.along].sel(point=sweep[points]).values
        off = xr.DataArray(row, {panel.axis: (points, at)}, points, kind)
        values.append(named(off, "relative error", rounding=True))
    return Shown(f"error, {panel.title}", panel.axis, values)


def _conditions(data: xr.Dataset, title: str, axis: str, *names: str) -> list[Shown]:
    """Condition numbers of some sweeps with their lower bound, and below them their errors.

    Those of a Hessian that is singular within float64 are left out.
    """
    sweeps = data.sel(sweep=[*names])
    sweeps = sweeps.assign_coords({axis: sweeps[PANELS[names[0]].along]})
    known = (sweeps["condition_number"] < SINGULAR) & (sweeps["condition_bound"] < SINGULAR)
    exact, bound = (sweeps[f"condition_{of}"].where(known) for of in ("number", "bound"))
    at = at_numerical_points(sweeps.assign(shown=exact))
    numeric = at["numerical_condition_number"]
    numeric = numeric.where((numeric < SINGULAR) & at["shown"].notnull())
    off = abs(numeric / at["shown"] - 1).rename("error")
    exact = named(exact, r"$\max|\lambda|\,/\,\min|\lambda|$")
    curves = [exact.rename("exact"), numeric.rename("numerical"), bound.rename("bound")]
    return [
        Shown(f"condition, {title}", axis, curves),
        Shown("its error", axis, [named(off, "relative error", rounding=True)]),
    ]


def _entries() -> list[Any]:
    """The legend of eigenvalues."""
    numeric = style.NUMERIC | SMALL | {"color": style.BLACK}
    return [
        *(style.entry(f"outlier {k}", color=colour) for k, colour in enumerate(OUTLIERS, start=1)),
        style.entry(r"bulk $\pm\gamma$", color=style.COLOURS["bulk"], linestyle="--"),
        style.entry("numerical, single", **numeric),
        style.entry("numerical, repeated", **(numeric | {"marker": "s"})),
        style.entry(
            r"$\frac{1}{3}\mathrm{tr} \pm \xi$", color=style.BLACK, linestyle=":", linewidth=0.8
        ),
        Patch(color=OUTLIERS[0], alpha=0.18, linewidth=0, label=r"bounds on $\lambda_{\max}$"),
    ]


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
    figure.legend(handles=_entries(), loc="outside upper center", ncols=4)
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
    massive = partial(_panel, data=data, name="massive_sink", letter="e")
    panels = [
        *(_errors(data, name) for name in PANELS),
        Shown(PANELS["massive_sink"].title, "", [], massive),
        *_conditions(data, "norms", "norm varied", "query_key", "value"),
        *_conditions(data, "sinks", TOKEN, "sink", "massive_sink"),
    ]
    figure = picture(panels, CONDITIONS, entries=_entries())
    return figure, (
        f"Errors of the closed form relative to the largest eigenvalue (dashed: {EXACT:.0e}); "
        f"dots: distinct eigenvalues, diamonds: all {2 * int(data['key_dimension']) + 1}. (e) As "
        "in the figure, with each first token multiplied by "
        f"{float(data['massive_activation']):g}. (f, h) Condition numbers with their lower bound "
        "by Remark 3.1 (dotted); (g, i) their relative error. Zeros are drawn at "
        f"{FLOOR:.0e}, in the band of rounding."
    )
