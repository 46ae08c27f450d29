r"""Texts with formulas: LaTeX between dollars, for the page and for plain readers.

Letters and signs of Unicode stand for themselves, as in unicode-math: ``$λ_1 ≤ \sqrt{‖w‖^2 + 1}$``.
Markdown shows such a text as it is.
"""

import functools
import html
import re
from collections.abc import Iterator

from latex2mathml.converter import convert
from markupsafe import Markup

FORMULA = re.compile(r"\$([^$]+)\$")
# Of more signs than this a formula may be wider than a narrow screen, and no browser breaks a line
# within one: it is set in pieces, parted behind operators outside braces.
_LONG = 28
_BREAK = re.compile(r"(?<=[-=<>≤≥≈+/·±∈→,;]) (?!(?:[^{}]|\{[^{}]*\})*\})")

_CODE = re.compile(r"`([^`]+)`")
_SCIENTIFIC = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([-+]?)0*(\d+)(?!\.?[\da-z])")
_POWER = re.compile(r"(?<=\w)\^(\d+)")
# Signs of exponents.
EXPONENT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# How LaTeX reads in plain signs, one rule after the other.
_PLAIN = (
    (r"\\(?:text|operatorname)\{([^{}]*)\}", r"\1"),
    (r"\\sqrt\{((?:[^{}]|\{[^{}]*\})*)\}", r"√(\1)"),
    (r"\\sqrt ?", "√"),
    (r"\\frac(\d)(\d)", r"(\1/\2)"),
    (r"\\lbrace ?", "{"),
    (r"\\rbrace", "}"),
    (r"\\([a-z]+)", r"\1"),
    (r"([_^])\{(\w+)\}(?!\w)", r"\1\2"),
    (r"\^\{([^{}]*)\}", r"^(\1)"),
    (r"\^2(?!\d)", "²"),
    (r"\^⊤", "ᵀ"),
    (r"\^\*", "*"),
    ("-", "−"),
)


def plain(text: str) -> str:
    r"""A text in plain signs, for readers that know no LaTeX.

    Example:
        >>> plain(r"It is $λ_{\max} ≤ \sqrt{σ_x^2 + 1}$ of $ww^⊤$, at 5 %.")
        'It is λ_max ≤ √(σ_x² + 1) of wwᵀ, at 5 %.'
        >>> plain("$A / 4^{L-p}$")
        'A / 4^(L−p)'
    """
    return FORMULA.sub(lambda match: _in_signs(match[1]), text)


def raised(text: str) -> str:
    """A text without formulas with its powers as signs, for pictures.

    Example:
        >>> raised("fc1:F-200^2-BN")
        'fc1:F-200²-BN'
    """
    return _POWER.sub(lambda power: power[1].translate(EXPONENT), text)


def sentence_case(text: str) -> str:
    """A text as a sentence begins.

    Example:
        >>> sentence_case("by our reading of H")
        'By our reading of H'
    """
    return text[:1].upper() + text[1:]


def _in_signs(formula: str) -> str:
    for pattern, signs in _PLAIN:
        formula = re.sub(pattern, signs, formula)
    return formula


def mathml(formula: str) -> str:
    r"""A formula in LaTeX as MathML.

    Raises:
        ValueError: the converter knows no such LaTeX; the message is one line.

    Example:
        >>> print(mathml(r"σ^2 ≤ \frac12"))
        <math><msup><mi>σ</mi><mn>2</mn></msup><mo>≤</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math>
    """
    try:
        made = convert(formula)
    except Exception as error:
        # The converter has no common error.
        raise ValueError(f"${formula}$ is no LaTeX: {type(error).__name__}") from None
    if "\\" in made or formula.count("{") != formula.count("}"):
        raise ValueError(f"${formula}$ has a command that is none, or a brace without its partner")
    # Its signs are written as numbers: only these two mean something in a page.
    for code, name in (("&#x0003C;", "&amp;lt;"), ("&#x0003E;", "&amp;gt;")):
        made = made.replace(code, name)
    made = re.sub(r"<math [^>]*><mrow>(.*)</mrow></math>", r"<math>\1</math>", html.unescape(made))
    made = re.sub(r"<mrow>(<(m\w+)>[^<]*</\2>)</mrow>", r"\1", made)
    # Few fonts have a bar that grows: that over a mean is a border, see style.css.
    bar = r'<mover>(?:<mrow>)?(.*?)(?:</mrow>)?<mo accent="true">―</mo></mover>'
    made = re.sub(bar, r'<mrow class="mean">\1</mrow>', made)
    # Signs of Unicode are the operators that their commands are: all arrows, and mathematical ones.
    made = re.sub(r"<mi>([±×·←-⋿])</mi>", r"<mo>\1</mo>", made)
    # Brackets keep the size of the line, and functions stand upright: as identifiers they do.
    made = re.sub(r'<mo (?:fence="false" )?stretchy="false">(.)</mo>', r"<mi>\1</mi>", made)
    return re.sub(r"<mo>(/|[A-Za-z]+)</mo>", r"<mi>\1</mi>", made)


def pieces(formula: str) -> list[str]:
    """A formula, in pieces if it is long."""
    return _BREAK.split(formula) if len(_in_signs(formula)) > _LONG else [formula]


def _parts(text: str) -> Iterator[str]:
    """The HTML of a text, of each formula and of what stands between two of them."""
    for place, part in enumerate(FORMULA.split(text)):
        if place % 2:
            try:
                yield " ".join(map(mathml, pieces(part)))
            except ValueError:
                # No page is lost for a formula.
                yield html.escape(f"${part}$")
        else:
            yield _beside(part)


def _beside(text: str) -> str:
    """Text beside formulas: of it code, powers of ten and names such as F-100^2 are set as such."""

    def power(match: re.Match[str]) -> str:
        return f"{match[1]} × 10<sup>{'−' if match[2] == '-' else ''}{match[3]}</sup>"

    made = _SCIENTIFIC.sub(power, html.escape(text, quote=True))
    return _POWER.sub(r"<sup>\1</sup>", _CODE.sub(r"<code>\1</code>", made))


@functools.cache
def prose(text: str) -> Markup:
    """A text as HTML.

    Example:
        >>> print(prose("It is $λ < 2$, up to 1e-12."))
        It is <math><mi>λ</mi><mo>&lt;</mo><mn>2</mn></math>, up to 1 × 10<sup>−12</sup>.
    """
    return Markup("".join(_parts(text)))
