"""The series of a figure as others draw them: a script of the page, and the main panel."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hessian_papers.formulas import plain

Chart = dict[str, Any]

# The function of the page that a script calls with its numbers.
RECEIVER = "showNumbers"
_LETTERS = {
    "alpha": "α", "beta": "β", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "eta": "η", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "phi": "φ", "pi": "π", "rho": "ρ", "sigma": "σ", "theta": "θ",
    "zeta": "ζ", "pm": "±", "times": "×", "cdot": "·", "leq": "≤", "geq": "≥", "sum": "Σ",
    "infty": "∞", "approx": "≈", "ell": "ℓ", "langle": "⟨", "rangle": "⟩",
}  # fmt: skip


def chart(panels: Sequence[Chart]) -> Chart:
    """A figure's main panel, with names in plain signs; empty if no panel has a curve.

    It is that with the most names of curves, of several the first, among those that are marked, if
    any is.

    Args:
        panels: what the figure draws, see :func:`curves.series`.

    Example:
        >>> squares = {"name": "squares", "drawn": "line", "x": [1, 2, 3], "y": [1, 4, 9]}
        >>> panel = {"title": "(a)", "x": "n", "y": "$n^2$", "main": False, "curves": [squares]}
        >>> main = chart([panel])
        >>> main["y"], main["curves"] == [squares]
        ('n²', True)
    """
    known = [panel for panel in panels if panel["curves"]]
    main_panel = max(
        [panel for panel in known if panel["main"]] or known,
        key=lambda panel: len({curve["name"] for curve in panel["curves"]} - {""}),
        default=None,
    )
    return {} if main_panel is None else in_signs(main_panel)


def numbered(names: Sequence[str]) -> Iterator[str]:
    """The names of curves, numbered where several have the same.

    Example:
        >>> [*numbered(["mean", "seed", "seed"])]
        ['mean', 'seed, 1', 'seed, 2']
    """
    counts, seen = Counter(names), Counter[str]()
    for name in names:
        seen[name] += 1
        yield f"{name}, {seen[name]}" if counts[name] > 1 else name


def signs(label: str) -> str:
    r"""A label of matplotlib in plain signs and on one line.

    Example:
        >>> signs("$\\lambda_1$ and\n$\\|w_Q\\|\\,/\\,\\overline{\\delta x}$")
        'λ_1 and ‖w_Q‖ / mean of δ x'
    """
    text = label.replace("\\,", " ").replace("\\|", "‖").replace("\n", " ").replace("^\\top", "ᵀ")
    text = re.sub(r"\\(?:overline|bar)\{([^{}]*)\}", r"mean of \1", text)
    text = re.sub(r"\\(?:mathrm|mathbf|mathcal|hat|tilde)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda match: _LETTERS.get(match[1], match[0]), text)
    return re.sub(r" +", " ", plain(text)).strip()


def script(key: str, panels: Sequence[Chart]) -> bytes:
    """A script that hands a figure's series to the page; empty if there is no curve.

    A page from the disk may load a script, not a file of numbers: it is the same series, with names
    in plain signs. Images have no curves, and cases of statements, one below the other, no
    vertical axis: they are left out.

    Args:
        key: what the page knows the series by.
        panels: all that the figure's panels draw, see :func:`curves.series`.
    """
    drawn = [
        in_signs(panel)
        for panel in panels
        if any(panel["y"] or len(curve["x"]) > 1 for curve in panel["curves"])
    ]
    if not drawn:
        return b""
    line = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"))
    return f"{RECEIVER}({json.dumps(key)},{line});\n".encode()


def in_signs(panel: Chart) -> Chart:
    """A panel with all names in plain signs, without its images."""
    names = {name: signs(panel[name]) for name in ("title", "x", "y")}
    curves = [{**curve, "name": signs(curve["name"])} for curve in panel["curves"]]
    return {**panel, **names, "curves": curves, "images": []}
