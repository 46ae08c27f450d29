"""What figures of ensembles share: the horizontal axis, the setting, how training ended."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from hessian_papers.studies.correlations.reading import ACTIVATIONS, EnsembleReading
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


def _is_logarithmic(reading: EnsembleReading) -> bool:
    positions = reading["position"]
    return reading.along == "size" and bool(positions[-1] >= 10 * positions[0])


def along(axes: Axes, reading: EnsembleReading) -> None:
    """Set the horizontal axis: sizes logarithmically where they span a decade, or depths."""
    positions = reading["position"]
    logarithmic = _is_logarithmic(reading)
    ticks = positions[:: max(len(positions) // 5, 1)].tolist()
    if logarithmic:
        axes.set_xscale("log")
        ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    first, last = positions[0], positions[-1]
    style.mark(axes.xaxis, [p for p in ticks if first <= p <= last])
    depth = reading.along == "depth"
    axes.set_xlabel("depth $B$ (layers)" if depth else "input and output size $D$")
    borders = _borders(positions, logarithmic=logarithmic)
    room = 0.2 if depth else 0.0  # lines stand beside each other there
    axes.set_xlim(borders[0] - room, borders[-1] + room)


def outcome_strip(axes: Axes, reading: EnsembleReading, parametrisation: str) -> None:
    """The shares of networks that did not end on their plateau, at the foot of a panel.

    A bar of the strip's height stands for all networks.
    """
    borders = _borders(reading["position"], logarithmic=_is_logarithmic(reading))
    floor = np.zeros(len(borders) - 1)
    for name, (_, colour) in OUTCOMES.items():
        share = STRIP * reading.of(parametrisation, name) / reading["networks"]
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
    axes: Axes, reading: EnsembleReading, parametrisation: str, x: np.ndarray, line: Any, look: Any
) -> None:
    """Hollow markers over those of a line's points that most networks did not come to.

    Args:
        axes: the panel.
        reading: of the figure.
        parametrisation: of the panel.
        x: where the points are drawn, ``(d,)``.
        line: their ``position`` and ``value``, ``(d,)`` each.
        look: of the line.
    """
    stopped = np.isin(line.position, reading.unfinished(parametrisation))
    if len(x) <= MARKED and stopped.any():
        kept = {name: look[name] for name in ("color", "marker")}
        axes.plot(x[stopped], line.value[stopped], **kept | HOLLOW)


def unfinished_handles(reading: EnsembleReading) -> list[Any]:
    """A legend's entry for hollow markers, if there are any."""
    if not any(len(reading.unfinished(name)) for name in reading.parametrisations):
        return []
    label = "most networks stopped by the epoch limit"
    return [style.entry(label, color=style.GREY, marker="o", **HOLLOW)]


def foot(reading: EnsembleReading, lowest: float, top: float, room: float = 0.0) -> float:
    """The lower end of a vertical axis on which the strip, if there is one, fits below.

    Args:
        reading: of the figure.
        lowest: what is drawn.
        top: the upper end.
        room: what is left below without a strip, as a part of the panel.
    """
    strip = STRIP if outcome_handles(reading) else room
    return (lowest - strip * top) / (1 - strip)


def outcome_handles(reading: EnsembleReading) -> list[Any]:
    """Legend entries for what there is in the strips."""
    return [
        Patch(color=colour, label=f"share {label}")
        for name, (label, colour) in OUTCOMES.items()
        if reading[name].any()
    ]


def outcome_text(reading: EnsembleReading) -> str:
    """How many networks did not end on their plateau, as a sentence."""
    total = int(reading["networks"]) * reading["diverged"].size
    counts = {name: int(reading[name].sum()) for name in OUTCOMES}
    if not any(counts.values()):
        return f"All {total} networks trained until the smallest learning rate reached its plateau."
    return (
        f"Of {total} networks {counts['epoch_limit']} were stopped by the epoch limit and "
        f"{counts['diverged']} diverged (left out after training); the strip at the foot of the "
        "panels shows their share, its full height standing for all."
    )


def networks(reading: EnsembleReading) -> str:
    """How many networks of which kind there are, as text."""
    number, width = int(reading["networks"]), int(reading["width"])
    teachers = int(reading["teachers"])
    of = f"{teachers} teachers" if teachers > 1 else "one teacher"
    return f"{number} {ACTIVATIONS[reading.activation]} networks of width {width} a point, of {of}"


def setting(reading: EnsembleReading) -> str:
    """The depths and sizes of the networks, as text."""
    positions, fixed = listed(reading["position"]), reading.fixed
    if reading.along == "size":
        return f"depth {fixed}, D = K = {positions}"
    return f"D = K = {fixed}, depths {positions}"


def listed(positions: np.ndarray) -> str:
    """Sizes or depths as text, a long series by its ends.

    Example:
        >>> listed(np.array([2, 3, 4])), listed(np.arange(1, 101))
        ('2, 3, 4', '1 to 100 (100 values)')
    """
    if len(positions) <= 10:
        return ", ".join(map(str, positions.tolist()))
    return f"{positions[0]} to {positions[-1]} ({len(positions)} values)"
