"""Building HTML so that nothing reaches the page unescaped."""

import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Html(str):
    """Text that is HTML already; every other string is escaped when it becomes a child."""

    __slots__ = ()


Child = str | None

# Elements that have no content and no closing tag.
_VOID = frozenset({"br", "img", "input", "link", "meta"})


def escape(text: str) -> Html:
    """``text`` as HTML; text that is HTML already stays as it is.

    Example:
        >>> escape("a < b"), escape(Html("a &lt; b"))
        ('a &lt; b', 'a &lt; b')
    """
    return text if isinstance(text, Html) else Html(html.escape(text, quote=True))


def join(*children: Child) -> Html:
    """All children as one piece of HTML; ``None`` is left out."""
    return Html("".join(escape(child) for child in children if child is not None))


def tag(name: str, /, *children: Child, **attributes: str | bool | None) -> Html:
    """An HTML element.

    Args:
        name: of the element.
        children: its content; strings are escaped, ``None`` is left out.
        attributes: a trailing underscore is dropped (``class_``), others become hyphens; ``True``
            stands for an attribute without a value, ``None`` and ``False`` for no attribute.

    Example:
        >>> tag("a", "x < 1", href="#x", class_="link", hidden=False)
        '<a href="#x" class="link">x &lt; 1</a>'
    """
    parts = [name]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(attribute)
        elif value not in (None, False):
            parts.append(f'{attribute}="{html.escape(str(value), quote=True)}"')
    opening = f"<{' '.join(parts)}>"
    return Html(opening if name in _VOID else f"{opening}{join(*children)}</{name}>")


def table(caption: str, columns: Sequence[str], rows: Iterable[Html], class_: str) -> Html:
    """A table with a heading for each column."""
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in columns)))
    return tag("table", tag("caption", caption), head, tag("tbody", *rows), class_=class_)


def cell(label: str, *content: Child) -> Html:
    """A cell of a table; on a narrow screen a row becomes a card and each cell shows its label."""
    return tag("td", tag("div", *content), data_label=label)


def number(value: float | None) -> Html:
    """A number with at most three significant digits, powers of ten as such.

    Example:
        >>> number(1.23e-14), number(5074.0), number(-0.25), number(None)
        ('1.23 × 10<sup>−14</sup>', '5074', '−0.25', '–')
    """
    if value is None or not math.isfinite(value):
        return Html("–" if value is None else str(value))
    if value == round(value) and abs(value) < 1e6:
        return Html(f"{value:.0f}".replace("-", "−"))
    mantissa, _, exponent = f"{value:.3g}".replace("-", "−").partition("e")
    if not exponent:
        return Html(mantissa)
    sign, digits = exponent[0].replace("+", ""), exponent[1:].lstrip("0")
    return Html(f"{mantissa} × 10<sup>{sign}{digits}</sup>")


class _Mark(NamedTuple):
    opening: str
    closing: str


_MARKS = {
    "_": _Mark("<sub>", "</sub>"),
    "^": _Mark("<sup>", "</sup>"),
    "~": _Mark('<span class="mean">', "</span>"),
    "!": _Mark("<b>", "</b>"),
    "`": _Mark("<code>", "</code>"),
}


def formula(text: str) -> Html:
    """A short formula in the notation table's own marks.

    ``_{a}`` is a subscript, ``^{a}`` a superscript, ``~{a}`` a mean (a bar over it), ``!{a}`` a
    vector or matrix (bold), and a pair of braces after a backtick is code; marks may be nested, all
    else is text.

    Raises:
        ValueError: a brace is not closed.

    Example:
        >>> formula("‖!{w}_{+}‖ < ~{δx}")
        '‖<b>w</b><sub>+</sub>‖ &lt; <span class="mean">δx</span>'
        >>> formula("`{second_moment}")
        '<code>second_moment</code>'
    """
    pieces: list[str] = []
    open_marks: list[_Mark] = []
    position = 0
    while position < len(text):
        mark = _MARKS.get(text[position])
        if mark is not None and text[position + 1 : position + 2] == "{":
            pieces.append(mark.opening)
            open_marks.append(mark)
            position += 2
            continue
        if text[position] == "}" and open_marks:
            pieces.append(open_marks.pop().closing)
        else:
            pieces.append(html.escape(text[position], quote=True))
        position += 1
    if open_marks:
        raise ValueError(f"formula {text!r}: a brace is not closed")
    return Html("".join(pieces))


# An index: braces, signs, digits, one letter, or one of the few words that the papers use.
_INDEX = re.compile(
    r"(?<![A-Za-z_])(yx|[A-Za-zΑ-ωℓ∇‖])_"
    r"(?:\{([^{}]*)\}|([+\-−±]|\d+|bulk|outlier|min|max|[A-Za-zΑ-ω])(?![A-Za-z_]))"
)
_POWER = re.compile(r"(?<=[\w)\]>])\^(?:\{([^{}]*)\}|([-−]?\d+|\([a-z]\)|[A-Za-zα-ω⊤](?!\w)))")
_SCIENTIFIC = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([-+]?)0*(\d+)(?![\w.]*\w)")


def _raised(match: re.Match[str]) -> str:
    sign = "−" if match[2] == "-" else ""
    return f"{match[1]} × 10<sup>{sign}{match[3]}</sup>"


def prose(text: str) -> Html:
    """A sentence in which indices, powers and powers of ten are set as such.

    Only what is unmistakable is changed: an index to a single letter that is no name in code.

    Example:
        >>> prose("λ_min < 1.5e-10, Λ_{1,2} ≤ x^2, w_value")
        'λ<sub>min</sub> &lt; 1.5 × 10<sup>−10</sup>, Λ<sub>1,2</sub> ≤ x<sup>2</sup>, w_value'
    """
    made = _SCIENTIFIC.sub(_raised, html.escape(text, quote=True))
    made = _INDEX.sub(lambda match: f"{match[1]}<sub>{match[2] or match[3]}</sub>", made)
    return Html(_POWER.sub(lambda match: f"<sup>{match[1] or match[2]}</sup>", made))


def anchor(kind: str, name: str) -> str:
    """The id of an element of the page, from a name that may hold slashes and spaces.

    Example:
        >>> anchor("claim", "thm-linear/eq. (1)")
        'claim-thm-linear--eq-x2e---x28-1-x29-'
    """

    def safe(character: str) -> str:
        if character.isascii() and (character.isalnum() or character in "-_"):
            return character
        # The code keeps names apart that differ in a special character only.
        return {"/": "--", " ": "-"}.get(character, f"-x{ord(character):x}-")

    return f"{kind}-" + "".join(safe(character) for character in name)
