"""The trace of the Hessian through training: random probes, and equation (7) on top."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hessian_papers.studies.images.derived import networks
from hessian_papers.studies.images.drawing import columns, finish, titles
from hessian_papers.studies.images.trace_through_training.derived import standardised
from hessian_spectra.pictures import style

POINT: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.5,
    "color": style.BLACK,
}
BARS: dict[str, Any] = {"elinewidth": 0.9, "capsize": 2}
EQUATION: dict[str, Any] = {"color": style.COLOURS["trace"], **style.EXACT}
LOSS: dict[str, Any] = {
    "color": style.COLOURS["loss"],
    "linewidth": 1.0,
    "marker": "o",
    "markersize": 2,
}
FLOOR: dict[str, Any] = {"color": style.GREEN, "linestyle": "--", "linewidth": 1.0}
# A Gaussian error is within two standard errors 95 times in 100.
BAND = 2.0


def _draw_trace(axes: Axes, network: xr.Dataset) -> None:
    bars = network["standard_error"]
    axes.errorbar(network["epoch"], network["estimate"], bars, **POINT, **BARS)
    axes.plot(network["epoch"], network["trace"], zorder=3, **EQUATION)


def _draw_loss(axes: Axes, network: xr.Dataset) -> None:
    axes.plot(network["epoch"], network["loss"], **LOSS)
    axes.axhline(float(network["floor"]), **FLOOR)
    axes.set_ylim(bottom=0)


def _draw_differences(axes: Axes, data: xr.Dataset) -> None:
    look = POINT | {"color": style.COLOURS["error"]}
    for network in networks(data):
        axes.plot(network["epoch"], standardised(network), **look)
    axes.axhspan(-BAND, BAND, color=style.GREY, alpha=0.2, linewidth=0)
    axes.axhline(0, **EQUATION)
    limit = max(3.0, 1.1 * float(abs(standardised(data)).fillna(0).max()))
    axes.set_ylim(-limit, limit)


def draw(data: xr.Dataset) -> Figure:
    """For each image set the trace, the loss, and the difference in standard errors."""
    figure, grid = columns(data, 1.6, (1.5, 0.65, 0.9))
    for (trace, loss, difference), source in zip(grid.T, data["source"].values, strict=True):
        of_set = data.sel(source=source)
        for network in networks(of_set):
            _draw_trace(trace, network)
            _draw_loss(loss, network)
        _draw_differences(difference, of_set)
    handles = [
        style.entry("Hutchinson ± standard error", **POINT),
        style.entry("equation (7)", **EQUATION),
        style.entry("loss of least squares", **FLOOR),
        Patch(color=style.GREY, alpha=0.2, linewidth=0, label="±2 standard errors"),
    ]
    rows = ("trace of the Hessian", "loss", "difference /\nstandard error")
    return finish(figure, grid, rows, handles)


def _size(data: xr.Dataset) -> str:
    """How many images a set has, of how many features, and whether they leave nothing to chance."""
    known = standardised(data).notnull().any()
    exact = "" if known else ", of which all random probes give the same trace"
    first = networks(data)[0]
    return f"{int(first['samples'])} images of {int(first['features'])} independent features{exact}"


def caption(data: xr.Dataset) -> str:
    """What is to be seen, and how to read it."""
    sources = data["source"].values
    sizes = (_size(data.sel(source=source)) for source in sources)
    texts = map("{}, {}".format, titles(sources), sizes)
    return (
        "Formula and random probes give the same trace from the first epoch to the last. "
        "Trace of the Hessian of deep linear networks on whitened images at epochs of their "
        "training, by Hutchinson's method (points; bars: one standard error) and by eq. (7) (line, "
        f"on top). {'; '.join(texts)}. "
        "Equation (7) has no assumption on the loss: what the Hessian has beside its Gauss-Newton "
        "part has trace 0, so they agree early, when the loss is high, as well as late. Dashed: "
        "the loss of least squares, below which no linear network comes."
    )
