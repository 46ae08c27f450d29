"""The lead of the product without the last matrix against the depth, at both sizes."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.low_dimension.reading import Reading
from hessian_papers.studies.correlations.reading import PARAMETRISATIONS, TIMES
from hessian_spectra.pictures import style

COLOURS = (style.VERMILION, style.BLUE)  # of the smaller size and the larger one
MARKERS = ("o", "s")
TIME_LOOKS: dict[str, dict[str, Any]] = {
    "initialisation": {"linestyle": "--", "markerfacecolor": "white"},
    "trained": {"linestyle": "-"},
}
# How far lines stand beside each other.
ASIDE = 0.07


def _looks(reading: Reading) -> dict[tuple[int, str], dict[str, Any]]:
    """How each line is drawn."""
    return {
        (size, time): {"color": colour, "marker": marker, "markersize": 4.0} | TIME_LOOKS[time]
        for size, colour, marker in zip(reading.sizes, COLOURS, MARKERS, strict=True)
        for time in reading.times
    }


def _panel(axes: Axes, reading: Reading, parametrisation: str) -> None:
    for number, ((size, time), look) in enumerate(_looks(reading).items()):
        value, low, high = reading.lead(parametrisation, size, time)
        x = reading["position"] + (number - 1.5) * ASIDE
        axes.plot(x, value, linewidth=0.9, **look)
        axes.vlines(x, low, high, color=look["color"], linewidth=0.9)
    axes.axhline(0, color=style.BLACK, linewidth=0.6)
    drawing.along(axes, reading)


def draw(reading: Reading) -> Figure:
    """A panel for each parametrisation."""
    names = reading.parametrisations
    figure, grid = style.panels(1, len(names), height=2.3, sharey=True, squeeze=False)
    for axes, name, letter in zip(grid[0], names, style.letters(), strict=False):
        _panel(axes, reading, name)
        style.letter(axes, f"({letter}) {PARAMETRISATIONS[name]}")
    grid[0, 0].set_ylabel(r"$r$ of $\widehat{W}_{B}$ − best other $\widehat{W}_{b}$")
    handles = [
        style.entry(f"$D = K = {size}$, {TIMES[time]}", **look)
        for (size, time), look in _looks(reading).items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, columnspacing=1.2)
    return figure


def caption(reading: Reading) -> str:
    """What is to be seen, and how to read it."""
    low, high = reading.sizes
    level = f"{100 * float(reading['confidence']):g} %"
    stopped, diverged = reading["epoch_limit"].max(), reading["diverged"].max()
    ends = "all trained until the smallest learning rate reached its plateau"
    if stopped or diverged:
        ends = f"at most {stopped} of them stopped by the epoch limit, {diverged} diverged"
    return (
        "The lead of the product without the last matrix, Ŵ_B, over the best other product, with "
        f"few inputs and with more, D = K = {low} and {high}: by how much the correlation of its "
        f"squared spectral norm with the sharpness exceeds the other's. Bars: {level} BCa "
        f"intervals of {int(reading['resamples'])} bootstrap resamples of teachers and networks. "
        f"{drawing.networks(reading)}, depths {drawing.listed(reading['position'])}; {ends}."
    )
