"""The papers' symbols beside ours: ``notation.yaml``."""

from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

import yaml

# Field of a symbol -> the heading of its column.
_PAPERS = {
    "closed": "singh2024closed",
    "poster": "singh2024poster",
    "cracking": "singh2026cracking",
    "data": "anon2026data",
}


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
    meanings: list[str]
    ours: str


class Group(NamedTuple):
    """A table of symbols: its title, its rows, and the papers that use any of them."""

    title: str
    symbols: list[Symbol]
    papers: dict[str, str]


class Tables(NamedTuple):
    """The tables of the notation on the page."""

    groups: list[Group]
    ambiguities: list[Ambiguity]


def tables() -> Tables:
    """The tables of the page; each has the columns of the papers that use one of its symbols."""
    file = resources.files("hessian_papers.report").joinpath("notation.yaml")
    content = yaml.safe_load(file.read_text("utf-8"))
    groups = []
    for title, rows in content["symbols"].items():
        symbols = [Symbol(**row) for row in rows]
        used = {f: name for f, name in _PAPERS.items() if any(getattr(s, f) for s in symbols)}
        groups.append(Group(title, symbols, used))
    return Tables(groups, [Ambiguity(**entry) for entry in content["ambiguities"]])
