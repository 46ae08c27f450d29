"""Charts in Vega-Lite: one specification for all panels, ``chart.yaml``, and what fills it in.

W&B keeps it as a preset, and fills in the words and columns of each chart; beside a figure it
stands filled in, with the numbers in it, for whatever shows Vega-Lite.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from hessian_papers.drawing.interactive import Chart, in_signs, numbered

# The columns of a row: the curve and what the legend calls it, whether a line, points, a band or a
# threshold is drawn, the number of what is drawn, and a point of it: of a curve, or of an edge.
COLUMNS = ("curve", "legend", "drawn", "piece", "x", "y", "edge")
SCALES = ("linear", "log", "symlog")
# So many rows of a chart, about, at most: the client takes a second for some ten thousand.
ROWS = 1000
# Of a panel in a file, in pixels, and how many stand side by side.
WIDTH, HEIGHT, BESIDE = 320, 200, 2
# Characters of a line of a title, or of the name of an axis.
LINE = 56
# A symmetric axis is linear near zero, up to the smallest size or this share of the largest.
NEAR = 1e-8
# A place of the specification that is filled in: of what, its name, and what stands there else.
_PLACE = re.compile(r"\$\{(string|field):(\w+):?([^}]*)\}")


@cache
def specification() -> Chart:
    """The chart of every panel, with places for its words and columns."""
    chart: Chart = yaml.safe_load(Path(__file__).with_name("chart.yaml").read_text("utf-8"))
    return chart


def pieces(panel: Mapping[str, Any]) -> Iterator[Chart]:
    """The things that a panel draws, each as lists by :data:`COLUMNS`.

    What a logarithmic axis cannot show is left out.

    Args:
        panel: of a figure's series, with names in plain signs.

    Example:
        >>> line = {"name": "squares", "drawn": "line", "x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 4.0]}
        >>> level = {"axis": "y", "value": 3.0}
        >>> drawn = {"curves": [line], "bands": [], "thresholds": [level]}
        >>> for piece in pieces({"scales": ["log", "linear"], **drawn}):
        ...     print([*piece.values()])
        [None, None, 'threshold', 0, [1.0, 2.0], [], [3.0, 3.0]]
        ['squares', 'squares', 'line', 1, [1.0, 2.0], [1.0, 4.0], []]
    """
    edges = [(None, None, "band", band["x"], band["y"]) for band in panel["bands"]]
    names = numbered([curve["name"] or curve["drawn"] for curve in panel["curves"]])
    curves = [
        (name, curve["name"] or curve["drawn"], curve["drawn"], curve["x"], curve["y"])
        for name, curve in zip(names, panel["curves"], strict=True)
    ]
    drawn = [*edges, *_across(panel), *curves]
    for number, (name, legend, kind, *axes) in enumerate(drawn):
        points = [point for point in zip(*axes, strict=True) if _shows(panel, point)]
        x, y = map(list, zip(*points, strict=True)) if points else ([], [])
        ends = (y, []) if name else ([], y)
        yield dict(zip(COLUMNS, (name, legend, kind, number, x, *ends), strict=True))


def rows(panel: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The points of all that a panel draws, as rows of :data:`COLUMNS`, evenly fewer if many."""
    drawn = [*pieces(panel)]
    share = ROWS / max(ROWS, sum(len(piece["x"]) for piece in drawn))
    for piece in drawn:
        *same, x, y, edge = piece.values()
        points = [*zip_longest(x, y, edge)]
        steps = max(int(share * len(points)), 2) - 1
        for place in sorted({step * (len(points) - 1) // steps for step in range(steps + 1)}):
            if points:
                yield (*same, *points[place])


def _shows(panel: Mapping[str, Any], point: Sequence[float]) -> bool:
    """Whether the axes have a place for a point."""
    return all(
        value > 0 or scale != "log" for value, scale in zip(point, panel["scales"], strict=True)
    )


def _across(panel: Mapping[str, Any]) -> Iterator[tuple[None, None, str, list[float], list[float]]]:
    """The two ends of each threshold: as far as there are numbers."""
    for each in panel["thresholds"]:
        values = _numbers(panel, "x" if each["axis"] == "y" else "y")
        if values:
            ends, level = [min(values), max(values)], [each["value"]] * 2
            x, y = (ends, level) if each["axis"] == "y" else (level, ends)
            yield None, None, "threshold", x, y


def _numbers(panel: Mapping[str, Any], axis: str) -> list[float]:
    """All that curves and bands have along an axis, if it can be shown there."""
    log = panel["scales"]["xy".index(axis)] == "log"
    drawn = [*panel["curves"], *panel["bands"]]
    return [value for each in drawn for value in each[axis] if value > 0 or not log]


def words(panel: Mapping[str, Any]) -> dict[str, str]:
    """The words of a panel by the names of their places: what its axes are called, and are like."""
    said = {"title": panel["title"]}
    for axis, scale in zip("xy", panel["scales"], strict=True):
        sizes = [size for size in map(abs, _numbers(panel, axis)) if size > 0] or [1.0]
        near = max(min(sizes), NEAR * max(sizes))
        known = scale if scale in SCALES else SCALES[0]
        said |= {f"{axis}name": panel[axis], f"{axis}scale": known, f"{axis}near": f"{near:g}"}
    return said


def document(panels: Sequence[Chart]) -> Chart:
    """A figure's charts, panel beside panel, with their numbers; empty if there is no curve.

    Args:
        panels: all that the figure's panels draw, see :func:`curves.series`.
    """
    drawn = [in_signs(panel) for panel in panels if panel["curves"]]
    if not drawn:
        return {}
    return {
        "$schema": specification()["$schema"],
        "columns": BESIDE,
        "concat": [_alone(panel) for panel in drawn],
        "resolve": {"scale": {"color": "independent"}},
    }


def _alone(panel: Mapping[str, Any]) -> Chart:
    """The chart of a panel, filled in, with its numbers."""
    said = {name: "\n".join(textwrap.wrap(text, LINE)) for name, text in words(panel).items()}
    chart = filled(specification(), said, {name: name for name in COLUMNS})
    chart |= {"width": WIDTH, "height": HEIGHT, "data": {"values": [*pieces(panel)]}}
    chart["transform"] = [{"flatten": ["x", "y", "edge"]}, *chart["transform"]]
    return {key: value for key, value in chart.items() if key != "$schema"}


def filled(part: Any, said: Mapping[str, str], fields: Mapping[str, str]) -> Any:
    """A part of the specification with words and columns in their places, as W&B fills them in.

    What shows a column that is not there is left out; words of several lines become as many.

    Args:
        part: of the specification.
        said: words by the names of their places.
        fields: columns by the names of theirs.

    Example:
        >>> axis = {"field": "${field:x}", "title": "${string:xname}"}
        >>> filled(axis, {"xname": "step"}, {"x": "t"}), filled(axis, {"xname": "step"}, {})
        ({'field': 't', 'title': 'step'}, {})
    """
    if isinstance(part, Mapping):
        known = {key: filled(value, said, fields) for key, value in part.items()}
        if "constant" in known:
            known["constant"] = float(known["constant"])
        is_there = known.get("field") != ""
        return {key: value for key, value in known.items() if is_there and value != {}}
    if isinstance(part, list):
        return [each for each in (filled(value, said, fields) for value in part) if each != {}]
    if not isinstance(part, str):
        return part
    given = {"string": said, "field": fields}
    text = _PLACE.sub(lambda place: given[place[1]].get(place[2], place[3]), part)
    return text.split("\n") if "\n" in text else text
