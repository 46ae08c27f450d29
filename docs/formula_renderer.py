"""A renderer of formulas: MathML, which browsers draw themselves, with nothing to load.

Docstrings have their formulas in plain signs, ``Λ = T/2 ± √(σ²‖w‖² + δx²)``, which ``help`` shows
as they are. A literal with signs beyond ASCII is such a formula; code is not, and stays as it is.
"""

import re
from typing import Any

from docutils import nodes

from hessian_papers.formulas import mathml, pieces

_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀᵏⁿˡ", "0123456789-+⊤knl", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
# Of two letters, words; others are products of two variables.
_SHORT_WORDS = frozenset(("tr", "ln", "kl", "KL", "or", "if", "of", "at", "by"))


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line; a long one in pieces, between which a line may break."""
    translator.body.append(" ".join(map(mathml, pieces(node.astext()))))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    drawn = mathml(node.astext().strip())
    translator.body.append(f'<p class="formula">{drawn}</p>')
    raise nodes.SkipNode


def _closing(text: str, start: int) -> int:
    """The place of the parenthesis that closes the one at ``start``; -1 if there is none."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return -1


def _roots(text: str) -> str:
    """A formula with its roots, over what stands in parentheses or over a sign, in LaTeX."""
    before, _, after = text.partition("√")
    if not after:
        return text
    if after[0] == "(":
        end = _closing(after, 0)
        if end < 0:
            raise ValueError(f"{text}: a parenthesis without its partner")
        inside, rest = after[1:end].strip(), after[end + 1 :]
    else:
        (inside,) = re.findall(r"^.(?:_\{[^{}]*\})?", after)
        rest = after.removeprefix(inside)
    return f"{before}\\sqrt{{{_roots(inside)}}}{_roots(rest)}"


def _word(match: re.Match[str]) -> str:
    """A run of letters: upright and with its spaces if it is a word, else a product."""
    before, letters, after = match.groups()
    if len(letters) <= 2 and letters not in _SHORT_WORDS:
        return match[0]
    left, right = (space and "\\, " for space in (before, after))
    return f"{left}\\text{{{letters}}}{right}"


def latex(text: str) -> str:
    r"""A formula in plain signs, in LaTeX.

    Example:
        >>> latex("λ_bulk ≤ √(σ² + tr A) ‖W_12‖")
        'λ_{\\text{bulk}} ≤ \\sqrt{σ^{2} +\\, \\text{tr}\\, A} ‖W_{12}‖'
    """
    for signs, better in (("<=", "≤"), (">=", "≥"), ("~", "∼"), ("...", "…")):
        text = text.replace(signs, better)
    text = re.sub(r"(?<!\\)([%#&$])", r"\\\1", text)
    # A set's braces are signs, those of an index are LaTeX's own.
    text = re.sub(r"(?<![_^])\{([^{}]*)\}", r"\\lbrace \1 \\rbrace ", text)
    text = re.sub(r"([_^])\(([^()]*)\)", r"\1{\2}", text)
    text = re.sub(r"([_^])(-?[A-Za-z0-9]+)", r"\1{\2}", text)
    for signs, mark in ((_RAISED, "^"), (_LOWERED, "_")):
        text = re.sub(
            f"[{''.join(signs)}]+",
            lambda match, signs=signs, mark=mark: (
                f"{mark}{{{''.join(signs[sign] for sign in match[0])}}}"
            ),
            text,
        )
    return _roots(re.sub(r"( ?)(?<![A-Za-z\\])([A-Za-z]{2,})(?![A-Za-z])( ?)", _word, text))


def is_formula(text: str) -> bool:
    """Whether a literal is a formula, and no code."""
    is_code = re.search(r"[\"']\w|[A-Za-z_]\.\w|->|==|[A-Za-z]{2,}_[A-Za-z]{2,}", text)
    return not text.isascii() and not is_code


def redraw(_app: Any, doctree: nodes.document) -> None:
    """Draw the formulas among a page's literals; one that is no LaTeX stays as it is."""
    for node in list(doctree.findall(nodes.literal)):
        if is_formula(node.astext()):
            try:
                text = latex(node.astext())
                mathml(text)
            except ValueError:
                continue
            node.replace_self(nodes.math(text, text))


def setup(app: Any) -> None:
    """Offer Sphinx the renderer under the name ``mathml``, and draw the formulas of docstrings."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("doctree-read", redraw)
