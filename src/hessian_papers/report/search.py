"""The index that the pages search: figures, statements, symbols and sections with their words."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import yaml

from hessian_papers.drawing.record import FigureRecord, Picture
from hessian_papers.formulas import plain
from hessian_papers.ledger.record import StatementRecord
from hessian_papers.papers import paper
from hessian_papers.report.entries import Entry, Section, anchor, flat
from hessian_papers.report.links import Links
from hessian_papers.report.notation import COLUMNS, tables

# The variable of the script that holds the index.
_VARIABLE = "window.searchIndex"
# The sections of the front, with what stands there.
_SECTIONS = {
    "playground": ("Playground", "three theorems beside brute force, live"),
    "findings": ("Findings", "what was measured, each with its picture"),
    "verdicts": ("Verdicts", "all papers, statement by statement"),
    "errata": ("Misprints", "the printed and the corrected forms"),
    "states": ("States", "state and assumptions of every statement"),
    "notation": ("Notation", "the papers’ symbols beside ours"),
}


def _words(values: Iterable[Any]) -> str:
    """Values as words, each once, in the order in which they come first."""
    words = " ".join(str(value) for value in values).replace("_", " ").split()
    return " ".join(dict.fromkeys(words))


def _settings(figure: FigureRecord) -> str:
    """The names and values of a run's settings, and of those that depart from the paper's."""
    runs = [run for run in (figure.recorded, figure) if run is not None]
    tables: list[Mapping[str, Any]] = [run.config for run in runs]
    tables += [{key: pair[0] for key, pair in run.provenance.departs.items()} for run in runs]
    return _words(text for table in tables for pair in flat(table).items() for text in pair)


def _figure(entry: Entry, picture: Callable[[FigureRecord | Picture], str], at: Links) -> Any:
    figure = entry.figure
    shown = entry.runs[0].figure
    places = (shown_.statement.places.get(figure.paper, "") for shown_ in entry.statements)
    captions = (f"{run.lead} {run.figure.caption}" for run in entry.runs)
    return {
        "artifact": figure.artifact,
        "paper": paper(figure.paper).short,
        "title": plain(figure.title),
        "name": _words([figure.study, figure.config["kind"], *places]),
        "settings": _settings(figure),
        "caption": plain(" ".join(captions)),
        "href": at.figure_page(figure.study),
        "image": picture(shown),
    }


def _statement(statement: StatementRecord, figures: Mapping[str, int], at: Links) -> Any:
    labels = (label for case in statement.cases for label in case.labels.values())
    studies = (case.study for case in statement.cases if case.study is not None)
    measured = (figures[study] for study in studies if study in figures)
    misprints = (f"misprint. In print: {part.printed}." for part in statement.misprints)
    parts = (part.sentence for part in statement.parts[1:])
    said = [*misprints, *parts, statement.state, statement.assumes, statement.statistic]
    return {
        "figures": [*dict.fromkeys(measured)],
        "name": f"{statement.id} {plain(_words(statement.places.values()))}",
        "title": plain(statement.sentence),
        "verdict": statement.verdict,
        "ours": statement.book == "beyond",
        "caption": plain(" ".join([*said, _words(labels)])),
        "href": at.row(statement),
    }


def _places(papers: Sequence[Section], at: Links) -> list[dict[str, str]]:
    """Sections, papers and the rows of the notation: what is no figure and no statement."""
    places = [(*text, "", at.link("", name)) for name, text in _SECTIONS.items()]
    for section in papers:
        key, about = section.key, section.about
        words = f"{key} {about.short} {about.authors}"
        places.append(("Paper", about.title, words, at.link(key, anchor("paper", key))))
    for number, group in enumerate(tables()["groups"], start=1):
        for row, symbol in enumerate(group["symbols"], start=1):
            said = dict.fromkeys(symbol[name] for name in ("ours", *COLUMNS) if name in symbol)
            text = plain("; ".join(said)).replace("`", "")
            href = at.link("", f"symbol-{number}-{row}")
            places.append(("Symbol", plain(symbol["meaning"]), text, href))
    names = ("artifact", "title", "name", "href")
    return [dict(zip(names, place, strict=True)) for place in places]


def search_index(
    papers: Sequence[Section], picture: Callable[[FigureRecord | Picture], str], at: Links
) -> str:
    """The index as a script, which a page opened from disk may load, too.

    Args:
        papers: with their figures and statements.
        picture: the address of a picture.
        at: the addresses of figures and statements.
    """
    file = resources.files("hessian_papers.report").joinpath("synonyms.yaml")
    entries = [entry for section in papers for entry in section.entries]
    places = {entry.figure.study: place for place, entry in enumerate(entries)}
    said = {s.statement.id: s.statement for section in papers for s in section.statements}
    content = {
        "figures": [_figure(entry, picture, at) for entry in entries],
        "statements": [_statement(statement, places, at) for statement in said.values()],
        "places": _places(papers, at),
        "synonyms": yaml.safe_load(file.read_text("utf-8")),
    }
    # As a part of a page, too, no text may end the script, or look like an element.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"{_VARIABLE}={text};\n"
