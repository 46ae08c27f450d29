"""The Hessian's spectrum of a language model against the strength of an attention sink."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.gpt2.sink_density.derived import (
    NO_SINK,
    SINK,
    ladder,
    smoothed,
    uniform_mass,
)
from hessian_spectra.pictures import style

LOOKS: dict[str, dict[str, Any]] = {
    SINK: {"color": style.VERMILION, "marker": "o", "label": "attention on token 1"},
    "middle-token": {"color": style.BLUE, "marker": "s", "label": "on a middle token"},
    "random-weights": {"color": style.GREY, "marker": "^", "label": "random weights, same loss"},
    NO_SINK: {"color": style.GREEN, "marker": "v", "label": "without its own sink"},
}
PARTS: dict[str, dict[str, Any]] = {
    "softmax": {"color": style.VERMILION, "marker": "o", "label": "softmax"},
    "all": {"color": style.BLACK, "marker": "_", "linestyle": "--", "label": "all operations"},
}
RELEASED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 7,
    "markerfacecolor": "none",
    "color": style.BLACK,
    "linewidth": 0.8,
}
RELEASED_DENSITY: dict[str, Any] = {
    "linestyle": (0, (1, 3)),
    "linewidth": 1.4,
    "color": style.BLACK,
    "label": "as released",
}
EDGE: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.4}


def _draw_density(axes: Axes, data: xr.Dataset) -> None:
    """The densities of the first network, with the extreme eigenvalues below them."""
    rungs = data.sel(edit=SINK).isel(seed=0)
    rungs = rungs.isel(rung=rungs["mass"].notnull())
    # What a single eigenvalue adds to the density: below, nothing is.
    single = float((1 / (rungs["parameters"] * rungs["width"] * np.sqrt(2 * np.pi))).min())
    floor, count = single / 30, rungs.sizes["rung"]
    for place, colour in enumerate(style.COLOURMAP(np.linspace(0, 1, count))):
        rung = rungs.isel(rung=place)
        grid, density, error = (rung[name].values for name in ("grid", "density", "density_error"))
        ends = np.maximum(density - error, floor), density + error
        axes.fill_between(grid, *ends, color=colour, alpha=0.2, linewidth=0)
        label = f"{rung['mass']:.2f}" if place else f"{rung['mass']:.2f}, no edit"
        axes.plot(grid, np.maximum(density, floor), color=colour, linewidth=0.9, label=label)
        height = floor * (single / floor) ** (0.15 + 0.7 * place / count)
        edges = rung["eigenvalue"].sel(end=["smallest", "largest"]).values
        axes.plot(edges, [height] * 2, linestyle="none", color=colour, **EDGE)
    released = smoothed(data, "pdf", "released_").isel(seed=0)
    axes.plot(grid, np.maximum(released.values, floor), **RELEASED_DENSITY)
    axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    axes.set_xlabel("eigenvalue")
    axes.set_ylabel("density")
    axes.legend(title="attention on token 1", title_fontsize=7, loc="upper right", ncols=2)


def _lines(axes: Axes, mass: xr.DataArray, values: xr.DataArray, look: dict[str, Any]) -> None:
    """A line for each network over the attention on token 1, and the mean of them."""
    axes.plot(mass.values.T, values.values.T, color=look["color"], linewidth=0.5, alpha=0.6)
    axes.plot(mass.mean("seed").values, values.mean("seed").values, markersize=3.5, **look)
    axes.set_xlabel("attention on token 1")
    axes.set_xlim(0, 1)


def _edited(data: xr.Dataset, edit: str) -> xr.DataArray:
    """The seeds of the networks that have an edit: some have no sink to remove."""
    strengths = data["strength"].sel(edit=edit)
    return data["seed"][strengths.notnull().any("rung").values]


def _draw_ladder(axes: Axes, data: xr.Dataset, values: xr.DataArray) -> None:
    """The lines of each edit."""
    for edit in values["edit"].values:
        seeds = _edited(data, edit)
        if not seeds.size:
            continue
        line = values.sel(edit=edit, seed=seeds).dropna("rung")
        # A control stands beside the last sink.
        beside = ladder(data["mass"]).sel(edit=edit if edit == NO_SINK else SINK)
        _lines(axes, beside.sel(seed=line["seed"], rung=line["rung"]), line, LOOKS[edit])


def _draw_end(axes: Axes, data: xr.Dataset, end: str) -> None:
    """The extreme eigenvalues, over their values without an edit."""
    values = ladder(data["eigenvalue"].sel(end=end))
    own = values.sel(edit=SINK).isel(rung=0)
    _draw_ladder(axes, data, values / own)
    released = (data["released_eigenvalue"].sel(end=end) / own).mean("seed").dropna("rung")
    mass = data["mass"].sel(edit=SINK, rung=released["rung"]).mean("seed")
    axes.plot(mass.values, released.values, **RELEASED)
    axes.axhline(1, color=style.BLACK, linewidth=0.5)


def _along(data: xr.Dataset, values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """The attention on token 1 of the ladder, and numbers of it, without what was passed over."""
    line = values.dropna("rung")
    return data["mass"].sel(edit=SINK, rung=line["rung"]), line


def _draw_gauss_newton(axes: Axes, data: xr.Dataset) -> None:
    """The Gauss-Newton matrix's largest eigenvalue, over its value without an edit."""
    _lines(axes, *_along(data, data["ggn"] / data["ggn"].isel(rung=0)), LOOKS[SINK])
    axes.axhline(1, color=style.BLACK, linewidth=0.5)


