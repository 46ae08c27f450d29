"""Loss, sharpness and balance of linear networks in the course of training."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing import curves
from hessian_papers.studies.images.drawing import plain_logarithm
from hessian_papers.studies.images.training_courses.reading import LABELS, Reading
from hessian_spectra.pictures import style

COLOURS = {"one": style.VERMILION, "uniform": style.BLUE}
TREATED = {
    "plain": ("small rate", style.BLACK, "-"),
    "decay": ("weight decay", style.GREEN, "-"),
    "edge": ("edge of stability", style.ORANGE, "-"),
}
LAW: dict[str, Any] = {"color": style.GREY, "linestyle": ":", "linewidth": 1.4}
# Shares of the loss and of imbalance below the first or above the second are drawn at it.
FOOT, HEAD = 1e-6, 1e12


def _band(axes: Axes, reading: Reading, values: np.ndarray, **look: Any) -> None:
    """The range of the replicates as a band, and their median."""
    # After all of them diverged there is nothing to draw.
    finite = ~np.isnan(values).all(axis=0)
    epoch, values = np.maximum(reading["epoch"], 0.5)[finite], values[:, finite]
    low, middle, high = np.nanquantile(np.clip(values, FOOT, HEAD), [0, 0.5, 1], axis=0)
    axes.fill_between(epoch, low, high, color=look["color"], alpha=0.2, linewidth=0)
    axes.plot(epoch, middle, **look)


def _loss(axes: Axes, reading: Reading) -> None:
    for labels, words in LABELS.items():
        for inputs, line in (("whitened", "-"), ("raw", "--")):
            loss = reading.of("loss", f"{labels}-{inputs}")
            look = {"color": COLOURS[labels], "linestyle": line, "label": f"{words}, {inputs}"}
            _band(axes, reading, loss / loss[:, :1], **look)
    axes.set_ylabel("loss above least squares, relative")
    axes.legend(loc="lower left", handlelength=1.8)


def _sharpness(axes: Axes, reading: Reading, inputs: str) -> None:
    for labels, words in LABELS.items():
        sharpness = reading.of("sharpness", f"{labels}-{inputs}")
        _band(axes, reading, sharpness, color=COLOURS[labels], label=words)
        solution = reading.of("solution", f"{labels}-{inputs}")
        if np.isfinite(solution).all():
            axes.axhline(float(np.median(solution)), **LAW)
    axes.set_yscale("log")
    axes.set_ylim(top=3 * axes.get_ylim()[1])
    plain_logarithm(axes)
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")
    handles = [style.entry(words, color=COLOURS[labels]) for labels, words in LABELS.items()]
    if inputs == "whitened":
        handles.append(style.entry("balanced solution, eq. (14)", **LAW))
    axes.legend(handles=handles, loc="upper left", handlelength=1.6)


def _imbalance(axes: Axes, reading: Reading) -> None:
    for treated, (words, colour, line) in TREATED.items():
        run = f"one-{treated}"
        _band(axes, reading, reading.kept(run), color=colour, linestyle=line, label=words)
    epoch = np.maximum(reading["epoch"], 0.5)
    axes.plot(epoch, np.median(reading.predicted("one-decay"), axis=0), **LAW)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("imbalance, relative to the start")
    handles = [style.entry(words, color=colour) for words, colour, _ in TREATED.values()]
    handles.append(style.entry(r"$e^{-2\lambda t}$", **LAW))
    axes.legend(handles=handles, loc="lower left", handlelength=1.6)


def _spread(axes: Axes, reading: Reading, labels: str) -> None:
    for treated, (_, colour, line) in TREATED.items():
        spread = reading.spread(f"{labels}-{treated}")
        _band(axes, reading, spread, color=colour, linestyle=line)
    axes.set_yscale("log")
    axes.set_ylim(FOOT / 2, 3)
    axes.set_ylabel(r"spread of $\sigma_1^2(W_l)$ over layers")


def draw(reading: Reading) -> Figure:
    """Learning and sharpness by labels and inputs above, balance by how it is trained below."""
    figure, grid = style.panels(2, 3, height=2.5)
    (loss, whitened, raw), (imbalance, single, uniform) = grid
    _loss(loss, reading)
    _sharpness(whitened, reading, "whitened")
    _sharpness(raw, reading, "raw")
    _imbalance(imbalance, reading)
    _spread(single, reading, "one")
    _spread(uniform, reading, "uniform")
    loss.set_yscale("log")
    titles = (
        "learning", "sharpness, whitened", "sharpness, raw inputs",
        "imbalance, one class", "spread, one class", "spread, equal shares",
    )  # fmt: skip
    for axes, letter, title in zip(grid.flat, "abcdef", titles, strict=True):
        style.letter(axes, f"({letter}) {title}")
        axes.set_xscale("log")
        axes.set_xlim(0.5, max(float(reading["epoch"][-1]), 1))
        axes.set_xlabel("epoch")
    curves.main(whitened)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    runs = len(reading["source"])
    diverged = reading["diverged"]
    return (
        "One class is learnt sooner than equal shares of all, though not to the last part; its "
        "sharpness peaks higher, if the inputs are whitened; weight decay and the "
        "edge of stability make layers more balanced. "
        f"Lines: median of {runs} replicates of deep linear networks, bands: all of them; epoch 0 "
        "stands at 0.5. (a) The loss above that of least squares, over "
        "the start's. (b), (c) The largest eigenvalue of the Hessian. (d) From Kaiming's "
        "initialisation, the largest ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F; dotted: e^{−2λt}, as in "
        "gradient flow. (e), (f) How far the layers' largest singular values, squared, are apart, "
        "over their mean; at the edge the rate is above that at which all solutions of the loss "
        f"are unstable, and the loss goes on to oscillate. {diverged.sum()} of "
        f"{diverged.size} runs diverged."
    )
