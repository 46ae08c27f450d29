"""The page as a whole."""

import urllib.parse
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hessian_papers.drawing.record import FigureRecord, Picture, read_figures
from hessian_papers.formulas import prose
from hessian_papers.ledger.leads import Leads
from hessian_papers.ledger.record import StatementRecord, all_cases, read_ledger
from hessian_papers.ledger.totals import by_paper_and_book, counts
from hessian_papers.ledger.verdicts import BOOK_NAMES, VERDICTS
from hessian_papers.report import plots, printed, runs, verdicts
from hessian_papers.report.entries import anchor, data_uri, overview, sections, shown
from hessian_papers.report.findings import Finding
from hessian_papers.report.notation import tables

# A few eigenvalues as bars: without an icon of its own a browser would look for one on the network.
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" '
    'stroke="#0072B2" stroke-width="2" d="M2 14V9M6 14V7M10 14V8"/><path fill="none" '
    'stroke="#D55E00" stroke-width="2" d="M14 14V2"/></svg>'
)

# In this order: what a later one says goes before what an earlier one does.
_STYLES = ("style.css", "tables.css", "navigation.css", "verdicts.css", "content.css", "charts.css")
_SCRIPT = "page.js"
# The first includes the others.
_TEMPLATES = ("page.html", "figure.html", "claim.html", "notation.html")


def _asset(name: str) -> Markup:
    return Markup(resources.files("hessian_papers.report").joinpath(name).read_text("utf-8"))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hessian_papers", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "axes": plots.axes,
        "bounds": verdicts.bounds,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "comparison": printed.comparison,
        "departing": verdicts.departing,
        "deviation": printed.deviation,
        "differing": verdicts.differing,
        "fields": verdicts.fields,
        "ground": verdicts.ground,
        "in_print": printed.in_print,
        "measured": verdicts.measured,
        "number": verdicts.number,
        "origins": verdicts.origins,
        "outcomes": verdicts.outcomes,
        "percent": printed.percent,
        "places": verdicts.places,
        "plot": plots.plot,
        "prose": prose,
        "remarks": verdicts.remarks,
        "shares": verdicts.shares,
        "shown": shown,
        "style": verdicts.style,
        "tally": verdicts.tally,
    }
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
        **{name: decided[name] for name in verdicts.RUNS},
    }


def _choices() -> dict[str, Any]:
    """The choices of the filter."""
    return {
        "verdicts": [(verdict, verdict) for verdict in VERDICTS],
        "books": BOOK_NAMES.items(),
        "runs": verdicts.RUNS.items(),
    }


def build(
    reports: Path,
    findings: Sequence[Finding] = (),
    durations: Mapping[str, Any] | None = None,
    *,
    leads: Leads = MappingProxyType({}),
    embedded: bool = False,
    paper: str = "",
    ledger: Path | None = None,
) -> str:
    """The report page as an HTML document that needs no network.

    Equal inputs give equal bytes.

    Args:
        reports: the folder that holds ``figures/`` and ``claims.json``. The page's place is there:
            its pictures and links are relative to it.
        findings: the sentences that it opens with.
        durations: how long figures took: ``seconds`` by study, and the ``processor``.
        leads: the sentences that stand over figures, by study.
        embedded: whether the pictures are part of the document, which then needs no other file and
            links none.
        paper: the key of a paper, for a page of its figures alone.
        ledger: the folder of ``claims.json``, if that is another one.

    Returns:
        The document.

    Raises:
        MissingResultError: an input is missing; the message names the stage to run.
        DamagedFileError: an input is broken.
    """
    figures = read_figures(reports, paper or "*")
    statements = read_ledger(
        ledger or reports, f"dvc repro {f'claims@{paper}' if paper else 'ledger'}"
    )

    def picture(shown: FigureRecord | Picture, part: str = "image") -> str:
        file: Path = shown.svg if part == "svg" and shown.svg.is_file() else shown.image
        return data_uri(shown) if embedded else file.relative_to(reports).as_posix()

    papers = sections(figures, statements, reports, durations or {}, leads)
    page = _environment().get_template(_TEMPLATES[0])
    return page.render(
        choices=_choices(),
        embedded=embedded,
        books=BOOK_NAMES,
        errata=[statement for statement in statements if statement.printed is not None],
        findings=findings,
        icon="data:image/svg+xml," + urllib.parse.quote(_ICON),
        notation=tables(),
        of_paper=paper,
        overview=overview(papers),
        papers=papers,
        picture=picture,
        script=_SCRIPT,
        styles=_STYLES,
        totals=_totals(statements, figures),
    )