def _draw_parts(axes: Axes, data: xr.Dataset) -> None:
    """The functional Hessian along the top eigenvector, and softmax's part of it."""
    softmax = data["operation_part"].sel(operation="softmax")
    for values, look in zip((softmax, data["functional"]), PARTS.values(), strict=True):
        _lines(axes, *_along(data, values), look)
    axes.axhline(0, color=style.BLACK, linewidth=0.5)
    # Room for the legend, above lines from one side to the other.
    axes.margins(y=0.3)
    axes.legend(loc="upper right", ncols=2, handlelength=1.6)


def _draw_loss(axes: Axes, data: xr.Dataset) -> None:
    """The loss that the edits cost."""
    loss = ladder(data["loss"])
    rise = loss - loss.sel(edit=SINK).isel(rung=0)
    _draw_ladder(axes, data, rise.drop_sel(edit="random-weights"))


def _draw_training(axes: Axes, data: xr.Dataset) -> None:
    """The attention on the first token that training makes, of each head and their mean."""
    steps, heads = data["step"].values, data["training_mass"]
    # A network that is not trained here has one step, and no lines.
    marker = "." if len(steps) == 1 else ""
    for values, colour in (
        (heads.isel(head=slice(1, None)), style.SKY),
        (heads.isel(head=[0]), style.VERMILION),
    ):
        lines = values.stack(line=("seed", "layer", "head")).values
        axes.plot(steps, lines, color=colour, linewidth=0.5, alpha=0.7, marker=marker)
    mean = heads.mean(("seed", "layer", "head"), skipna=False).values
    axes.plot(steps, mean, color=style.BLACK, marker=marker)
    axes.axhline(
        uniform_mass(int(data["length"])), color=style.BLACK, linewidth=0.8, linestyle="--"
    )
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, max(steps[-1], 1))
    axes.set_xlabel("training step")
    handles = [
        style.entry("mean of all heads", color=style.BLACK),
        style.entry("head 1 of a block", color=style.VERMILION, linewidth=0.8),
        style.entry("another head", color=style.SKY, linewidth=0.8),
        style.entry("uniform", color=style.BLACK, linewidth=0.8, linestyle="--"),
    ]
    axes.legend(handles=handles, loc="upper left", borderaxespad=0.2, handlelength=1.4)


def draw(data: xr.Dataset) -> Figure:
    """The spectral density at each strength of the sink."""
    figure, axes = style.panels(1, 1, height=3.0)
    _draw_density(axes, data)
    return figure


def caption(data: xr.Dataset) -> str:
    """The text that says how to read the figure."""
    sizes, ends = data.sizes, data["eigenvalue"].sel(edit=SINK)
    width = data["width"] / (ends.sel(end="largest") - ends.sel(end="smallest"))
    return (
        f"GPT-2 with {int(data['parameters'])} parameters, {int(data['sequences'])} sequences of "
        f"{int(data['length'])} tokens; a bias on the first token's scores in every block's first "
        f"head. Density: Lanczos quadrature ({sizes['probe']} probes, {sizes['rank']} products "
        f"each; bands: standard error; kernel: {float(width.mean()):.2%} of the range); below: "
        "extreme eigenvalues. Dots: curvlinops' released product, strongest sink."
    )


Panel = tuple[str, str, Callable[[Axes, xr.Dataset], None]]
GROWN = "ratio to that without edit"
ENDS: list[Panel] = [
    ("largest eigenvalue", GROWN, lambda axes, data: _draw_end(axes, data, "largest")),
    ("most negative eigenvalue", GROWN, lambda axes, data: _draw_end(axes, data, "smallest")),
]
# Runs of older code have no such numbers.
DECOMPOSED: list[Panel] = [
    ("GGN's largest eigenvalue", GROWN, _draw_gauss_newton),
    (
        "functional part of the largest",
        r"part of $v^\top F v$ over $\lambda_{\max}(H)$",
        _draw_parts,
    ),
]
ALONE: list[Panel] = [
    ("rise of the loss", "loss minus that without edit", _draw_loss),
    ("sinks of training", "attention on token 1", _draw_training),
]


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """Both ends of the spectrum beside controls, the GGN, the loss, and training's sinks."""
    decomposed = "ggn" in data
    chosen = ENDS + DECOMPOSED * decomposed + ALONE
    figure, grid = style.panels(len(chosen) // 2, 2, height=2.2)
    for letter, axes, (title, label, drawn) in zip(
        style.letters(), grid.flat, chosen, strict=False
    ):
        drawn(axes, data)
        style.letter(axes, f"({letter}) {title}")
        axes.set_ylabel(label)
    edits = [edit for edit in data["edit"].values if _edited(data, edit).size]
    handles = [style.entry(markersize=3.5, **LOOKS[edit]) for edit in edits]
    handles.append(style.entry("sink, curvlinops as released", **RELEASED | {"markersize": 5}))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    parts = "(c, d) The Gauss-Newton matrix, and what it misses along the top eigenvector. "
    removed = ", or its own sink removed" if NO_SINK in edits else ""
    return figure, (
        f"(a, b) Extreme eigenvalues of {data.sizes['seed']} models over those without an edit: "
        f"with sinks, or edits of the same strength or loss{removed}; thin lines: one model each. "
        f"{parts * decomposed}({'e' if decomposed else 'c'}) The loss. "
        f"({'f' if decomposed else 'd'}) Attention on the first token by training alone."
    )
