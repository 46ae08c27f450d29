"""The series of a figure as others draw them: a script of the page, and the main panel's curves."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hessian_papers.formulas import plain

Chart = dict[str, Any]

# Curves of the main panel, at most.
CURVES = 12
# The function of the page that a script calls with its numbers.
RECEIVER = "showNumbers"
_LETTERS = {
    "alpha": "α", "beta": "β", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "eta": "η", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "phi": "φ", "pi": "π", "rho": "ρ", "sigma": "σ", "theta": "θ",
    "zeta": "ζ", "pm": "±", "times": "×", "cdot": "·", "leq": "≤", "geq": "≥", "sum": "Σ",
    "infty": "∞", "approx": "≈", "ell": "ℓ", "langle": "⟨", "rangle": "⟩",
}  # fmt: skip


def chart(panels: Sequence[Chart]) -> Chart:
    """The named curves of a figure's main panel.

    It is that with the most names, of several the first, among those that are marked, if any is.

    Args:
        panels: what the figure draws, see :func:`curves.series`.

    Returns:
        ``title``, ``x`` and ``y``, what is written at the panel and its axes; and ``curves``, of
        each its ``name``, numbered where several have it, and its points ``x`` and ``y``. Empty if
        no panel has a named line.

    Example:
        >>> squares = {"name": "squares", "drawn": "line", "x": [1, 2, 3], "y": [1, 4, 9]}
        >>> panel = {"title": "(a)", "x": "n", "y": "n²", "main": False, "curves": [squares]}
        >>> chart([panel])["curves"]
        [{'name': 'squares', 'x': [1, 2, 3], 'y': [1, 4, 9]}]
    """
    known = [panel for panel in panels if named(panel)]
    main_panel = max(
        [panel for panel in known if panel["main"]] or known,
        key=lambda panel: len({curve["name"] for curve in named(panel)}),
        default=None,
    )
    if main_panel is None:
        return {}
    labels = {name: main_panel[name] for name in ("title", "x", "y")}
    return {**labels, "curves": list(_numbered(named(main_panel)[:CURVES]))}


def named(panel: Chart) -> list[Chart]:
    """The curves of a panel that have a name."""
    return [curve for curve in panel["curves"] if curve["name"]]


def _numbered(curves: Sequence[Chart]) -> Iterator[Chart]:
    """Named curves, each with a name of its own."""
    counts, seen = Counter(curve["name"] for curve in curves), Counter[str]()
    for curve in curves:
        name = curve["name"]
        seen[name] += 1
        own = f"{name}, {seen[name]}" if counts[name] > 1 else name
        yield {"name": own, "x": curve["x"], "y": curve["y"]}


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
    """A script that hands a figure's series to the page; empty if there is no curve.

    A page from the disk may load a script, not a file of numbers: it is the same series, with names
    in plain signs. Images have no curves: they are left out.

    Args:
        key: what the page knows the series by.
        panels: all that the figure's panels draw, see :func:`curves.series`.
    """
    drawn = [_in_signs(panel) for panel in panels if panel["curves"]]
    if not drawn:
        return b""
    line = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"))
    return f"{RECEIVER}({json.dumps(key)},{line});\n".encode()


def _in_signs(panel: Chart) -> Chart:
    names = {name: signs(panel[name]) for name in ("title", "x", "y")}
    curves = [{**curve, "name": signs(curve["name"])} for curve in panel["curves"]]
    return {**panel, **names, "curves": curves, "images": []}
