"""Loss, sharpness and balance of linear networks in the course of training."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing import curves
from hessian_papers.studies.images.drawing import plain_logarithm
from hessian_papers.studies.images.training_courses.derived import kept, spread
from hessian_spectra.pictures import style

LABELS = {"one": "one class", "uniform": "equal shares"}
COLOURS = {"one": style.VERMILION, "uniform": style.BLUE}
TREATED = {
    "plain": ("small rate", style.BLACK, "-"),
    "decay": ("weight decay", style.GREEN, "-"),
    "edge": ("edge of stability", style.ORANGE, "-"),
}
LAW: dict[str, Any] = {"color": style.GREY, "linestyle": ":", "linewidth": 1.4}
# Shares of the loss and of imbalance below the first or above the second are drawn at it.
FOOT, HEAD = 1e-6, 1e12


def _band(axes: Axes, values: xr.DataArray, **look: Any) -> None:
    """The range of the replicates as a band, and their median."""
    # After all of them diverged there is nothing to draw.
    finite = values.dropna("epoch", how="all").clip(FOOT, HEAD)
    epoch = finite["epoch"].clip(min=0.5)
    low, middle, high = finite.quantile([0, 0.5, 1], "replicate")
    axes.fill_between(epoch, low, high, color=look["color"], alpha=0.2, linewidth=0)
    axes.plot(epoch, middle, **look)


def _loss(axes: Axes, data: xr.Dataset) -> None:
    for labels, words in LABELS.items():
        for inputs, line in (("whitened", "-"), ("raw", "--")):
            loss = data["loss"].sel(labels=labels, treated=inputs)
            look = {"color": COLOURS[labels], "linestyle": line, "label": f"{words}, {inputs}"}
            _band(axes, loss / loss.sel(epoch=0), **look)
    axes.set_ylabel("loss above least squares, relative")
    axes.legend(loc="lower left", handlelength=1.8)


def _sharpness(axes: Axes, data: xr.Dataset, inputs: str) -> None:
    for labels, words in LABELS.items():
        sharpness = data["sharpness"].sel(labels=labels, inputs=inputs)
        _band(axes, sharpness, color=COLOURS[labels], label=words)
        solution = data["solution"].sel(labels=labels, treated=inputs)
        if solution.notnull().all():
            axes.axhline(float(solution.median()), **LAW)
    axes.set_yscale("log")
    axes.set_ylim(top=3 * axes.get_ylim()[1])
    plain_logarithm(axes)
    axes.set_ylabel(r"sharpness $\lambda_{\max}$")
    handles = [style.entry(words, color=COLOURS[labels]) for labels, words in LABELS.items()]
    if inputs == "whitened":
        handles.append(style.entry("balanced solution, eq. (14)", **LAW))
    axes.legend(handles=handles, loc="upper left", handlelength=1.6)


def _imbalance(axes: Axes, data: xr.Dataset) -> None:
    single = data.sel(labels="one")
    for treated, (words, colour, line) in TREATED.items():
        left = kept(single["unbalance"].sel(treated=treated))
        _band(axes, left, color=colour, linestyle=line, label=words)
    law = kept(single["law"].sel(treated="decay")).median("replicate")
    axes.plot(law["epoch"].clip(min=0.5), law, **LAW)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("imbalance, relative to the start")
    handles = [style.entry(words, color=colour) for words, colour, _ in TREATED.values()]
    handles.append(style.entry(r"$e^{-2\lambda t}$", **LAW))
    axes.legend(handles=handles, loc="lower left", handlelength=1.6)


def _spread(axes: Axes, data: xr.Dataset, labels: str) -> None:
    for treated, (_, colour, line) in TREATED.items():
        chosen = spread(data.sel(labels=labels, treated=treated))
        _band(axes, chosen, color=colour, linestyle=line)
    axes.set_yscale("log")
    axes.set_ylim(FOOT / 2, 3)
    axes.set_ylabel(r"spread of $\sigma_1^2(W_l)$ over layers")


def draw(data: xr.Dataset) -> Figure:
    """Learning and sharpness by labels and inputs above, balance by how it is trained below."""
    figure, grid = style.panels(2, 3, height=2.5)
    (loss, whitened, raw), (imbalance, single, uniform) = grid
    _loss(loss, data)
    _sharpness(whitened, data, "whitened")
    _sharpness(raw, data, "raw")
    _imbalance(imbalance, data)
    _spread(single, data, "one")
    _spread(uniform, data, "uniform")
    loss.set_yscale("log")
    titles = (
        "learning", "sharpness, whitened", "sharpness, raw inputs",
        "imbalance, one class", "spread, one class", "spread, equal shares",
    )  # fmt: skip
    for axes, letter, title in zip(grid.flat, "abcdef", titles, strict=True):
        style.letter(axes, f"({letter}) {title}")
        axes.set_xscale("log")
        axes.set_xlim(0.5, max(float(data["epoch"].max()), 1))
        axes.set_xlabel("epoch")
    curves.main(whitened)
    return figure


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    diverged = data["diverged"]
    return (
        "One class is learnt sooner than equal shares of all, though not to the last part; its "
        "sharpness peaks higher, if the inputs are whitened; weight decay and the "
        "edge of stability make layers more balanced. "
        f"Lines: median of {data.sizes['replicate']} replicates of deep linear networks, bands: "
        "all of them; epoch 0 stands at 0.5. (a) The loss above that of least squares, over "
        "the start's. (b), (c) The largest eigenvalue of the Hessian. (d) From Kaiming's "
        "initialisation, the largest ‖W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}‖_F; dotted: e^{−2λt}, as in "
        "gradient flow. (e), (f) How far the layers' largest singular values, squared, are apart, "
        "over their mean; at the edge the rate is above that at which all solutions of the loss "
        f"are unstable, and the loss goes on to oscillate. {int(diverged.sum())} of "
        f"{diverged.size} runs diverged."
    )
