"""Which marks a figure's caption names that the figure does not draw.

A caption says "dashed", "rings" or "green"; the reader looks for it. Words that are no marks here,
such as the line that one reads, are not looked for.
"""

import colorsys
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle


class Mark(NamedTuple):
    """The look of an artist that a panel draws, as far as a reader can tell it."""

    kind: str
    dashes: str
    marker: str
    hollow: bool
    colours: tuple[tuple[float, ...], ...]


def marks(figure: Figure) -> Iterator[Mark]:
    """All that the panels draw: lines, points, bands, bars, and not the keys of legends."""
    for axes in figure.axes:
        for artist in axes.get_children():
            if artist.get_visible() and artist not in (axes.patch, *axes.spines.values()):
                yield from _marks(artist)


def _marks(artist: Artist) -> Iterator[Mark]:
    if isinstance(artist, Line2D):
        if not np.isfinite(np.asarray(artist.get_ydata(), dtype=float)).any():
            return
        style, marker = str(artist.get_linestyle()), str(artist.get_marker())
        dashes = "" if style.lower() in ("none", "", " ") else style
        face = artist.get_markerfacecolor()
        hollow = isinstance(face, str) and face.lower() in ("none", "white", "w")
        colours = (artist.get_color(), artist.get_markeredgecolor())
        marker = "" if marker in ("None", "none", "", " ") else marker
        yield Mark("line" if dashes else "points", dashes, marker, hollow, _rgba(*colours))
    elif isinstance(artist, LineCollection):
        if len(artist.get_segments()):
            yield Mark("bars", _dashes(artist), "", False, _rgba(*artist.get_edgecolor()))
    elif isinstance(artist, PathCollection):
        faces = artist.get_facecolor()
        hollow = not len(faces) or bool((np.asarray(faces)[:, 3] == 0).any())
        colours = _rgba(*faces, *artist.get_edgecolor())
        if len(artist.get_offsets()):
            yield Mark("points", "", "o", hollow, colours)
    elif isinstance(artist, Collection):
        kind = "band" if isinstance(artist, PolyCollection) else "image"
        if artist.get_paths():
            yield Mark(kind, "", "", False, _rgba(*artist.get_facecolor()))
    elif isinstance(artist, Patch):
        kind = "rectangle" if isinstance(artist, Rectangle) else "band"
        yield Mark(kind, "", "", False, _rgba(artist.get_facecolor(), artist.get_edgecolor()))


def _dashes(lines: LineCollection) -> str:
    """The style of a collection's lines, as a line's: it keeps the lengths of strokes alone."""
    (_, strokes), *_ = lines.get_linestyle()
    if strokes is None:
        return "-"
    return ":" if strokes[0] <= 1.5 * lines.get_linewidth()[0] else "--"


def _rgba(*colours: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(to_rgba(colour) for colour in colours)


def _has_hue(low: float, high: float) -> Callable[[Mark], bool]:
    """Whether something is of a colour, by its hue in degrees."""

    def fits(mark: Mark) -> bool:
        for red, green, blue, alpha in mark.colours:
            hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
            degrees = {360 * hue, 360 * hue - 360}
            is_coloured = alpha > 0 and saturation > 0.2 and 0.1 < light < 0.97
            if is_coloured and any(low <= degree <= high for degree in degrees):
                return True
        return False

    return fits


def _is_grey(low: float, high: float) -> Callable[[Mark], bool]:
    return lambda mark: any(
        alpha > 0 and max(rgb) - min(rgb) < 0.08 and low <= max(rgb) <= high
        for *rgb, alpha in mark.colours
    )


# What a caption calls a mark, and what then has to be there.
NAMED: dict[str, Callable[[Mark], bool]] = {
    r"dashed": lambda mark: mark.dashes in ("--", "dashed", "-.", "dashdot"),
    r"dotted": lambda mark: mark.dashes in (":", "dotted"),
    r"rings?": lambda mark: mark.marker == "o" and mark.hollow,
    r"hollow": lambda mark: bool(mark.marker) and mark.hollow,
    r"filled": lambda mark: bool(mark.marker) and not mark.hollow,
    r"diamonds?": lambda mark: mark.marker in ("D", "d"),
    r"crosses": lambda mark: mark.marker in ("x", "X", "+", "P"),
    r"triangles?": lambda mark: mark.marker in ("^", "v", "<", ">"),
    r"bands?|shaded": lambda mark: mark.kind in ("band", "rectangle"),
    r"bars": lambda mark: mark.kind in ("bars", "rectangle"),
    r"green": _has_hue(90, 175),
    r"blue": _has_hue(190, 255),
    r"red": _has_hue(-30, 29),
    r"grey": _is_grey(0.2, 0.96),
    r"black": _is_grey(0.0, 0.2),
}


def unmatched(figure: Figure) -> list[str]:
    """The entries of a figure's legends whose line, marker or area no panel draws.

    Example:
        >>> figure = Figure()
        >>> axes = figure.subplots()
        >>> _ = axes.plot([1, 2], [1, 2], "k--", label="bound")
        >>> _ = axes.legend(handles=[*axes.lines, Line2D([], [], color="C1", label="theory")])
        >>> unmatched(figure)
        ['theory']
    """
    drawn = list(marks(figure))
    missing = []
    for legend in (*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            own = [*_marks(handle)]
            if (
                own
                and text.get_text().strip()
                and not any(_matches(mark, own[0]) for mark in drawn)
            ):
                missing.append(text.get_text())
    return missing


def _matches(mark: Mark, key: Mark) -> bool:
    """Whether something drawn looks as a key: of its colour, or as a grey or black key's shape.

    A key without a colour says what a dash or a marker means in whatever colour, and a key with one
    what the colour means.
    """
    if key.kind in ("band", "rectangle"):
        return mark.kind in ("band", "rectangle", "image")
    if any(max(rgb) - min(rgb) > 0.08 for *rgb, _ in key.colours):
        return bool({colour[:3] for colour in mark.colours} & {each[:3] for each in key.colours})
    dashes = mark.dashes == key.dashes or (mark.kind == "bars" and bool(key.dashes))
    marker = mark.marker == key.marker or (mark.kind == "points" and not mark.dashes)
    return (dashes and bool(key.dashes)) or (marker and bool(key.marker))


def undrawn(figure: Figure, caption: str) -> list[str]:
    """The marks that a caption names and no panel draws.

    Example:
        >>> figure = Figure()
        >>> _ = figure.subplots().plot([1, 2], [1, 2], "k--")
        >>> undrawn(figure, "Dashed: the bound; rings: what is measured.")
        ['rings']
    """
    drawn = list(marks(figure))
    named = {
        match[0].lower(): fits
        for pattern, fits in NAMED.items()
        for match in re.finditer(rf"\b({pattern})\b", caption, re.IGNORECASE)
    }
    return sorted(word for word, fits in named.items() if not any(map(fits, drawn)))
