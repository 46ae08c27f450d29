"""Numbers, and the formulas that stand in plain sentences."""

import functools
import html
import math
import re
from collections.abc import Iterator

from markupsafe import Markup

from hessian_papers.report.mathml import FUNCTIONS, SCIENTIFIC, mathml

# A word with one of these is part of a formula, wherever it stands.
_SIGNS = r"²³⁴ᵀ⁻₀-₉≤≥≠≈≃±∓×∈⟨⟩‖⊗∇∂⌊⌋⋯½⅓⅔√=<>ΓΔΘΛΞΠΣΦΨΩα-λν-ωℓẑĤŴ"
_INDEX = (
    r"(?<![A-Za-z_])(?:yx|[A-Za-zΑ-ω])_"
    r"(?:[{+\-−±\d]|bulk|outlier|[A-Za-zΑ-ω]{1,3}(?![A-Za-z_]))"
)
_POWER = r"[A-Za-zα-ωΑ-Ω)\]]\^(?:[{\-−\d]|\([a-z]\)|[A-Za-zα-ω⊤](?!\w))"
_STRONG = re.compile(rf"[{_SIGNS}]|{_INDEX}|{_POWER}|E\[|\b(?:{'|'.join(sorted(FUNCTIONS))})\(")
# A sum or difference of single letters and numbers is one as well.
_SUM = re.compile(r"(?<!\S)[(]?[A-Za-z]{1,2}\)? [-+−·/] [(]?\w{1,2}\b")
# Words that hold such a sign and are none: names of networks, of files and in code.
_NAME = re.compile(
    r"[A-Z]+-\d|\w{2,}/\w{3,}|μP|https?:|.*[a-z]+_[a-z]{2,}\w*\b(?<!_bulk)(?<!_max)(?<!_min)"
)
_NEVER = re.compile(r"[\"%#&$~\\“”]|--|^['’]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_OF_TEXT = "a an as at be by do if in is it no of on or so to up vs we In It SP"
_PLAIN = frozenset(_OF_TEXT.split(" "))
_PAIRS = {")": "(", "]": "[", "}": "{", "⟩": "⟨", "⌋": "⌊"}
_STOPS = tuple(".,;:")

# Of more signs than this a formula may be wider than a narrow screen.
_LONG = 28

_SUBSCRIPT = re.compile(
    r"(?<![A-Za-z_])(yx|[A-Za-zΑ-ω])_(?:\{([^{}]*)\}|(max|min|bulk|[A-Za-z0-9]{1,2})(?!\w))"
)
_SUPERSCRIPT = re.compile(r"(?<=\w)\^(\d+)")


def number(value: float | None) -> Markup:
    """A number with at most three significant digits, powers of ten as such.

    Example:
        >>> str(number(1.23e-14)), str(number(5074.0)), str(number(-0.25)), str(number(None))
        ('1.23 × 10<sup>−14</sup>', '5074', '−0.25', '–')
    """
    if value is None or not math.isfinite(value):
        return Markup("–" if value is None else str(value))
    if value == round(value) and abs(value) < 1e6:
        return Markup(f"{value:.0f}".replace("-", "−"))
    mantissa, _, exponent = f"{value:.3g}".replace("-", "−").partition("e")
    if not exponent:
        return Markup(mantissa)
    sign, digits = exponent[0].replace("+", ""), exponent[1:].lstrip("0")
    return Markup(f"{mantissa} × 10<sup>{sign}{digits}</sup>")


def _may_be_part(word: str) -> bool:
    """Whether a word can stand in a formula: it has signs, operators and single letters only."""
    core = word.strip("()[].,;:“”")
    if core in _PLAIN or _NAME.match(core) or _NEVER.search(core):
        return False
    bare = re.sub(r"_\{?(?:bulk|outlier|min|max)\b", "", core)
    return all(len(result) == 2 or result in FUNCTIONS for result in _WORD.findall(bare))


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text in order, each with whether it may be a formula."""
    run, depth = "", 0
    for piece in re.findall(r"\s+|\S+", text):
        if run and piece.isspace():
            run += piece
            continue
        part = _may_be_part(piece)
        if part:
            run += piece
            depth += sum((sign in _PAIRS.values()) - (sign in _PAIRS) for sign in piece)
            # A comma between the entries of a bracket goes on, any other stop ends the formula.
            within = depth > 0 and piece[-1] in ",;"
            if not piece.endswith(_STOPS) or piece.endswith("...") or within:
                continue
        yield from _whole(run)
        run, depth = "", 0
        if not part:
            yield piece, False
    yield from _whole(run)


def _whole(run: str) -> Iterator[tuple[str, bool]]:
    """A run without the brackets that have no partner in it, which part it."""
    opened: list[int] = []
    loose = []
    for place, sign in enumerate(run):
        if sign in _PAIRS.values():
            opened.append(place)
        elif sign in _PAIRS:
            if opened and run[opened[-1]] == _PAIRS[sign]:
                opened.pop()
            else:
                loose.append(place)
    start = 0
    for place in sorted([*loose, *opened]):
        yield run[start:place], True
        yield run[place], False
        start = place + 1
    yield run[start:], True


def _trimmed(run: str) -> tuple[str, str, str]:
    """What stands before the formula in a run, the formula, and what stands behind it."""
    match = re.fullmatch(r"([\s.,;:]*(?:[aA]\s+(?![-+−=·]))?)(.*?)([\s.,;:]*)", run, re.DOTALL)
    assert match is not None
    return match[1], match[2], match[3]


def _is_formula(text: str) -> bool:
    """Whether a run is one: it has a sign, and each bar its partner."""
    bars = len(re.findall(r"\S\||\|\S", text))
    signs = _STRONG.search(text) or _SUM.search(text)
    return signs is not None and bars % 2 == 0


def _set(formula: str) -> str | None:
    """A formula as MathML; a long one in pieces, since no browser breaks a line within one."""
    if len(formula) <= _LONG:
        return mathml(formula)
    pieces, start, depth = [], 0, 0
    for match in re.finditer(r"[√^_][({]|[(){}]|[-=<>≤≥≈+−/·±∈→,;] ", formula):
        sign = match[0]
        # Roots, indices and powers are whole; other brackets keep their size and may be apart.
        if sign[-1] in "({" and (depth or len(sign) == 2):
            depth += 1
        elif sign in ")}" and depth:
            depth -= 1
        elif sign.endswith(" ") and not depth:
            pieces.append(formula[start : match.end() - 1])
            start = match.end()
    made = [mathml(piece) for piece in (*pieces, formula[start:])]
    return None if None in made else " ".join(item for item in made if item is not None)


def _plain(text: str) -> str:
    """Text beside formulas: indices, powers and powers of ten are set as such."""

    def power(match: re.Match[str]) -> str:
        return f"{match[1]} × 10<sup>{'−' if match[2] == '-' else ''}{match[3]}</sup>"

    made = SCIENTIFIC.sub(power, html.escape(text, quote=True))
    made = _SUBSCRIPT.sub(lambda match: f"{match[1]}<sub>{match[2] or match[3]}</sub>", made)
    return _SUPERSCRIPT.sub(r"<sup>\1</sup>", made)


@functools.cache
def prose(text: str) -> Markup:
    """A sentence in which formulas are set as such.

    Only what is unmistakable is a formula; all else is text, names in code are left alone.

    Example:
        >>> print(prose("It is λ_1 < 2, of w_value."))
        It is <math><msub><mi>λ</mi><mn>1</mn></msub><mo>&lt;</mo><mn>2</mn></math>, of w_value.
    """
    made, beside = "", ""
    for piece, candidate in _runs(text):
        before, core, behind = _trimmed(piece) if candidate else (piece, "", "")
        result = _set(core) if core and _is_formula(core) else None
        if result is None:
            beside += piece
        else:
            made += _plain(beside + before) + result
            beside = behind
    return Markup(made + _plain(beside))
