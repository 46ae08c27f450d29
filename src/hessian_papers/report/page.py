"""The page as a whole."""

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from hessian_papers.ledger.leads import Leads
from hessian_papers.ledger.record import StatementRecord, all_cases, read_ledger
from hessian_papers.ledger.totals import by_paper_and_book, counts
from hessian_papers.ledger.verdicts import BOOK_NAMES, VERDICTS
from hessian_papers.papers import PAPERS, paper
from hessian_papers.report import printed, runs, verdicts
from hessian_papers.report.entries import (
    Section,
    anchor,
    data_uri,
    sections,
    short,
    shown,
)
from hessian_papers.report.findings import Finding
from hessian_papers.report.links import FRONT, Links
from hessian_papers.report.notation import tables
from hessian_papers.report.search import search_index

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
# The first includes the others.
_TEMPLATES = (
    *("page.html", "front.html", "paper.html", "figure.html", "claim.html", "errata.html"),
    *("study.html", "notation.html", "playground.html"),
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
        *(verdicts.bounds, verdicts.departing, verdicts.differing, verdicts.ground),
        *(verdicts.leading, verdicts.measured, verdicts.number, verdicts.origins),
        *(verdicts.outcomes, verdicts.remarks, verdicts.shares, verdicts.strips),
        *(verdicts.style, verdicts.tally, plain, prose, sentence_case, short, shown),
    )
    environment.filters |= {function.__name__: function for function in filters}
    environment.globals |= {
        "anchor": anchor,
        "asset": _asset,
        "origin": runs.origin,
        "setting": verdicts.setting,
    }
    return environment


def _totals(
    statements: Sequence[StatementRecord], figures: Sequence[FigureRecord]
) -> dict[str, Any]:
    """The ledger in few numbers."""
    errata = sum(statement.printed is not None for statement in statements)
    papers = len({figure.paper for figure in figures})
    line = (
        f"{len(statements)} statements with {len(all_cases(statements))} cases, {len(figures)} "
        f"figures of {papers} {'paper' if papers == 1 else 'papers'}, {errata} "
        f"{'erratum' if errata == 1 else 'errata'}. A statement of several papers counts in each."
    )
    decided = verdicts.decided_by(statements)
    return {
        "line": line,
        "books": by_paper_and_book(statements),
        "counts": counts(statements),
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
        elsewhere: the paper on whose pages further studies are shown.
    """

    reports: Path
    figures: Sequence[FigureRecord]
    statements: Sequence[StatementRecord]
    sections: Sequence[Section]
    elsewhere: Mapping[str, str]

    @property
    def studies(self) -> dict[str, str]:
        """The paper of each study that has a figure."""
        return {**self.elsewhere, **{figure.study: figure.paper for figure in self.figures}}

    def parts(self, paper_: str) -> list[str]:
        """The pages of a paper: its own, and one of each of its figures."""
        own = [figure.study for figure in self.figures if figure.paper == paper_]
        return [paper_, *(f"{paper_}/{study}" for study in own)]


def read(
    reports: Path,
    durations: Mapping[str, Any] | None = None,
    *,
    leads: Leads = MappingProxyType({}),
    paper: str = "",
    ledger: Path | None = None,
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> Content:
    """Read what pages show.

    Args:
        reports: the folder that holds ``figures/`` and ``claims.json``.
        durations: how long figures took: ``seconds`` by study, and the ``processor``.
        leads: the sentences that stand over figures, by study.
        paper: the key of a paper, for its figures alone.
        ledger: the folder of ``claims.json``, if that is another one.
        elsewhere: studies of other papers that statements are measured on, with the paper of each.

    Raises:
        MissingResultError: an input is missing; the message names the stage to run.
        DamagedFileError: an input is broken.
    """
    figures = read_figures(reports, paper or "*")
    stage = f"paper@{paper}" if paper else "ledger"
    statements = read_ledger(ledger or reports, f"dvc repro {stage}")
    every = sections(figures, statements, reports, durations or {}, leads, elsewhere)
    return Content(reports, figures, statements, every, elsewhere)


def build(
    content: Content,
    findings: Sequence[Finding] = (),
    *,
    embedded: bool = False,
    part: str = "",
    kept: str = "",
) -> str:
    """A report page as an HTML document that needs no network.

    Equal inputs give equal bytes.

    Args:
        content: what it shows.
        findings: the sentences that it opens with.
        embedded: whether the pictures are part of the document, which then needs no other file and
            links none.
        part: ``index.html`` for the front, the key of a paper for its page, ``<paper>/<study>`` for
            a figure's, or nothing for a document that has all.
        kept: the settings of an experiment that it was made with, in words.
    """
    here, _, study = ("" if part == FRONT else part).partition("/")
    links = Links(part, content.studies)

    def picture(shown: FigureRecord | Picture, kind: str = "image") -> str:
        if embedded:
            return data_uri(shown)
        file: Path = shown.svg if kind == "svg" and shown.svg.is_file() else shown.image
        return links.root + file.relative_to(content.reports).as_posix()

    environment = _environment()
    environment.globals |= {
        "figure_page": links.figure_page,
        "link": links.link,
        "row": links.row,
    }
    every, statements = content.sections, content.statements
    return environment.get_template(_TEMPLATES[0]).render(
        embedded=embedded,
        books=BOOK_NAMES,
        errata=[statement for statement in statements if statement.printed is not None],
        findings=findings,
        front=not here,
        here=here,
        icon="data:image/svg+xml," + urllib.parse.quote(_ICON),
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
        shown_figures={figure.study: figure.recorded or figure for figure in content.figures},
        styles=_STYLES,
        title=_title(here, study, content.figures),
        totals=_totals(statements, content.figures),
        verdicts=VERDICTS,
        version=_version(),
        whole=not part,
        **_alone(every, study),
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


def _title(paper_: str, study: str, figures: Sequence[FigureRecord]) -> str:
    name = "Hessian spectra"
    if study:
        heading = next(figure.heading for figure in figures if figure.study == study)
        return f"{heading} – {name}"
    return f"{paper(paper_).title} – {name}" if paper_ else name


def index(content: Content) -> str:
    """The index that the pages search, as a script: ``search-index.js`` beside them."""
    # Seen from nowhere: each address names its page.
    links = Links("-", content.studies)

    def picture(shown: FigureRecord | Picture) -> str:
        return shown.image.relative_to(content.reports).as_posix()

    return search_index(content.sections, picture, links)
