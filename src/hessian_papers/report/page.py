"""The page as a whole."""

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from importlib.metadata import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import hessian_spectra
from hessian_papers.drawing.record import FigureRecord, Picture, read_figures
from hessian_papers.formulas import plain, prose, sentence_case
from hessian_papers.ledger.changes import Move
from hessian_papers.ledger.leads import Leads
from hessian_papers.ledger.record import StatementRecord, all_cases, misprints, read_ledger
from hessian_papers.ledger.totals import totals, words
from hessian_papers.ledger.verdicts import BOOK_NAMES, VERDICTS
from hessian_papers.papers import PAPERS, paper
from hessian_papers.report import printed, runs, verdicts
from hessian_papers.report.commands import Command
from hessian_papers.report.entries import (
    RESULTS,
    Entry,
    Section,
    anchor,
    data_uri,
    sections,
    short,
    shown,
)
from hessian_papers.report.findings import Finding
from hessian_papers.report.links import FRONT, STATES, Links
from hessian_papers.report.notation import tables
from hessian_papers.report.search import search_index
from hessian_papers.report.small_pictures import drawing

# A few eigenvalues as bars: without an icon of its own a browser would look for one on the network.
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" '
    'stroke="#0072B2" stroke-width="2" d="M2 14V9M6 14V7M10 14V8"/><path fill="none" '
    'stroke="#D55E00" stroke-width="2" d="M14 14V2"/></svg>'
)

# In this order: what a later one says goes before what an earlier one does.
_STYLES = (
    *("style.css", "tables.css", "navigation.css", "verdicts.css", "content.css"),
    *("charts.css", "study.css", "front.css", "print.css"),
)
# Templates take these in where they are needed.
_ASSETS = ("page.js", "search.js", "charts.js", "playground.js", "playground.css")
# The first includes the others, or is what they extend.
_TEMPLATES = (
    *("page.html", "front.html", "paper.html", "figure.html", "claim.html", "errata.html"),
    *("study.html", "states.html", "notation.html", "playground.html"),
    *("alone.html", "changes.html", "comparison.html"),
    "small_picture.html",
)
# The index that every page searches.
INDEX = "search-index.js"


def _asset(name: str) -> Markup:
    text = resources.files("hessian_papers.report").joinpath(name).read_text("utf-8")
    # Every page carries the styles: without indentation and comments.
    return Markup(re.sub(r"\n\s+|/\*.*?\*/", "\n", text) if name.endswith("css") else text)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hessian_papers", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (
        *(printed.comparison, printed.deviation, printed.in_print, printed.percent),
        *(verdicts.because, verdicts.bounds, verdicts.decided, verdicts.departing),
        *(verdicts.differing, verdicts.ground, verdicts.leading, verdicts.measured),
        *(verdicts.number, verdicts.of_ours, verdicts.of_papers, verdicts.origins),
        *(verdicts.outcomes, verdicts.remarks, verdicts.shares, verdicts.strips),
        *(verdicts.style, verdicts.tally, verdicts.undecided, words),
        *(plain, prose, sentence_case, short, shown),
    )
    environment.filters |= {function.__name__: function for function in filters}
    environment.globals |= {
        "anchor": anchor,
        "asset": _asset,
        "drawing": drawing,
        "origin": runs.origin,
        "setting": verdicts.setting,
    }
    return environment


def _totals(
    statements: Sequence[StatementRecord], figures: Sequence[FigureRecord]
) -> dict[str, Any]:
    """The ledger in few numbers."""
    known, papers = totals(statements), len({figure.paper for figure in figures})
    number = {"papers": sum(known.papers.values()), "beyond": sum(known.beyond.values())}
    line = (
        f"{number['papers']} statements of the papers and {number['beyond']} beyond them, with "
        f"{len(all_cases(statements))} cases; {len(figures)} figures of "
        f"{verdicts.counted(papers, 'paper')}; {verdicts.counted(known.misprints, 'misprint')}. "
        f"A statement of several papers counts in each of them, and what is beyond the papers in "
        f"none."
    )
    decided = verdicts.decided_by(statements)
    return {
        "line": line,
        **vars(known),
        **{name: decided[name] for name in ("today", "recorded", "disagree")},
    }


