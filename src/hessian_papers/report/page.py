"""The page as a whole."""

import urllib.parse
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hessian_papers.drawing.record import FigureRecord, read_figures
from hessian_papers.ledger.bounds import KINDS, VERDICTS
from hessian_papers.ledger.record import ClaimRecord, read_claims
from hessian_papers.ledger.totals import counts, statements
from hessian_papers.report import verdicts
from hessian_papers.report.entries import anchor, data_uri, overview, sections, shown
from hessian_papers.report.findings import Finding
from hessian_papers.report.formulas import number, prose
from hessian_papers.report.notation import marked, tables

# A few eigenvalues as bars: without an icon of its own a browser would look for one on the network.
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" '
    'stroke="#0072B2" stroke-width="2" d="M2 14V9M6 14V7M10 14V8"/><path fill="none" '
    'stroke="#D55E00" stroke-width="2" d="M14 14V2"/></svg>'
)

# In this order: what a later one says goes before what an earlier one does.
_STYLES = ("style.css", "tables.css", "navigation.css", "verdicts.css", "content.css")
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
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "differing": verdicts.differing,
        "expected": verdicts.expected,
        "fields": verdicts.fields,
        "ground": verdicts.ground,
        "marked": marked,
        "measured": verdicts.measured,
        "note": verdicts.note,
        "notes": verdicts.notes,
        "number": number,
        "otherwise": verdicts.otherwise,
        "places": verdicts.places,
        "prose": prose,
        "remarks": verdicts.remarks,
        "shares": verdicts.shares,
        "shown": shown,
        "style": verdicts.style,
        "tally": verdicts.tally,
        "usual": verdicts.usual,
    }
    environment.globals |= {
        "anchor": anchor,
        "asset": _asset,
        "run_name": verdicts.run_name,
        "setting": verdicts.setting,
    }
    return environment


def _totals(claims: Sequence[ClaimRecord], figures: Sequence[FigureRecord]) -> dict[str, Any]:
    """The ledger in few numbers."""
    stated = statements(claims)
    found = Counter(choice for claim in stated for choice in verdicts.runs(claim))
    errata = sum(claim.printed is not None for claim in claims)
    papers = len({figure.paper for figure in figures})
    line = (
        f"{len(stated)} claims in {len(claims)} entries, {len(figures)} figures of {papers} "
        f"{'paper' if papers == 1 else 'papers'}, {errata} "
        f"{'erratum' if errata == 1 else 'errata'}. What several papers state has an entry for "
        "each of them and counts once, with the least favourable verdict."
    )
    return {
        "line": line,
        "counts": counts(claims),
        **{name: found[name] for name in verdicts.RUNS},
    }


def _choices(claims: Sequence[ClaimRecord]) -> dict[str, Any]:
    """What the filter offers."""
    kinds = [kind for kind in KINDS if any(claim.kind == kind for claim in claims)]
    alike = {"verdicts": VERDICTS, "kinds": kinds}
    found = {name: [(value, value) for value in values] for name, values in alike.items()}
    return found | {"runs": verdicts.RUNS}


def build(
    reports: Path,
    found: Sequence[Finding] = (),
    durations: Mapping[str, Any] | None = None,
    *,
    embedded: bool = False,
) -> str:
    """The report page as an HTML document that needs no network.

    Equal inputs give equal bytes.

    Args:
        reports: the folder that holds ``figures/`` and ``claims.json``. The page's place is there:
            its pictures and links are relative to it.
        found: the sentences that it opens with.
        durations: how long figures took: ``seconds`` by study, and the ``processor``.
        embedded: whether the pictures are part of the document, which then needs no other file and
            links none.

    Returns:
        The document.

    Raises:
        MissingResultError: an input is missing; the message names the stage to run.
        DamagedFileError: an input is broken.
    """
    figures, claims = read_figures(reports), read_claims(reports)

    def picture(figure: FigureRecord) -> str:
        return data_uri(figure) if embedded else figure.image.relative_to(reports).as_posix()

    papers = sections(figures, claims, reports, durations or {})
    page = _environment().get_template(_TEMPLATES[0])
    return page.render(
        choices=_choices(claims),
        embedded=embedded,
        errata=[claim for claim in claims if claim.printed is not None],
        findings=found,
        icon="data:image/svg+xml," + urllib.parse.quote(_ICON),
        notation=tables(),
        overview=overview(papers),
        papers=papers,
        picture=picture,
        script=_SCRIPT,
        styles=_STYLES,
        totals=_totals(claims, figures),
    )
