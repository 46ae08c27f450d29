"""The papers' symbols beside ours: ``notation.yaml``, read and checked."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from hessian_spectra.validation import require

FILE = resources.files("hessian_spectra.report").joinpath("notation.yaml")


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
