"""Self-attention at the edge of stability: sharpness, trace, loss, norms, and the error."""

from collections.abc import Callable
from functools import partial
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_papers.drawing import curves
from hessian_papers.drawing.bands import draw_envelope, envelope
from hessian_papers.drawing.variables import Panel, named, picture
from hessian_papers.studies.attention.attention_edge_of_stability.derived import edge
from hessian_papers.studies.spectra import error
from hessian_papers.studies.trainings import compared
from hessian_spectra.agreement import EXACT
from hessian_spectra.pictures import style

# How many steps the panel of the oscillation shows.
ZOOM = 24
SMALL: dict[str, Any] = {"markersize": 2.5}
ZOOMED: dict[str, Any] = {
    "sharpness": SMALL | {"color": style.COLOURS["outlier 1"], "marker": "o", "linewidth": 1.0},
    "trace": SMALL | {"color": style.COLOURS["trace"], "marker": "s", "linewidth": 1.0},
    "edge": {"label": r"$2/\eta$"},
}
KEY: dict[str, Any] = {"handlelength": 1.4, "borderaxespad": 0.2, "labelspacing": 0.25}
THRESHOLD: dict[str, Any] = {"color": style.BLACK, "linestyle": "--", "linewidth": 0.8}


def _draw_numerical(axes: Axes, values: xr.DataArray) -> None:
    look = style.NUMERIC | SMALL | {"color": style.BLACK}
    axes.plot(values["step"], values, label="numerical", **look)


def _draw_course(axes: Axes, values: xr.DataArray, **look: Any) -> None:
    draw_envelope(axes, values["step"].values, values.values, **look)


def _draw_logarithm(axes: Axes, data: xr.Dataset, name: str, label: str) -> None:
    axes.semilogy(data["step"], data[name], color=style.COLOURS["loss"])
    axes.set_ylabel(label)


def _draw_sharpness(axes: Axes, data: xr.Dataset) -> None:
    colour = style.COLOURS["outlier 1"]
    axes.fill_between(
        data["step"], envelope(data["lower"].values)[0], envelope(data["upper"].values)[1],
        color=style.GREY, alpha=0.2, linewidth=0,
        label=r"bounds $\frac{1}{3}\mathrm{tr} + \frac{1}{2}\xi$, $\frac{1}{3}\mathrm{tr} + \xi$",
    )  # fmt: skip
    _draw_numerical(axes, compared(data)["numerical"].max("rank"))
    _draw_course(axes, data["sharpness"], color=colour, label="closed form")
    axes.axhline(2 / float(data["learning_rate"]), label=r"$2/\eta$", **THRESHOLD)
    axes.set_ylim(0, 1.75 * float(data["upper"].max()))
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")
    axes.legend(loc="upper right", ncols=2, columnspacing=1.0, **KEY)


def _draw_trace(axes: Axes, data: xr.Dataset) -> None:
    _draw_numerical(axes, compared(data)["numerical"].sum("rank"))
    _draw_course(
        axes, data["trace"], color=style.COLOURS["trace"],
        label=r"closed form $\alpha + \zeta(\|w_Q\|^2 + \|w_K\|^2)$",
    )  # fmt: skip
    axes.set_ylim(top=1.35 * float(data["trace"].max()))
    axes.set_ylabel(r"trace $\mathrm{tr}(H)$")
    axes.legend(loc="lower right", **KEY)


def _draw_norms(axes: Axes, data: xr.Dataset, title: str, labels: dict[str, str]) -> None:
    looks = ((style.BLUE, "-", 1.2), (style.GREEN, "--", 1.8), (style.ORANGE, "-.", 1.2))
    for (name, label), (colour, line, width) in zip(labels.items(), looks, strict=True):
        look = {"color": colour, "linestyle": line, "linewidth": width, "label": label}
        _draw_course(axes, data[f"norm_{name}"], **look)
    axes.set_ylabel(title)
    axes.legend(loc="lower right", ncols=3, columnspacing=1.0, **KEY)


# In the order of the panels, row by row.
MOMENTS = {f"m_{k}": rf"$\|m_{k}\|$" for k in (1, 2, 3)}
WEIGHTS = {"w_value": "$|w_V|$", "w_query": r"$\|w_Q\|$", "w_key": r"$\|w_K\|$"}
PANELS: dict[str, Callable[[Axes, xr.Dataset], None]] = {
    "loss": partial(_draw_logarithm, name="loss", label="loss"),
    "residual": partial(_draw_logarithm, name="norm_residual", label=r"residual norm $\|f - y\|$"),
    "sharpness": _draw_sharpness,
    "attention moments": partial(_draw_norms, title="attention moments", labels=MOMENTS),
    "trace": _draw_trace,
    "weights": partial(_draw_norms, title="norms of the weights", labels=WEIGHTS),
}


def draw(data: xr.Dataset) -> Figure:
    """The paper's six panels over the steps; dotted where the sharpness reaches 2/η."""
    figure, grid = style.panels(3, 2, height=1.65)
    first, last = edge(data), int(data["step"].max())
    for axes, letter, (title, drawn) in zip(grid.flat, "abcdef", PANELS.items(), strict=True):
        drawn(axes, data)
        style.letter(axes, f"({letter}) {title}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(0, max(last, 1))
        if first is not None:
            axes.axvline(first, color=style.BLACK, linestyle=":", linewidth=0.8)
    curves.main(grid[1, 0])
    for axes in grid[-1]:
        axes.set_xlabel("step of gradient descent")
    return figure


def _course(data: xr.Dataset) -> str:
    """The course of the sharpness, in words."""
    if (first := edge(data)) is None:
        return "The sharpness stays below $2/η$."
    return f"Dotted: step {first}, at which the sharpness has reached $2/η$ (dashed)."


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure."""
    diverged_at = int(data["diverged_at"])
    end = f" Training diverges at step {diverged_at}." if diverged_at >= 0 else ""
    return (
        "A self-attention layer is trained to reverse sequences, by gradient descent with rate "
        f"$η = {float(data['learning_rate']):.3g}$. {_course(data)}{end} (c) to (f): bands span "
        "three neighbouring steps, lines are midway."
    )


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """The oscillation step by step and the error of the closed form."""
    first, last = edge(data), int(data["step"].max())
    start = max(0, last + 1 - ZOOM if first is None else first - 3)
    zoomed = data.sel(step=slice(start, start + ZOOM - 1))
    both = [named(zoomed["sharpness"], "eigenvalue, trace"), zoomed["trace"]]
    off = named(error(compared(data)), "relative error of the closed form", rounding=True)
    panels = [
        Panel(
            "the first steps at the edge",
            "step",
            [*both, (2 / data["learning_rate"]).rename("edge")],
        ),
        Panel("error", "step", [off]),
    ]
    return picture(panels, ZOOMED), (
        "(a) Sharpness and trace step by step, at the edge if it is reached, else at the end; "
        "dashed: $2/η$. (b) Error of the whole spectrum relative to its largest eigenvalue "
        f"(dashed: {EXACT:.0e})."
    )
