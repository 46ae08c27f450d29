"""The Hessian's spectrum of a language model against the strength of an attention sink."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.gpt2.sink_density.reading import SINK, Reading
from hessian_spectra.pictures import style

LOOKS: dict[str, dict[str, Any]] = {
    SINK: {"color": style.VERMILION, "marker": "o"},
    "middle-token": {"color": style.BLUE, "marker": "s"},
    "random-weights": {"color": style.GREY, "marker": "^"},
}
NAMES = {
    SINK: "attention on token 1",
    "middle-token": "on a middle token",
    "random-weights": "random weights, same loss",
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


def _draw_density(axes: Axes, reading: Reading) -> None:
    """The densities of the first network, with the extreme eigenvalues below them."""
    grid, density, error = (reading[name][0] for name in ("grid", "density", "density_error"))
    # What a single eigenvalue adds to the density: below, nothing is.
    single = 1 / (reading["parameters"][0] * reading["width"][0] * np.sqrt(2 * np.pi))
    floor = single.min() / 30
    colours = style.COLOURMAP(np.linspace(0, 1, len(grid)))
    rungs = zip(grid, density, error, colours, reading.mass[0], strict=True)
    for place, (at, middle, half, colour, mass) in enumerate(rungs):
        ends = np.maximum(middle - half, floor), middle + half
        axes.fill_between(at, *ends, color=colour, alpha=0.2, linewidth=0)
        label = f"{mass:.2f}" if place else f"{mass:.2f}, no edit"
        axes.plot(at, np.maximum(middle, floor), color=colour, linewidth=0.9, label=label)
        edges = [reading.of(end)[0, place] for end in ("smallest", "largest")]
        height = floor * (single.min() / floor) ** (0.15 + 0.7 * place / len(grid))
        axes.plot(edges, [height] * 2, linestyle="none", color=colour, **EDGE)
    axes.plot(
        grid[-1], np.maximum(reading.smoothed("pdf", "released_")[0], floor), **RELEASED_DENSITY
    )
    axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    axes.set_xlabel("eigenvalue")
    axes.set_ylabel("density")
    axes.legend(title="attention on token 1", title_fontsize=7, loc="upper right", ncols=2)


def _draw_ladder(axes: Axes, reading: Reading, values: dict[str, np.ndarray]) -> None:
    """A line for each network, and the mean of them, of each edit."""
    for edit, item in values.items():
        look, at = LOOKS[edit], reading.place(edit)
        axes.plot(at.T, item.T, color=look["color"], linewidth=0.5, alpha=0.6)
        axes.plot(at.mean(axis=0), item.mean(axis=0), markersize=3.5, **look)
    axes.set_xlabel("attention on token 1")
    axes.set_xlim(0, 1)


def _draw_end(axes: Axes, reading: Reading, end: str) -> None:
    """The extreme eigenvalues, over their values without an edit."""
    edits = reading.edits
    own = reading.of(end)[:, :1]
    _draw_ladder(axes, reading, {edit: reading.of(end, edit) / own for edit in edits})
    released = (reading.released(end) / own).mean(axis=0)
    axes.plot(reading.mass.mean(axis=0)[[0, -1]], released, **RELEASED)
    axes.axhline(1, color=style.BLACK, linewidth=0.5)


def _draw_loss(axes: Axes, reading: Reading) -> None:
    """The loss that the edits cost."""
    token = [edit for edit in reading.edits if edit != "random-weights"]
    own = reading.of("loss")[:, :1]
    _draw_ladder(axes, reading, {edit: reading.of("loss", edit) - own for edit in token})


def _draw_training(axes: Axes, reading: Reading) -> None:
    """The attention on the first token that training makes, of each head and their mean."""
    steps = reading["training_step"][0]
    heads = reading["training_mass"].transpose(1, 0, 2, 3)  # (m, s, layers, heads)
    edited, others = heads[..., 0], heads[..., 1:]
    for values, colour in ((others, style.SKY), (edited, style.VERMILION)):
        lines = values.reshape(len(steps), -1)
        axes.plot(steps, lines, color=colour, linewidth=0.5, alpha=0.7)
    axes.plot(steps, reading.training_sinks.mean(axis=0), color=style.BLACK)
    axes.axhline(reading.uniform, color=style.BLACK, linewidth=0.8, linestyle="--")
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, steps[-1])
    axes.set_xlabel("training step")
    axes.set_ylabel("attention on token 1")
    handles = [
        style.entry("mean of all heads", color=style.BLACK),
        style.entry("head 1 of a block", color=style.VERMILION, linewidth=0.8),
        style.entry("another head", color=style.SKY, linewidth=0.8),
        style.entry("uniform", color=style.BLACK, linewidth=0.8, linestyle="--"),
    ]
    axes.legend(handles=handles, loc="upper left", borderaxespad=0.2, handlelength=1.4)


def draw(reading: Reading) -> Figure:
    """Density, sinks of training, both ends of the spectrum against the sink, and the loss."""
    figure, grid = style.panels(2, 3, height=2.35)
    place = grid[0, 0].get_gridspec()[0, :2]
    for axes in grid[0, :2]:
        axes.remove()
    density = figure.add_subplot(place)
    _draw_density(density, reading)
    style.letter(density, "(a) spectral density of a network, and its ends")
    _draw_training(grid[0, 2], reading)
    style.letter(grid[0, 2], "(b) sinks of training")
    for axes, end, title in zip(
        grid[1], ("largest", "smallest"), ("(c) largest", "(d) most negative"), strict=False
    ):
        _draw_end(axes, reading, end)
        style.letter(axes, f"{title} eigenvalue")
        axes.set_ylabel("ratio to that without edit")
    _draw_loss(grid[1, 2], reading)
    style.letter(grid[1, 2], "(e) rise of the loss")
    grid[1, 2].set_ylabel("loss less that without edit")
    handles = [style.entry(NAMES[edit], markersize=3.5, **LOOKS[edit]) for edit in reading.edits]
    handles.append(style.entry("sink, curvlinops as released", **RELEASED | {"markersize": 5}))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    count, rungs = reading.mass.shape
    sequences, length = reading["sequences"][0]
    probes, products = reading["nodes"].shape[-2:]
    width = (reading["width"] / (reading.of("largest") - reading.of("smallest"))).mean()
    return (
        "The stronger the attention sink, the larger are the Hessian's extreme eigenvalues on "
        "both sides. "
        f"The Hessian of {count} GPT-2 models of {reading['parameters'][0]} parameters on "
        f"{sequences} sequences of {length} tokens, with a bias on the scores of the first token "
        f"in the first head of every block, {rungs} rungs. (a) Density of the first model by "
        f"stochastic Lanczos quadrature ({probes} probes, {products} products each; bands: "
        f"standard error over the probes; the kernel's standard deviation is {width:.2%} of the "
        "range), and below it the extreme eigenvalues. Dots: the density at the strongest sink by "
        "curvlinops' released product. (b) Attention on the first token that training makes. (c, "
        "d) Extreme eigenvalues over those without an edit; thin lines: one model each. (e) By how "
        "much the loss rises."
    )
