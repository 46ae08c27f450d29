"""The numbers of a figure as a script: what the page's charts draw, small enough to load."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hessian_papers.drawing.curves import FEWEST, Chart
from hessian_papers.formulas import plain

# Bytes of a script, at most.
LARGEST = 60_000
# The function of the page that a script calls with its numbers.
RECEIVER = "showNumbers"
# A step of thinning leaves so many of the points.
_LEFT = 0.8

_LETTERS = {
    "alpha": "α", "beta": "β", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "eta": "η", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "phi": "φ", "pi": "π", "rho": "ρ", "sigma": "σ", "theta": "θ",
    "zeta": "ζ", "pm": "±", "times": "×", "cdot": "·", "leq": "≤", "geq": "≥", "sum": "Σ",
    "infty": "∞", "approx": "≈", "ell": "ℓ", "langle": "⟨", "rangle": "⟩",
}  # fmt: skip


def signs(label: str) -> str:
    r"""A label of matplotlib in plain signs and on one line.

    Example:
        >>> signs("$\\lambda_1$ and\n$\\|w_Q\\|\\,/\\,\\overline{\\delta x}$")
        'λ_1 and ‖w_Q‖ / mean of δ x'
    """
    text = label.replace("\\,", " ").replace("\\|", "‖").replace("\n", " ")
    text = re.sub(r"\\(?:overline|bar)\{([^{}]*)\}", r"mean of \1", text)
    text = re.sub(r"\\(?:mathrm|mathbf|mathcal|hat|tilde)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda match: _LETTERS.get(match[1], match[0]), text)
    return re.sub(r" +", " ", plain(text)).strip()


def script(key: str, panels: Sequence[Chart]) -> bytes:
    """A script that hands a figure's numbers to the page; empty if there is no curve.

    A page from the disk may load a script, not a file of numbers. Panels without a name at an axis
    share that of their row or column. Images have no curves: they are left out.

    Args:
        key: what the page knows the numbers by.
        panels: all that the figure's panels draw, see :func:`curves.series`.
    """
    drawn = [*_named(panel for panel in panels if panel["curves"])]
    if not drawn:
        return b""
    text, part = _call(key, drawn, 1.0), 1.0
    while len(text) > LARGEST:
        part *= _LEFT
        text = _call(key, drawn, part)
    return text


def _named(panels: Iterator[Chart]) -> Iterator[Chart]:
    """Panels with names at both axes: of the row to the left, or of the column below."""
    known, above = [*panels], ""
    for place, panel in enumerate(known):
        below = (other["x"] for other in known[place:] if other["x"])
        above = panel["y"] or above
        curves = [{**curve, "name": signs(curve["name"])} for curve in panel["curves"]]
        names = {"title": signs(panel["title"]), "x": signs(next(below, "")), "y": signs(above)}
        yield {**panel, **names, "curves": curves}


def _call(key: str, panels: Sequence[Chart], part: float) -> bytes:
    """The script with a part of the points of each curve."""
    shown = [_thinned(panel, part) for panel in panels]
    content = {"part": round(part, 2), "panels": shown}
    line = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return f"{RECEIVER}({json.dumps(key)},{line});\n".encode()


def _thinned(panel: Chart, part: float) -> Chart:
    """A panel with fewer points; curves at the same places share these."""
    places: list[list[float]] = []
    curves = []
    for curve in panel["curves"]:
        kept = _kept(len(curve["x"]), part)
        x, y = ([curve[axis][number] for number in kept] for axis in ("x", "y"))
        if x not in places:
            places.append(x)
        name, drawn = curve["name"], curve["drawn"]
        curves.append({"name": name, "drawn": drawn, "at": places.index(x), "y": y})
    names: dict[str, Any] = {name: panel[name] for name in ("title", "x", "y", "scales")}
    bands = [
        {axis: [band[axis][number] for number in _kept(len(band["x"]), part)] for axis in "xy"}
        for band in panel["bands"]
    ]
    return {**names, "places": places, "curves": curves, "bands": bands,
            "thresholds": panel["thresholds"]}  # fmt: skip


def _kept(number: int, part: float) -> list[int]:
    """The places of the points that stay: the first, the last, and evenly between."""
    least = min(number, FEWEST)
    left = max(least, round(number * part))
    return [round(place * (number - 1) / max(left - 1, 1)) for place in range(left)]
