"""The figure of an inspection: density and top eigenvalues, the gradient's place, the layers."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hessian_spectra.pictures import style
from hessian_spectra.pictures.files import rendered
from hessian_spectra.pictures.spectra import draw_density

# The values of each quantity by its key, empty where there are none.
Values = Mapping[str, Mapping[str, Any]]

# More layers than this would not be told apart.
_ROWS = 24


def drawn(values: Values) -> dict[str, bytes]:
    """The figure as PNG and PDF, with a panel for each quantity that is there.

    Args:
        values: of the quantities ``density``, ``top``, ``gradient``, ``layers`` and
            ``sharpness_hessian``, as an inspection finds them.

    Returns:
        The files' contents by suffix, none if there is nothing to draw.
    """
    panels = [draw for key, draw in _PANELS.items() if values[key]]
    if not panels:
        return {}
    figure, axes = _side_by_side(len(panels), len(_PANELS))
    for name, place, draw in zip(style.letters(), axes, panels, strict=False):
        style.letter(place, f"({name}) {draw(place, values)}")
    return rendered(figure)


def drawn_together(values: Mapping[str, Values]) -> dict[str, bytes]:
    """The figure of several checkpoints: densities, top eigenvalues and layers side by side.

    Args:
        values: as :func:`drawn` takes them, by the names of the checkpoints.

    Returns:
        The files' contents by suffix, none if there is nothing to draw.
    """
    panels = [
        draw for key, draw in _TOGETHER.items() if any(each.get(key) for each in values.values())
    ]
    if not panels:
        return {}
    figure, axes = _side_by_side(len(panels), len(_TOGETHER))
    colours = style.COLOURMAP([place / max(1, len(values) - 1) for place in range(len(values))])
    for name, place, draw in zip(style.letters(), axes, panels, strict=False):
        for colour, (label, each) in zip(colours, values.items(), strict=False):
            draw(place, each, colour, label)
        style.letter(place, f"({name}) {place.get_title()}")
        place.set_title("")
    axes[0].legend(loc="best")
    return rendered(figure)


def _side_by_side(count: int, most: int) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels of those that there may be."""
    width = style.FULL_WIDTH * count / most
    figure, axes = style.panels(1, count, height=2.4, width=width, squeeze=False)
    return figure, list(axes[0])


def _recorded(values: Mapping[str, Any]) -> SimpleNamespace:
    """A density as an inspection keeps it, with two standard errors on either side."""
    density, error = (np.array(values[name]) for name in ("density", "standard_error"))
    ends = np.maximum(density - 2 * error, 0), density + 2 * error
    return SimpleNamespace(**{**values, "density": density}, interval=lambda level: ends)


def _name_rows(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """The names of layers, one below the other."""
    axes.set_yticks(range(len(rows)), _short([row["name"] for row in rows]))
    axes.tick_params(axis="y", labelsize=7 if len(rows) <= 12 else 5)
    # Few layers stand close to each other.
    axes.set_ylim(max(len(rows), 5) - 0.5, -0.5)


def _densities(axes: Axes, values: Values, colour: Any, label: str) -> None:
    if values["density"]:
        draw_density(_recorded(values["density"]), axes, color=colour, label=label)
    axes.set_title("spectral density")


def _tops(axes: Axes, values: Values, colour: Any, label: str) -> None:
    eigenvalues = values["top"].get("eigenvalues", [])
    axes.plot(
        range(1, len(eigenvalues) + 1), eigenvalues, "o-", markersize=2.5, color=colour, label=label
    )
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set(xlabel="rank", ylabel="eigenvalue", title="top eigenvalues")


def _layers_together(axes: Axes, values: Values, colour: Any, label: str) -> None:
    # The first layers of a deep network, the same of each checkpoint.
    shown = values["layers"].get("layers", [])[:_ROWS]
    sharpness = [row["sharpness"] for row in shown]
    axes.plot(sharpness, range(len(shown)), "o", markersize=4, color=colour, label=label)
    if shown:
        _name_rows(axes, shown)
    axes.set(xlabel="sharpness", title="layers")


_TOGETHER: dict[str, Callable[[Axes, Values, Any, str], None]] = {
    "density": _densities,
    "top": _tops,
    "layers": _layers_together,
}


def _density(axes: Axes, values: Values) -> str:
    """The density on a logarithmic axis, and a tick for each of the top eigenvalues."""
    draw_density(_recorded(values["density"]), axes, outliers=values["top"].get("eigenvalues"))
    return "spectral density"


def _gradient(axes: Axes, values: Values) -> str:
    """The share of the gradient in the first eigenvectors, one after the other."""
    shares = values["gradient"]["shares"]
    places = range(1, len(shares) + 1)
    sums = [sum(shares[:place]) for place in places]
    axes.bar(places, shares, color=style.SKY, width=0.7, label="each")
    axes.plot(places, sums, color=style.BLACK, marker="o", markersize=2.5, label="together")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set(ylim=(0, 1.05), xlabel="eigenvector, from the top")
    axes.set_ylabel("share of its squared length")
    axes.legend(loc="best")
    return "gradient"


def _layers(axes: Axes, values: Values) -> str:
    """Sharpness of each layer beside that of the whole."""
    rows = values["layers"]["layers"]
    sharpest = sorted(row["sharpness"] for row in rows)[-_ROWS:]
    shown = [row for row in rows if row["sharpness"] >= sharpest[0]]
    sharpness = [row["sharpness"] for row in shown]
    places = range(len(shown))
    axes.hlines(places, 0, sharpness, color=style.GREY, linewidth=0.6)
    axes.plot(sharpness, places, linestyle="none", marker="o", markersize=4, color=style.GREEN)
    whole = values["sharpness_hessian"].get("sharpness")
    if whole is not None:
        axes.axvline(whole, color=style.BLACK, linewidth=0.8, linestyle="--")
    if sharpest[0] > 0 and sharpest[-1] > 50 * sharpest[0]:
        axes.set_xscale("log")
    _name_rows(axes, shown)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("sharpness")
    name = "layers" if len(shown) == len(rows) else f"{len(shown)} sharpest layers"
    return name if whole is None else f"{name}; dashed: all"


def _short(names: Sequence[str]) -> list[str]:
    """Names of modules without the ones that all of them are in.

    Example:
        >>> _short(["net.0.first", "net.0.last"]), _short(["", "inner"])
        (['first', 'last'], ['(model)', 'inner'])
    """
    paths = [name.split(".") for name in names]
    shared = 0
    # The last part of a name stays, also of a single one.
    while all(len(path) > shared + 1 and path[shared] == paths[0][shared] for path in paths):
        shared += 1
    return [".".join(path[shared:]) or "(model)" for path in paths]


_PANELS: dict[str, Callable[[Axes, Values], str]] = {
    "density": _density,
    "gradient": _gradient,
    "layers": _layers,
}
