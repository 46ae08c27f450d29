"""The papers' symbols beside ours: ``notation.yaml``, read, checked and set."""

import html
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

import yaml
from markupsafe import Markup

from hessian_spectra.validation import require

# Field of a symbol -> the heading of its column.
_PAPERS = {
    "closed": "singh2024closed",
    "poster": "singh2024poster",
    "cracking": "singh2026cracking",
    "data": "anon2026data",
}

FILE = resources.files("hessian_papers.report").joinpath("notation.yaml")


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """One quantity, as we and the papers write it; empty where a paper does not use it."""

    meaning: str
    ours: str
    closed: str = ""
    poster: str = ""
    cracking: str = ""
    data: str = ""


@dataclass(frozen=True, kw_only=True)
class Ambiguity:
    """One symbol or word that stands for several things."""

    symbol: str
    meanings: tuple[str, ...]
    ours: str


@dataclass(frozen=True, kw_only=True)
class Notation:
    """The tables of the page.

    Args:
        symbols: the quantities of each group, by its title.
        ambiguities: what stands for several things.
    """

    symbols: Mapping[str, tuple[Symbol, ...]]
    ambiguities: tuple[Ambiguity, ...]


def read_notation(file: Traversable = FILE) -> Notation:
    """The tables in a file such as ``notation.yaml``.

    Raises:
        ValueError: it is no YAML, or an entry is not what it should be; the message is one line
            that names the entry.
    """
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name} is no YAML: {' '.join(str(error).split())}") from None
    tables = _entries(content, Notation, file.name)
    groups, ambiguities = tables["symbols"], tables["ambiguities"]
    require(isinstance(groups, dict) and bool(groups), f"{file.name}, symbols", "groups", groups)
    return Notation(
        symbols={
            title: tuple(_symbol(row, at) for at, row in _listed(rows, f"{file.name}, {title}"))
            for title, rows in groups.items()
        },
        ambiguities=tuple(
            _ambiguity(row, at) for at, row in _listed(ambiguities, f"{file.name}, ambiguities")
        ),
    )


def _symbol(row: Any, at: str) -> Symbol:
    entries = _entries(row, Symbol, at)
    return Symbol(**{name: _text(text, f"{at}, {name}") for name, text in entries.items()})


def _ambiguity(row: Any, at: str) -> Ambiguity:
    entries = _entries(row, Ambiguity, at)
    meanings = _listed(entries["meanings"], f"{at}, meanings")
    return Ambiguity(
        symbol=_text(entries["symbol"], f"{at}, symbol"),
        meanings=tuple(_text(text, place) for place, text in meanings),
        ours=_text(entries["ours"], f"{at}, ours"),
    )


def _entries(row: Any, kind: type, at: str) -> dict[str, Any]:
    """A mapping from the fields of a class, at least from those without a default."""
    require(isinstance(row, dict), at, "a mapping", row)
    names = [field.name for field in fields(kind)]
    for name in row:
        require(name in names, at, f"one of {', '.join(names)}", name)
    for field in fields(kind):
        require(field.default is not MISSING or field.name in row, at, field.name, list(row))
    return dict(row)


def _listed(values: Any, at: str) -> list[tuple[str, Any]]:
    """The values of a list that is not empty, each after its place."""
    require(isinstance(values, list) and bool(values), at, "a list", values)
    return [(f"{at} {number}", value) for number, value in enumerate(values, start=1)]


def _text(value: Any, at: str) -> str:
    require(isinstance(value, str) and bool(value), at, "a text", value)
    return str(value)


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


def marked(text: str) -> Markup:
    """A cell of the tables, in their own marks.

    ``_{a}`` is a subscript, ``^{a}`` a superscript, ``~{a}`` a mean (a bar over it), ``!{a}`` a
    vector or matrix (bold), and a pair of braces after a backtick is code; marks may be nested, all
    else is text.

    Raises:
        ValueError: a brace is not closed.

    Example:
        >>> print(marked("‖!{w}_{+}‖ < ~{δx}, `{mean}"))
        ‖<b>w</b><sub>+</sub>‖ &lt; <span class="mean">δx</span>, <code>mean</code>
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
    return Markup("".join(pieces))


class Group(NamedTuple):
    """A table of symbols: its title, its rows, and the papers that use any of them."""

    title: str
    symbols: tuple[Symbol, ...]
    papers: dict[str, str]


class Tables(NamedTuple):
    """What the page shows of the notation."""

    groups: list[Group]
    ambiguities: tuple[Ambiguity, ...]


def tables() -> Tables:
    """The tables of the page; each has the columns of the papers that use one of its symbols.

    Raises:
        ValueError: the file behind it is broken.
    """
    notation = read_notation()
    groups = []
    for title, symbols in notation.symbols.items():
        used = {f: name for f, name in _PAPERS.items() if any(getattr(s, f) for s in symbols)}
        groups.append(Group(title, symbols, used))
    return Tables(groups, notation.ambiguities)
