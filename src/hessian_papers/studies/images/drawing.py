"""What figures of image networks share: names of image sets, and columns of epochs."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hessian_papers.studies.images.derived import networks
from hessian_spectra.pictures import style

NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
PARTS = {"raw": "raw inputs", "kaiming": "Kaiming initialisation", "tanh": "Tanh layers"}


def image_set(source: str) -> str:
    """The name of an image set as a title, without the split that a file's name tells.

    Example:
        >>> image_set("fashion-mnist"), image_set("cifar10-train"), image_set("my-own")
        ('Fashion-MNIST', 'CIFAR-10', 'my-own')
    """
    return "CIFAR-10" if source.startswith("cifar10") else NAMES.get(source, source)


def case_name(case: str) -> str:
    """A case by what it lacks of the theory's assumptions.

    Example:
        >>> case_name("raw-kaiming-linear"), case_name("whitened-balanced-linear")
        ('raw inputs, Kaiming initialisation', 'whitened, balanced, linear')
    """
    changed = [PARTS[part] for part in case.split("-") if part in PARTS]
    return ", ".join(changed) or "whitened, balanced, linear"


def plain_logarithm(axes: Axes) -> None:
    """A logarithmic vertical axis with numbers as one writes them: 0.5, 1, 2, 5, 10."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = [float(f"{digit}e{power}") for power in range(-3, 6) for digit in (1, 2, 5)]
    style.mark(axes.yaxis, [tick for tick in ticks if low <= tick <= high])


def by_columns(*columns: Sequence[Line2D]) -> list[Line2D]:
    """The entries of a legend whose columns have different lengths."""
    length, empty = max(map(len, columns)), style.entry(" ", linestyle="none")
    return [handle for column in columns for handle in [*column, *[empty] * (length - len(column))]]


def titles(sets: Iterable[str]) -> list[str]:
    """The title of each image set's column.

    Example:
        >>> titles(["mnist", "my-own"])
        ['(a) MNIST', '(b) my-own']
    """
    letters = zip(style.letters(), sets, strict=False)
    return [f"({letter}) {image_set(source)}" for letter, source in letters]


def columns(data: xr.Dataset, height: float, ratios: Sequence[float]) -> tuple[Figure, Any]:
    """A column of panels against the epoch for each image set.

    Args:
        data: networks through their training.
        height: of a row in inches, on average.
        ratios: the rows' heights, relative to each other.

    Returns:
        The figure and its axes, ``(rows, image sets)``.
    """
    sources = data["source"].values
    figure, grid = style.panels(
        len(ratios),
        len(sources),
        height=height,
        # More than four would be too narrow on a page; the figure is wider for them.
        width=max(min(style.FULL_WIDTH, 2.25 * len(sources) + 2.0), 1.6 * len(sources)),
        sharex="col",
        squeeze=False,
        height_ratios=ratios,
    )
    for axes, title, source in zip(grid.T, titles(sources), sources, strict=True):
        style.letter(axes[0], title)
        of_set = networks(data.sel(source=source))
        last = max(int(network["epoch"].max()) for network in of_set)
        _epoch_axis(axes[-1], last, narrow=len(sources) > 1)
        axes[-1].set_xlabel("epoch")
    return figure, grid


def finish(figure: Figure, grid: Any, rows: Iterable[str], handles: Iterable[Artist]) -> Figure:
    """What each row of columns shows, and the legend above them."""
    for axes, text in zip(grid[:, 0], rows, strict=True):
        axes.set_ylabel(text)
    figure.align_ylabels(grid[:, 0])
    ncols = 4 if grid.shape[1] > 1 else 2
    figure.legend(handles=[*handles], loc="outside upper center", ncols=ncols)
    return figure


def _epoch_axis(axes: Axes, last: int, *, narrow: bool) -> None:
    """Epochs in the logarithm from 1 on, with the start, epoch 0, at a distance of its own."""
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    decades = int(np.ceil(np.log10(max(last, 10))))
    step = 2 if narrow else 1
    style.mark(axes.xaxis, [0, *(10**d for d in range(0, decades + 1, step))], _power)
    axes.set_xlim(-0.3, last * 1.6)


def _power(epoch: float) -> str:
    return f"{epoch:.0f}" if epoch <= 1 else f"$10^{{{np.log10(epoch):.0f}}}$"
