"""The Hessian's spectrum of a language model against the strength of an attention sink."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.drawing.variables import Panel, named, picture
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
    "softmax": {"color": style.VERMILION, "marker": "o", "label": "softmax"},
    "functional": {"marker": "_", "linestyle": "--", "label": "all operations"},
    "released": style.EXACT_RING
    | {"marker": "D", "markersize": 5, "label": "sink, curvlinops as released"},
    "others": {"color": style.SKY, "label": "another head"},
    "first": {"color": style.VERMILION, "label": "head 1 of a block"},
    "mean": {"label": "mean of all heads"},
    "uniform": {"label": "uniform"},
    "one": {"label": "", "linewidth": 0.5, "linestyle": "-"},
}
ONE = xr.DataArray(1.0, name="one")
ATTENTION, GROWN = "attention on token 1", "ratio to that without edit"
RELEASED_DENSITY = style.look(
    style.BLACK, label="as released", linestyle=(0, (1, 3)), linewidth=1.4
)
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


def _edited(data: xr.Dataset) -> xr.DataArray:
    """Which networks have an edit, by ``seed`` and ``edit``: some have no sink to remove."""
    return data["strength"].notnull().any("rung")


def _over_attention(data: xr.Dataset, values: xr.DataArray, name: str) -> xr.DataArray:
    """Numbers over the attention on token 1; a control stands beside the last sink."""
    mass = ladder(data["mass"])
    beside = mass.where(mass["edit"] == NO_SINK, mass.sel(edit=SINK))
    known = {dim: values[dim] for dim in ("edit", "seed", "rung") if dim in values.dims}
    place, has = (each.sel(edit=SINK) if "edit" not in known else each.sel(edit=known["edit"])
                  for each in (beside, _edited(data)))  # fmt: skip
    line = values.where(has).transpose(..., "rung")
    return named(line.assign_coords({ATTENTION: place.where(has & line.notnull())}), name)


def _end(data: xr.Dataset, end: str) -> list[xr.DataArray]:
    """An extreme eigenvalue over its value without an edit, and by the released product."""
    values = ladder(data["eigenvalue"].sel(end=end))
    own = values.sel(edit=SINK).isel(rung=0)
    released = (data["released_eigenvalue"].sel(end=end) / own).mean("seed").dropna("rung")
    mass = data["mass"].sel(edit=SINK, rung=released["rung"]).mean("seed")
    released = released.assign_coords({ATTENTION: mass}).rename("released")
    return [_over_attention(data, values / own, GROWN), released, ONE]


def _training(data: xr.Dataset) -> list[xr.DataArray]:
    """The attention on the first token that training makes, of each head and their mean."""
    heads = named(data["training_mass"], ATTENTION)
    uniform = xr.DataArray(uniform_mass(int(data["length"])), name="uniform")
    mean = heads.mean(("seed", "layer", "head")).rename("mean")
    others = heads.isel(head=slice(1, None)).rename("others")
    return [others, heads.isel(head=[0]).rename("first"), mean, uniform]


def _from_the_start(axes: Axes, last: int) -> None:
    """Steps in the logarithm, with the start, step 0."""
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, max(last, 1))


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


def controls(data: xr.Dataset) -> tuple[Figure, str]:
    """Both ends of the spectrum beside controls, the GGN, the loss, and training's sinks."""
    decomposed, loss = "ggn" in data, ladder(data["loss"])
    panels = [
        Panel("largest eigenvalue", ATTENTION, _end(data, "largest")),
        Panel("most negative eigenvalue", ATTENTION, _end(data, "smallest")),
    ]
    if decomposed:  # runs of older code have no such numbers
        grown = _over_attention(data, data["ggn"] / data["ggn"].isel(rung=0), GROWN)
        softmax = data["operation_part"].sel(operation="softmax", drop=True).rename("softmax")
        name = r"part of $v^\top F v$ over $\lambda_{\max}(H)$"
        both = [_over_attention(data, part, name) for part in (softmax, data["functional"])]
        panels += [
            Panel("GGN's largest eigenvalue", ATTENTION, [grown.rename(SINK), ONE]),
            Panel("functional part of the largest", ATTENTION, [*both, ONE - 1]),
        ]
    rise = (loss - loss.sel(edit=SINK).isel(rung=0)).drop_sel(edit="random-weights")
    rise = _over_attention(data, rise, "loss minus that without edit")
    start = partial(_from_the_start, last=int(data["step"].max()))
    panels += [
        Panel("rise of the loss", ATTENTION, [rise]),
        Panel("sinks of training", "step", _training(data), start),
    ]
    figure = picture(panels, LOOKS, columns=2)
    parts = "(c, d) The Gauss-Newton matrix, and what it misses along the top eigenvector. "
    edits = data["edit"].values[_edited(data).any("seed").values]
    removed = ", or its own sink removed" if NO_SINK in edits else ""
    return figure, (
        f"(a, b) Extreme eigenvalues of {data.sizes['seed']} models over those without an edit: "
        f"with sinks, or edits of the same strength or loss{removed}; thin lines: one model each. "
        f"{parts * decomposed}({'e' if decomposed else 'c'}) The loss. "
        f"({'f' if decomposed else 'd'}) Attention on the first token by training alone."
    )
