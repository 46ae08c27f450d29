"""The page as a whole."""

import urllib.parse
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from hessian_spectra.drawing.record import FigureRecord, read_figures
from hessian_spectra.ledger.record import ClaimRecord, read_claims
from hessian_spectra.ledger.totals import counts, statements
from hessian_spectra.papers import paper, reading_order
from hessian_spectra.report.claims import (
    DISAGREE,
    RECORDED,
    TODAY,
    claims_section,
    errata_section,
    runs,
)
from hessian_spectra.report.figures import figure_article, paper_section
from hessian_spectra.report.html import Child, Html, anchor, join, tag
from hessian_spectra.report.symbols import notation_section
from hessian_spectra.report.verdicts import badge

_TITLE = "Hessian spectra"
_INTRODUCTION = (
    "The eigenvalues of a network's loss Hessian tell how sharply the loss curves around its "
    "weights. For some networks all of them, and their eigenvectors, are known in closed form. "
    "This page shows what the papers print, what this repository computed from the same formulas "
    "and from Hessian-vector products, and how far the two agree. Every figure and every number "
    "was made by the commands beside it."
)

# A few eigenvalues as bars: without an icon of its own a browser would look for one on the network.
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" '
    'stroke="#0072B2" stroke-width="2" d="M2 14V9M6 14V7M10 14V8"/><path fill="none" '
    'stroke="#D55E00" stroke-width="2" d="M14 14V2"/></svg>'
)

# In this order: what the second and third say goes before the first.
_STYLES = ("style.css", "tables.css", "content.css")

# The browser itself refuses whatever would reach beyond the file.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def _asset(name: str) -> Html:
    return Html(resources.files("hessian_spectra.report").joinpath(name).read_text("utf-8"))


def _head() -> Html:
    icon = "data:image/svg+xml," + urllib.parse.quote(_ICON)
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", _TITLE),
        tag("link", rel="icon", href=icon),
        tag("style", *map(_asset, _STYLES)),
    )


def _show(field: str, choice: str, *content: Child) -> Html:
    """A link to the table of claims, filtered by one of its fields."""
    return tag("a", *content, href="#claims", data_field=field, data_show=choice)


def _runs(stated: Sequence[ClaimRecord]) -> Html:
    """How many claims were decided by which run."""
    found = Counter(choice for claim in stated for choice in runs(claim))
    if not found[RECORDED]:
        return Html("Today’s run decides all of them.")
    return join(
        "The strongest run of a study decides, and what the other says stands beside it: ",
        _show("run", RECORDED, f"{found[RECORDED]} claims"),
        " are decided by recorded runs, whose arrays are kept, ",
        _show("run", TODAY, f"{found[TODAY]}"),
        " by today’s run, which made this page; on ",
        _show("run", DISAGREE, f"{found[DISAGREE]}"),
        " the two disagree.",
    )


def _summary(claims: Sequence[ClaimRecord], figures: Sequence[FigureRecord]) -> Html:
    boxes = [
        tag("li", _show("verdict", name, tag("span", str(count), class_="count"), badge(name)))
        for name, count in counts(claims).items()
    ]
    errata = sum(claim.printed is not None for claim in claims)
    papers = len({figure.paper for figure in figures})
    stated = statements(claims)
    line = (
        f"{len(stated)} claims in {len(claims)} entries, {len(figures)} figures of {papers} "
        f"{'paper' if papers == 1 else 'papers'}, {errata} "
        f"{'erratum' if errata == 1 else 'errata'}. What several papers state has an entry for "
        "each of them and counts once, with the least favourable verdict."
    )
    return tag(
        "section",
        tag("h2", "Summary"),
        tag("p", line),
        tag("ul", *boxes, class_="counts"),
        tag("p", _runs(stated)),
        tag(
            "p",
            "Reproduced: it holds within its tolerance. Corrected: what is in print does not hold, "
            "our correction does. Differs: it does not hold here, and the entry says why, or which "
            "settings are not the paper’s. Undecided: a part of the measured interval holds and a "
            "part does not. Not run at this scale: it takes a longer run.",
        ),
        id="summary",
    )


def _navigation(keys: Sequence[str], figures: Sequence[FigureRecord]) -> Html:
    def link(href: str, text: str) -> Html:
        return tag("a", text, href=f"#{href}")

    entries = [tag("li", link("summary", "Summary"))]
    for key in keys:
        own = [
            tag("li", link(anchor("figure", figure.study), figure.artifact), title=figure.title)
            for figure in figures
            if figure.paper == key
        ]
        head = tag("a", key, href=f"#{anchor('paper', key)}", title=paper(key).title)
        entries.append(tag("li", head, tag("ul", *own) if own else None))
    entries += [
        tag("li", link(name, name.capitalize())) for name in ("claims", "errata", "notation")
    ]
    return tag("nav", tag("ul", *entries), aria_label="Contents")


def _paper(
    key: str, reports: Path, figures: Sequence[FigureRecord], claims: Sequence[ClaimRecord]
) -> Html:
    articles, shown = [], set()
    for figure in figures:
        if figure.paper != key:
            continue
        own = [claim for claim in claims if claim.study == figure.study]
        shown |= {claim.id for claim in own}
        articles.append(figure_article(figure, own, reports))
    others = [claim for claim in claims if claim.paper == key and claim.id not in shown]
    return paper_section(key, articles, others)


def build(reports: Path) -> str:
    """The report page as one HTML document that needs no network and no other file.

    Equal inputs give equal bytes.

    Args:
        reports: the folder that holds ``figures/`` and ``claims.json``. Links to the PDFs are
            relative to it.

    Returns:
        The document.

    Raises:
        MissingResultError: an input is missing; the message names the stage to run.
        RecordError: an input is broken.
    """
    figures, claims = read_figures(reports), read_claims(reports)
    keys = sorted({f.paper for f in figures} | {c.paper for c in claims}, key=reading_order)
    drawn = frozenset(figure.study for figure in figures)
    header = tag(
        "header",
        tag("a", "Skip to the content", href="#summary", class_="skip"),
        tag("h1", _TITLE),
        tag("p", _INTRODUCTION),
    )
    main = tag(
        "main",
        _summary(claims, figures),
        *(_paper(key, reports, figures, claims) for key in keys),
        claims_section(claims, drawn),
        errata_section(claims),
        notation_section(),
    )
    footer = tag("footer", tag("p", "Made by ", tag("code", "dvc repro report"), "."))
    body = tag(
        "body",
        header,
        tag("div", _navigation(keys, figures), main, class_="columns"),
        footer,
        tag("script", _asset("filter.js")),
    )
    document = tag("html", _head(), body, lang="en")
    return join(Html("<!DOCTYPE html>\n"), document, Html("\n"))
