"""What figures of ensembles share: the horizontal axis, the setting, how training ended."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from hessian_papers.studies.correlations.ensembles import ACTIVATIONS, positions, unfinished
from hessian_spectra.pictures import style

# How high the strip is that shows how training ended, as a part of the panel.
STRIP = 0.04
# Points of a line with markers, at most; and where most networks were stopped.
MARKED = 25
HOLLOW: dict[str, Any] = {
    "linestyle": "none",
    "markersize": 3.2,
    "markerfacecolor": "white",
    "zorder": 3,
}
OUTCOMES = {
    "epoch_limit": ("stopped by the epoch limit", style.GREY),
    "diverged": ("diverged, left out", style.BLACK),
}


def _borders(positions: np.ndarray, *, logarithmic: bool) -> np.ndarray:
    """Where the positions' neighbourhoods meet, ``(x + 1,)``: halfway on the axis."""
    places = np.log(positions) if logarithmic else positions.astype(float)
    middles = (places[1:] + places[:-1]) / 2
    # Beyond the first and the last position a quarter of a unit is enough.
    ends = places[[0, -1]] + np.array([-0.25, 0.25])
    borders = np.concatenate([ends[:1], middles, ends[1:]])
    return np.asarray(np.exp(borders) if logarithmic else borders)


def squeezed(data: xr.Dataset) -> xr.Dataset:
    """The data set of a study along one axis, without the axis that has a single label."""
    return data.squeeze("depth" if data["along"] == "size" else "size")


def _is_logarithmic(data: xr.Dataset) -> bool:
    x = positions(data).values
    return data["along"].item() == "size" and bool(x[-1] >= 10 * x[0])


def along(axes: Axes, data: xr.Dataset) -> None:
    """Set the horizontal axis: sizes logarithmically where they span a decade, or depths."""
    x, logarithmic = positions(data).values, _is_logarithmic(data)
    ticks = x[:: max(len(x) // 5, 1)].tolist()
    if logarithmic:
        axes.set_xscale("log")
        ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    style.mark(axes.xaxis, [p for p in ticks if x[0] <= p <= x[-1]])
    depth = data["along"].item() == "depth"
    axes.set_xlabel("depth $B$ (layers)" if depth else "input and output size $D$")
    borders = _borders(x, logarithmic=logarithmic)
    room = 0.2 if depth else 0.0  # lines stand beside each other there
    axes.set_xlim(borders[0] - room, borders[-1] + room)


def outcome_strip(axes: Axes, data: xr.Dataset) -> None:
    """The shares of networks that did not end on their plateau, at the foot of a panel.

    A bar of the strip's height stands for all networks.

    Args:
        axes: the panel.
        data: of its parametrisation, along one axis.
    """
    borders = _borders(positions(data).values, logarithmic=_is_logarithmic(data))
    floor = np.zeros(len(borders) - 1)
    for name, (_, colour) in OUTCOMES.items():
        share = STRIP * data[name].values / data["networks"].item()
        axes.bar(
            borders[:-1],
            share,
            width=np.diff(borders),
            bottom=floor,
            align="edge",
            color=colour,
            linewidth=0,
            transform=axes.get_xaxis_transform(),
            zorder=0,
        )
        floor = floor + share


def mark_unfinished(
    axes: Axes, data: xr.Dataset, line: xr.DataArray, aside: float, look: Any
) -> None:
    """Hollow markers over those of a line's points that most networks did not come to.

    Args:
        axes: the panel.
        data: of its parametrisation, along one axis.
        line: values at some of the positions.
        aside: how far beside them they are drawn.
        look: of the line.
    """
    x = line[data["along"].item()]
    stopped = x.isin(unfinished(data)).values
    if len(x) <= MARKED and stopped.any():
        kept = {name: look[name] for name in ("color", "marker")}
        axes.plot(x[stopped] + aside, line[stopped], **kept | HOLLOW)


def unfinished_handles(data: xr.Dataset) -> list[Any]:
    """A legend's entry for hollow markers, if there are any."""
    if not len(unfinished(data)):
        return []
    label = "most networks stopped by the epoch limit"
    return [style.entry(label, color=style.GREY, marker="o", **HOLLOW)]


def foot(data: xr.Dataset, lowest: float, top: float, room: float = 0.0) -> float:
    """The lower end of a vertical axis on which the strip, if there is one, fits below.

    Args:
        data: of the figure.
        lowest: what is drawn.
        top: the upper end.
        room: what is left below without a strip, as a part of the panel.
    """
    strip = STRIP if outcome_handles(data) else room
    return (lowest - strip * top) / (1 - strip)


def outcome_handles(data: xr.Dataset) -> list[Any]:
    """Legend entries for what there is in the strips."""
    return [
        Patch(color=colour, label=f"share {label}")
        for name, (label, colour) in OUTCOMES.items()
        if data[name].any()
    ]


def outcome_text(data: xr.Dataset) -> str:
    """How many networks did not end on their plateau, as a sentence."""
    total = int(data["networks"]) * data["diverged"].size
    counts = {name: int(data[name].sum()) for name in OUTCOMES}
    if not any(counts.values()):
        return f"All {total} networks trained until the smallest learning rate reached its plateau."
    return (
        f"Of {total} networks {counts['epoch_limit']} were stopped by the epoch limit and "
        f"{counts['diverged']} diverged (left out after training); the strip at the foot of the "
        "panels shows their share, its full height standing for all."
    )


def networks(data: xr.Dataset) -> str:
    """How many networks of which kind there are, as text."""
    number, width, teachers = int(data["networks"]), int(data["width"]), data.sizes["teacher"]
    of = f"{teachers} teachers" if teachers > 1 else "one teacher"
    kind = ACTIVATIONS[data["activation"].item()]
    return f"{number} {kind} networks of width {width} a point, of {of}"


def intervals(data: xr.Dataset) -> str:
    """Which intervals they are, as text."""
    level, resamples = 100 * float(data["confidence"]), int(data["resamples"])
    return f"{level:g} % BCa intervals of {resamples} bootstrap resamples of teachers and networks"


def setting(data: xr.Dataset) -> str:
    """The depths and sizes of the networks, as text."""
    depths, sizes = listed(data["depth"].values), listed(data["size"].values)
    if data["along"] == "size":
        return f"depth {depths}, D = K = {sizes}"
    return f"D = K = {sizes}, depths {depths}"


def listed(labels: np.ndarray) -> str:
    """Sizes or depths as text, a long series by its ends.

    Example:
        >>> listed(np.array([2, 3, 4])), listed(np.arange(1, 101))
        ('2, 3, 4', '1 to 100 (100 values)')
    """
    if len(labels) <= 10:
        return ", ".join(map(str, labels.tolist()))
    return f"{labels[0]} to {labels[-1]} ({len(labels)} values)"
