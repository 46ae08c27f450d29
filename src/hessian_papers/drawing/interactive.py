"""The series of a figure as a script, which a page from the disk may load."""

import json
import re
from collections.abc import Sequence

from hessian_papers.drawing.curves import Chart
from hessian_papers.formulas import plain

# The function of the page that a script calls with its numbers.
RECEIVER = "showNumbers"
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