def _version() -> dict[str, str]:
    names = {"number": "__version__", "date": "__date__"}
    about = {key: str(getattr(hessian_spectra, name)) for key, name in names.items()}
    return about | {"licence": metadata("hessian-spectra")["License-Expression"]}


@dataclass(frozen=True)
class Content:
    """The content of the pages, read once for all of them.

    Args:
        reports: the folder of the pages; their pictures and links are relative to it.
        figures: in the order in which they are shown.
        statements: the ledger.
        sections: the papers with their figures and statements.
    """

    reports: Path
    figures: Sequence[FigureRecord]
    statements: Sequence[StatementRecord]
    sections: Sequence[Section]

    @property
    def studies(self) -> dict[str, str]:
        """The paper of each study that has a figure."""
        return {figure.study: figure.paper for figure in self.figures}

    @property
    def parts(self) -> list[str]:
        """The pages: the front, the table of states, and of each paper its own and its figures'."""
        papers = dict.fromkeys(self.studies.values())
        figures = (f"{paper_}/{study}" for study, paper_ in self.studies.items())
        return [FRONT, STATES, *papers, *figures]


@dataclass(frozen=True)
class Alone:
    """The words of a document of one study's run, beside its figure and statements.

    Args:
        committed: the settings that are not the committed ones, ``[value here, the committed]``.
        old: in words, the run that it is held against; empty if there is none.
        moves: the statements that moved against that.
        command: what made the run.
        compare: what compares both.
        whole: the verdicts of the whole ledger, by id; empty where none is known.
    """

    committed: Mapping[str, Sequence[Any]]
    old: str
    moves: Sequence[Move]
    command: str
    compare: str
    whole: Mapping[str, str] = field(default_factory=dict)

    def first(self, entry: Entry) -> Entry:
        """An entry with the statements that moved before the others, and the run's own commands."""
        order = [move.statement.id for move in self.moves]
        order += [shown.statement.id for shown in entry.statements]
        statements = sorted(entry.statements, key=lambda shown: order.index(shown.statement.id))
        own = [Command("make it", self.command), Command("compare it", self.compare)]
        return replace(entry, statements=statements, commands=[*own, *entry.commands[1:]])


def read(
    reports: Path,
    durations: Mapping[str, Any] | None = None,
    *,
    leads: Leads = MappingProxyType({}),
    results: Path = RESULTS,
) -> Content:
    """Read what pages show.

    Args:
        reports: the folder that holds ``figures/`` and ``claims.json``.
        durations: how long figures took: ``seconds`` by study, and the ``processor``.
        leads: the sentences that stand over figures, by study.
        results: the folder of data sets, if that is another one.

    Raises:
        MissingResultError: an input is missing; the message names the stage to run.
        DamagedFileError: an input is broken.
    """
    figures, statements = read_figures(reports), read_ledger(reports)
    every = sections(figures, statements, reports, durations or {}, leads, results)
    return Content(reports, figures, statements, every)


