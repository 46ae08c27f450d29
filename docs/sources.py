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
# What readers look for first, in this order.
_KINDS = {
    "Theorem": "Theorem",
    "Corollar": "Corollary",
    "Remark": "Remark",
    "Definition": "Definition",
    "Algorithm": "Algorithm",
}
_NUMBER = r"(?:[A-Z]\.)?\d+(?:\.\d+)*"
_THEOREMS = re.compile(
    rf"({'|'.join(_KINDS)})(?:y|ies|s)? ({_NUMBER}(?:(?:, | and | to ){_NUMBER})*)"
)
_EQUATION = re.compile(r"Eq(?:\.|uation) \(?(\w+)\)?")
# Of places in the catalogue: what stands near a theorem and is not what it says.
_ASIDE = re.compile("beyond|below|displays|footnote|stronger")


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


def labels(place: str) -> list[str]:
    """The theorems that a place names, one by one; else its only equation; else the place.

    Example:
        >>> labels("Theorems 3.1 to 3.3, eq. (1), (2)")
        ['Theorem 3.1', 'Theorem 3.2', 'Theorem 3.3']
        >>> labels("Equation 10"), labels("Appendix C")
        (['Eq. (10)'], ['Appendix C'])
    """
    named = [
        f"{_KINDS[kind]} {number}"
        for kind, numbers in _THEOREMS.findall(place)
        for number in _numbers(numbers)
    ]
    equation = _EQUATION.fullmatch(place)
    return named or ([f"Eq. ({equation[1]})"] if equation else [place])


def _numbers(text: str) -> Iterator[str]:
    """The numbers of a list such as ``B.2, B.3`` or ``3.1 to 3.3``."""
    first, *rest = re.split(r"(, | and | to )", text)
    yield first
    for word, number in zip(rest[::2], rest[1::2], strict=True):
        if word == " to ":
            stem, _, start = first.rpartition(".")
            dot = "." if stem else ""
            last = int(number.rpartition(".")[2])
            yield from (f"{stem}{dot}{between}" for between in range(int(start) + 1, last))
        yield number
        first = number


def _order(label: str) -> Any:
    """A sort key: theorems first, then by the numbers."""
    kinds = [*_KINDS.values()]
    kind = next((place for place, name in enumerate(kinds) if label.startswith(name)), len(kinds))
    parts = re.split(r"(\d+)", label)
    return kind, [(part.isdigit(), int(part) if part.isdigit() else part) for part in parts]


def statement(paper: str, label: str) -> str:
    """The sentence of the catalogue about a theorem; empty if it has none.

    Of several it is the first that is about this theorem alone.
    """
    about = [
        (len(labels(place)), theorem.statement)
        for theorem in THEOREMS.values()
        if (place := theorem.places.get(paper, "")) and not _ASIDE.search(place)
        if label in labels(place)
    ]
    return min(about, key=lambda item: item[0])[1] if about else ""


def _in_restructured_text(text: str) -> str:
    """A text with formulas between dollars in the markup of the reference's pages."""
    parts = re.split(r"\$([^$]+)\$", text)
    for place, part in enumerate(parts):
        escaped = re.sub(r"([*_|`\\])", r"\\\1", part)
        parts[place] = f"\\ :math:`{part}`\\ " if place % 2 else escaped
    return "".join(parts)


def functions(named: Iterable[Entry]) -> str:
    """The table of a paper's theorems: the functions that compute each, and what it says.

    Where the catalogue of theorems has no sentence, what the first function is stands there.
    """
    rows: dict[str, dict[str, list[Entry]]] = {key: {} for key in PAPERS}
    for entry in named:
        for label in labels(entry.place):
            rows[entry.paper].setdefault(label, []).append(entry)
    lines = []
    for key, paper in PAPERS.items():
        if rows[key]:
            lines += ["", f".. rubric:: {key}: {paper.title}", ""]
            lines += [".. list-table::", "   :class: names places", "   :widths: 16 34 50", ""]
        for label in sorted(rows[key], key=_order):
            own = rows[key][label]
            links = ", ".join(
                f":py:obj:`{entry.name.partition('.')[2]} <hessian_spectra.{entry.name}>`"
                for entry in own
            )
            said = statement(key, label)
            text = _in_restructured_text(said) if said else own[0].text
            lines += [f"   * - {label}", f"     - {links}", f"     - {text}"]
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
