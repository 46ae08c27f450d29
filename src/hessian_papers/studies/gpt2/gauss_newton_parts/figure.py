"""The GGN's error by product and loss, and which weights it belongs to."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.gpt2.drawing import LOOKS
from hessian_papers.studies.gpt2.gauss_newton_parts.reading import Reading
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


def _draw_errors(axes: Axes, reading: Reading) -> None:
    """Each run's error at the kept steps."""
    step = reading["step"]
    for held, look in LINES.items():
        errors = reading.error(held).value
        for variant, runs in zip(reading.variants, errors, strict=True):
            colour, marker, _ = LOOKS[variant]
            axes.plot(step, runs.T, color=colour, marker=marker, linewidth=0.8, **look)
    # They fall by orders of magnitude, most of it in the first steps.
    axes.set_yscale("log")
    first = max(step[step > 0].min(initial=step[-1]), 1)
    axes.set_xscale("symlog", linthresh=first)
    axes.set_xlim(-first / 10, max(1.3 * step[-1], first))
    axes.set_xlabel("step")
    axes.set_ylabel(r"relative error of $\lambda_{\max}$(GGN)")


def _draw_groups(axes: Axes, reading: Reading, shares: np.ndarray) -> None:
    """A number of each group of weights ``(V, S, g)``, each run at the last step."""
    groups = np.arange(len(reading.groups))
    for place, (variant, runs) in enumerate(zip(reading.variants, shares, strict=True)):
        colour, marker, _ = LOOKS[variant]
        x = groups + ASIDE * (place - (len(shares) - 1) / 2)
        axes.plot(x, runs.T, color=colour, marker=marker, **POINT)
    axes.axhline(0, color=style.BLACK, linewidth=0.8)
    axes.set_xticks(groups, [name.replace("MLP", "MLPs") for name in reading.groups])
    axes.set_xlabel("weights")


def draw(reading: Reading) -> Figure:
    """Errors by step, and three numbers of each group of weights."""
    figure, grid = style.panels(2, 2, height=2.2)
    _draw_errors(grid[0, 0], reading)
    shares = {
        "what the GGN misses of their rows": (reading.missing(), r"$\|F_g\| \, / \, \|H_g\|$"),
        "their part of the top eigenvalue's gap": (
            reading["missed"],
            r"$v_g^\top (F v)_g \, / \, \lambda_{\max}$",
        ),
        "error of the released product's rows": (
            reading.missing("released_rows"),
            r"$\|E_g\| \, / \, \|H_g\|$",
        ),
    }
    style.letter(grid[0, 0], "(a) error by product and loss")
    for axes, letter, (title, (share, label)) in zip(
        grid.flat[1:], "bcd", shares.items(), strict=True
    ):
        _draw_groups(axes, reading, share[:, :, -1])
        axes.set_ylabel(label)
        style.letter(axes, f"({letter}) {title}")
    figure.legend(handles=_handles(reading), loc="outside upper center", ncols=3)
    return figure


def _handles(reading: Reading) -> list[Any]:
    grey: dict[str, Any] = {"linewidth": 0.8, "color": style.GREY, "marker": "o"}
    return [
        style.entry(label, color=colour, marker=marker, markersize=3.5, linestyle="none")
        for colour, marker, label in (LOOKS[variant] for variant in reading.variants)
    ] + [style.entry(NAMES[held], **grey, **look) for held, look in LINES.items()]


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    return (
        "On average the Gauss-Newton matrix misses more of the Hessian's largest eigenvalue with "
        "attention than without it. "
        "(a) Relative error of the GGN's largest eigenvalue in pre-trained language models, each "
        "run at the steps whose weights are kept: with the right Hessian-vector product, with that "
        "of curvlinops as it is released, which is wrong for the weights of layer norms, and with "
        "the squared loss of the logits. (b) Share of F = H − GGN in H, in the Frobenius norm of "
        "the rows of each group of weights, by "
        f"{reading['hessian_rows'].shape[-2]} random probes. (c) Their parts of vᵀFv, with v the "
        "Hessian's top eigenvector, over the eigenvalue. (d) Share of the released product's error "
        "E in H, likewise."
    )
