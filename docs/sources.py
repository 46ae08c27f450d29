"""Tables by theorem: which function computes it, and what stands corrected of the print."""

import inspect
import re
from collections.abc import Iterable, Iterator
from itertools import chain, takewhile
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from hessian_papers.formulas import prose
from hessian_papers.papers import PAPERS
from hessian_papers.theorems import THEOREMS

# In a docstring the line "Source: <paper>, Theorem 1 and 2; <paper>, eq. (3)." and its rest.
_SOURCE = re.compile(r"^Source: (.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
# The words of a place in a paper: theorems, sections and equations, and their numbers.
_WORD = re.compile(
    r"(theorem|corollar|remark|definition|algorithm|section|appendix|eq)\w*\.?"
    r"|\(?(?:[A-Z]\.)?\d[\w.]*\)?|[A-H]|and|to",
    re.IGNORECASE,
)
# What readers look for first.
_FIRST = ("theorem", "corollar", "remark", "definition", "algorithm")


class Entry(NamedTuple):
    """A function or class and a place that it computes.

    Args:
        paper: its key.
        place: in the paper.
        name: the public name, from the room on.
        text: what it is, the first paragraph of its docstring.
    """

    paper: str
    place: str
    name: str
    text: str


def places(docstring: str) -> list[tuple[str, str]]:
    r"""The papers and places that a docstring names as its source.

    Example:
        >>> places("It.\n\nSource: singh2026cracking, Theorems 3.1 to 3.3, eq. (1); Roy (2007).")
        [('singh2026cracking', 'Theorems 3.1 to 3.3, eq. (1)')]
    """
    named = []
    for text in _SOURCE.findall(inspect.cleandoc(docstring)):
        parts = re.split(rf"\b({'|'.join(PAPERS)})\b", " ".join(text.split()))
        for paper, rest in zip(parts[1::2], parts[2::2], strict=True):
            place = _place(rest)
            if place:
                named.append((paper, place))
    return named


def _place(text: str) -> str:
    """The place with which a text begins, without its equations in parentheses."""
    words = re.sub(r" \(eq[^)]*\)", "", text.lstrip(",")).split()
    taken = list(takewhile(lambda word: _WORD.fullmatch(word.rstrip(",;.")), words))
    # What ends a sentence or a list ends the place.
    end = next((at for at, word in enumerate(taken) if word[-1] in ";." and word != "eq."), None)
    place = " ".join(taken if end is None else taken[: end + 1]).rstrip(",;. ")
    place = re.sub(r" (and|to)$", "", place).rstrip(",")
    place = re.sub(r"^equations?", "eq.", place, flags=re.IGNORECASE)
    if place.count(")") > place.count("("):
        place = place.replace(")", "")
    return place[:1].upper() + place[1:]


def _members(room: ModuleType, name: str) -> Iterator[tuple[str, Any]]:
    """A public name and, of a class, its public methods."""
    member = getattr(room, name)
    yield name, member
    if inspect.isclass(member):
        for attribute, value in vars(member).items():
            if not attribute.startswith("_") and inspect.isfunction(value):
                yield f"{name}.{attribute}", value


def _first_paragraph(docstring: str) -> str:
    """The first paragraph of a docstring; its links are none outside of its room."""
    text = " ".join(docstring.partition("\n\n")[0].split())
    return re.sub(r":\w+:`([^`]+)`", r"``\1``", text)


def entries(room: ModuleType, names: Iterable[str]) -> list[Entry]:
    """The places of the papers that a room's public names compute."""
    short = room.__name__.rpartition(".")[2]
    return [
        Entry(paper, place, f"{short}.{name}", _first_paragraph(text))
        for name, member in chain.from_iterable(_members(room, name) for name in names)
        if callable(member) and (text := inspect.getdoc(member))
        for paper, place in places(text)
    ]


def _order(entry: Entry) -> Any:
    """Theorems first, then as the numbers are."""
    word = entry.place.lower()
    kind = next((rank for rank, name in enumerate(_FIRST) if word.startswith(name)), len(_FIRST))
    parts = re.split(r"(\d+)", word.replace("s ", " ", 1))
    return kind, [(part.isdigit(), int(part) if part.isdigit() else part) for part in parts]


def functions(named: Iterable[Entry]) -> str:
    """The table of a paper's places, the functions that compute them, and what these are."""
    listed = sorted(named, key=_order)
    lines = []
    for key, paper in PAPERS.items():
        own = [entry for entry in listed if entry.paper == key]
        if own:
            lines += ["", f".. rubric:: {paper.title}", ""]
            lines += [".. list-table::", "   :class: names places", "   :widths: 20 34 46", ""]
        for entry in own:
            link = f":py:obj:`{entry.name.partition('.')[2]} <hessian_spectra.{entry.name}>`"
            lines += [f"   * - {entry.place}", f"     - {link}", f"     - {entry.text}"]
    return "\n".join(lines) + "\n"


def errata() -> str:
    """The table of what is wrong in print, and what holds, as HTML."""
    rows = []
    for theorem in THEOREMS.values():
        if theorem.printed:
            where = "; ".join(f"{paper}, {place}" for paper, place in theorem.places.items())
            remark = f'<p class="remark">{prose(theorem.remark)}</p>' if theorem.remark else ""
            rows.append(
                f"<tr><td>{prose(where)}</td><td>{prose(theorem.printed)}</td>"
                f"<td>{prose(theorem.statement)}{remark}</td></tr>"
            )
    head = "<tr><th>where</th><th>in print</th><th>what holds, against brute force</th></tr>"
    return f'<table class="errata"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>\n'


def write(folder: Path, named: Iterable[Entry]) -> None:
    """Write both tables for the page that includes them."""
    (folder / "functions.inc").write_text(functions(named), "utf-8")
    (folder / "errata.inc").write_text(errata(), "utf-8")
