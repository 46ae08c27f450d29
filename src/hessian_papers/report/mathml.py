"""A formula in plain signs as MathML, by way of LaTeX."""

import functools
import html
import re

from latex2mathml.converter import convert

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ", (*"0123456789-", r"\top "), strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_COMMANDS = {
    **{"≤": r"\le", "≥": r"\ge", "≠": r"\ne", "≈": r"\approx", "≃": r"\simeq", "→": r"\to"},
    **{"±": r"\pm", "∓": r"\mp", "·": r"\cdot", "×": r"\times", "∈": r"\in", "⊗": r"\otimes"},
    **{"⟨": r"\langle", "⟩": r"\rangle", "⌊": r"\lfloor", "⌋": r"\rfloor", "‖": r"\|"},
    **{"∇": r"\nabla", "∂": r"\partial", "⋯": r"\cdots", "…": r"\ldots", "⊤": r"\top"},
    **{"½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "−": "-"},
    **{"{": r"\{", "}": r"\}"},
}
# Words that stand upright in a formula.
_UPRIGHT = "GGN Var arccos cos det diag exp ln log max mean min rank relu sgn sin tanh tr"
FUNCTIONS = frozenset(_UPRIGHT.split(" "))
# Words that are an index.
_INDICES = frozenset(("bulk", "outlier", "min", "max"))
SCIENTIFIC = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([-+]?)0*(\d+)(?!\.?[\da-z])")


def _enclosed(text: str) -> tuple[str, int]:
    """What a root or a power is of, as LaTeX, and the length of its source."""
    if text.startswith("("):
        depth = 0
        for place, sign in enumerate(text):
            depth += (sign == "(") - (sign == ")")
            if depth == 0:
                return latex(text[1:place]), place + 1
    whole = re.match(r"\d+(?:\.\d+)?|.", text)
    return (whole[0], whole.end()) if whole else ("", 0)


def _script(text: str) -> tuple[str, int]:
    """An index or a power as LaTeX, from behind its mark, and the length of its source."""
    if text.startswith("{"):
        end = text.index("}")
        return latex(text[1:end]), end + 1
    if text.startswith("("):
        inner, length = _enclosed(text)
        # The bracket around a sum only holds it together, that around a letter belongs to it.
        return (f"({inner})" if length == 3 else inner), length
    word = re.match(r"[A-Za-z]+|[-−]?\d+|.", text)
    if word is None:
        raise ValueError("an index or a power is missing")
    if word[0] in _INDICES:
        return rf"\text{{{word[0]}}}", len(word[0])
    # Two letters are two indices; of more, only the first is one.
    letter = word[0][:1] if len(word[0]) > 2 and word[0].isalpha() else word[0]
    return latex(letter), len(letter)


def _next(rest: str, before: str) -> tuple[str, int]:
    """What stands first in a formula as LaTeX, and the length of its source."""
    sign = rest[0]
    for mark, scripts in (("^", RAISED), ("_", _LOWERED)):
        length = next((i for i, s in enumerate(rest) if s not in scripts), len(rest))
        if length:
            return f"{mark}{{{''.join(scripts[s] for s in rest[:length])}}}", length
    if power := SCIENTIFIC.match(rest):
        return rf"{power[1]}\times 10^{{{power[2].strip('+')}{power[3]}}}", power.end()
    if sign == "*" and before.isalpha() and rest[1:2] not in RAISED:
        return "^{*}", 1
    if sign in "_^":
        script, length = _script(rest[1:])
        return f"{sign}{{{script}}}", length + 1
    if sign == "√":
        inner, length = _enclosed(rest[1:])
        return rf"\sqrt{{{inner}}}", length + 1
    if (word := re.match(r"[A-Za-z]{2,}", rest)) and word[0] in FUNCTIONS:
        return rf"\operatorname{{{word[0]}}}", word.end()
    return (f"{_COMMANDS[sign]} " if sign in _COMMANDS else sign), 1


def latex(formula: str) -> str:
    r"""A formula in plain signs as LaTeX.

    Raises:
        ValueError: a brace is not closed, or an index is missing.

    Example:
        >>> print(latex("λ_max ≤ √(σ_x²‖w‖² + 1)"))
        λ_{\text{max}} \le  \sqrt{σ_{x}^{2}\| w\| ^{2} + 1}
    """
    made, place = "", 0
    while place < len(formula):
        piece, length = _next(formula[place:], formula[place - 1 : place])
        made += piece
        place += length
    return made


@functools.cache
def mathml(formula: str) -> str | None:
    """A formula in plain signs as MathML; ``None`` if it is none that LaTeX could say.

    Example:
        >>> print(mathml("σ² ≤ T"))
        <math><msup><mi>σ</mi><mn>2</mn></msup><mo>≤</mo><mi>T</mi></math>
    """
    try:
        made = convert(latex(formula))
    except Exception:
        # The converter has no common error, and no page is lost for a formula.
        return None
    # Its signs are written as numbers: only these two mean something in a page.
    for code, name in (("&#x0003C;", "&amp;lt;"), ("&#x0003E;", "&amp;gt;")):
        made = made.replace(code, name)
    made = re.sub(r"<math [^>]*><mrow>(.*)</mrow></math>", r"<math>\1</math>", html.unescape(made))
    made = re.sub(r"<mrow>(<(m\w+)>[^<]*</\2>)</mrow>", r"\1", made)
    # Brackets keep the size of the line, and functions stand upright: as identifiers they do.
    made = re.sub(r'<mo (?:fence="false" )?stretchy="false">(.)</mo>', r"<mi>\1</mi>", made)
    return re.sub(r"<mo>(/|[A-Za-z]+)</mo>", r"<mi>\1</mi>", made)
