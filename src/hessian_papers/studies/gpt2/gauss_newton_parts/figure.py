"""The GGN's error by product and loss, and which weights it belongs to."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.gpt2.drawing import LOOKS
from hessian_papers.studies.gpt2.gauss_newton_parts.derived import HELD_TO, departure, missing
from hessian_spectra.pictures import style

# The released product's errors are rings around the right one's points.
LINES: dict[str, dict[str, Any]] = {
    "right": {"linestyle": "-", "markersize": 3.0},
    "released": {"linestyle": "none", "markersize": 7.0, "markerfacecolor": "none"},
    "squared": {"linestyle": ":", "markersize": 3.0},
}
NAMES = {"right": "right product", "released": "released product", "squared": "squared loss"}
POINT: dict[str, Any] = {"linestyle": "none", "markersize": 3.5, "alpha": 0.7}
# How far apart the architectures stand beside a group of weights.
ASIDE = 0.16


def _draw_errors(axes: Axes, data: xr.Dataset) -> None:
    """Each run's error at the kept steps."""
    step = data["step"].values
    for held, look in LINES.items():
        errors = departure(data, *HELD_TO[held])["error"]
        for variant in data["variant"].values:
            colour, marker, _ = LOOKS[variant]
            runs = errors.sel(variant=variant).values.T
            axes.plot(step, runs, color=colour, marker=marker, linewidth=0.8, **look)
    # They fall by orders of magnitude, most of it in the first steps.
    axes.set_yscale("log")
    first = max(step[step > 0].min(initial=step[-1]), 1)
    axes.set_xscale("symlog", linthresh=first)
    axes.set_xlim(-first / 10, max(1.3 * step[-1], first))
    axes.set_xlabel("step")
    axes.set_ylabel(r"relative error of $\lambda_{\max}$(GGN)")


def _draw_groups(axes: Axes, shares: xr.DataArray) -> None:
    """A number of each group of weights, each run at the last step."""
    names, last = shares["group"].values, shares.isel(step=-1)
    for place, variant in enumerate(shares["variant"].values):
        colour, marker, _ = LOOKS[variant]
        x = np.arange(len(names)) + ASIDE * (place - (shares.sizes["variant"] - 1) / 2)
        axes.plot(x, last.sel(variant=variant).values.T, color=colour, marker=marker, **POINT)
    axes.axhline(0, color=style.BLACK, linewidth=0.8)
    axes.set_xticks(range(len(names)), [name.replace("MLP", "MLPs") for name in names])
    axes.set_xlabel("weights")


def draw(data: xr.Dataset) -> Figure:
    """Errors by step, and three numbers of each group of weights."""
    figure, grid = style.panels(2, 2, height=2.2)
    _draw_errors(grid[0, 0], data)
    style.letter(grid[0, 0], "(a) error by product and loss")
    missed = r"$v_g^\top (F v)_g \, / \, \lambda_{\max}$"
    shares = [
        ("(b) what the GGN misses of their rows", r"$\|F_g\| \, / \, \|H_g\|$", missing(data)),
        ("(c) their part of the top eigenvalue's gap", missed, data["missed"]),
        (
            "(d) error of the released product's rows",
            r"$\|E_g\| \, / \, \|H_g\|$",
            missing(data, "released_rows"),
        ),
    ]
    for axes, (title, label, share) in zip(grid.flat[1:], shares, strict=True):
        _draw_groups(axes, share)
        axes.set_ylabel(label)
        style.letter(axes, title)
    figure.legend(handles=_handles(data), loc="outside upper center", ncols=3)
    return figure


def _handles(data: xr.Dataset) -> list[Any]:
    grey: dict[str, Any] = {"linewidth": 0.8, "color": style.GREY, "marker": "o"}
    return [
        style.entry(label, color=colour, marker=marker, markersize=3.5, linestyle="none")
        for colour, marker, label in (LOOKS[variant] for variant in data["variant"].values)
    ] + [style.entry(NAMES[held], **grey, **look) for held, look in LINES.items()]


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    return (
        "On average the Gauss-Newton matrix misses more of the Hessian's largest eigenvalue with "
        "attention than without it. "
        "(a) Relative error of the GGN's largest eigenvalue in pre-trained language models, each "
        "run at the steps whose weights are kept: with the right Hessian-vector product, with that "
        "of curvlinops as it is released, which is wrong for the weights of layer norms, and with "
        "the squared loss of the logits. (b) Share of F = H − GGN in H, in the Frobenius norm of "
        "the rows of each group of weights, by "
        f"{data.sizes['probe']} random probes. (c) Their parts of vᵀFv, with v the "
        "Hessian's top eigenvector, over the eigenvalue. (d) Share of the released product's error "
        "E in H, likewise."
    )