def build(
    content: Content,
    findings: Sequence[Finding] = (),
    *,
    embedded: bool = False,
    part: str = "",
    kept: str = "",
    alone: Alone | None = None,
) -> str:
    """A report page as an HTML document that needs no network.

    Equal inputs give equal bytes.

    Args:
        content: what it shows.
        findings: the sentences that it opens with.
        embedded: whether the pictures are part of the document, which then needs no other file and
            links none.
        part: ``index.html`` for the front, ``states.html`` for the state and the assumptions of
            each statement, the key of a paper for its page, ``<paper>/<study>`` for a figure's, or
            nothing for a document that has all.
        kept: the settings of an experiment that it was made with, in words.
        alone: of the run of one study, what its document says more.
    """
    here, _, study = ("" if part in (FRONT, STATES) else part).partition("/")
    study = content.figures[0].study if alone else study
    links = Links(part, content.studies)

    def picture(shown: FigureRecord | Picture, kind: str = "image") -> str:
        if embedded:
            return data_uri(shown)
        file: Path = shown.svg if kind == "svg" and shown.svg.is_file() else shown.image
        return links.root + file.relative_to(content.reports).as_posix()

    every, statements = content.sections, content.statements
    return document(
        "alone.html" if alone else _TEMPLATES[0],
        {"figure_page": links.figure_page, "link": links.link, "row": links.row},
        alone=alone,
        embedded=embedded,
        books=BOOK_NAMES,
        errata=misprints(statements),
        findings=findings,
        front=part in ("", FRONT),
        here=here,
        # A document that has all searches itself.
        index=""
        if part
        else Markup(search_index(every, (lambda _: "") if embedded else picture, links)),
        kept=kept,
        menu=[paper(key) for key in ([*PAPERS] if here else [section.key for section in every])],
        notation=tables(),
        sections=every,
        papers=[s for s in every if not part or (s.key == here and not study)],
        picture=picture,
        root=links.root,
        states=statements if part in ("", STATES) else [],
        shown_figures={figure.study: figure.recorded or figure for figure in content.figures},
        title=_title(part, study, content.figures),
        totals=_totals(statements, content.figures),
        verdicts=VERDICTS,
        whole=not part,
        **_alone(every, study),
    )


def document(
    template: str, functions: Mapping[str, Any], *, embedded: bool = False, **values: Any
) -> str:
    """A document in the style of the pages.

    Args:
        template: the name of its file.
        functions: further ones that templates call.
        embedded: whether its pictures are part of it.
        values: what it shows, by the template's names.
    """
    environment = _environment()
    environment.globals |= functions
    return environment.get_template(template).render(
        embedded=embedded,
        icon="data:image/svg+xml," + urllib.parse.quote(_ICON),
        styles=_STYLES,
        version=_version(),
        **values,
    )


def _alone(papers: Sequence[Section], study: str) -> dict[str, Any]:
    """The content of a figure's own page: its entry, its paper, and the figures beside it."""
    for section in papers:
        for place, entry in enumerate(section.entries):
            if entry.figure.study == study:
                beside = {"prev": place - 1, "next": place + 1}
                known = {k: v for k, v in beside.items() if 0 <= v < len(section.entries)}
                neighbours = {name: section.entries[other] for name, other in known.items()}
                return {"study": entry, "section": section, "neighbours": neighbours}
    return {"study": None, "section": None, "neighbours": {}}


def _title(part: str, study: str, figures: Sequence[FigureRecord]) -> str:
    name = "Hessian spectra"
    if study:
        heading = next(figure.heading for figure in figures if figure.study == study)
        return f"{heading} – {name}"
    if part == STATES:
        return f"State and assumptions of every statement – {name}"
    return f"{paper(part).title} – {name}" if part not in ("", FRONT) else name


def cards(findings: Sequence[Finding]) -> dict[str, str]:
    """Each finding that is stated, by its name: its small picture and sentence, as a document."""
    template = _environment().from_string(
        "{% from 'small_picture.html' import small_picture with context %}"
        "<!doctype html><meta charset='utf-8'><style>{{ asset('style.css') }}"
        "{{ asset('front.css') }}</style>"
        "{{ small_picture(drawing(item.picture)) }}<p>{{ item.text | prose }}</p>"
    )
    return {item.name: template.render(item=item) for item in findings if item.picture}


def index(content: Content) -> str:
    """The index that the pages search, as a script: ``search-index.js`` beside them."""
    # Seen from nowhere: each address names its page.
    links = Links("-", content.studies)

    def picture(shown: FigureRecord | Picture) -> str:
        return shown.image.relative_to(content.reports).as_posix()

    return search_index(content.sections, picture, links)
