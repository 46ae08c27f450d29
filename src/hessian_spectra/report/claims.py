"""Claims on the page: the list under a figure, the filterable table, the errata."""

from collections import Counter
from collections.abc import Iterable, Sequence

from hessian_spectra.ledger.bounds import KINDS, VERDICTS
from hessian_spectra.ledger.record import ClaimRecord
from hessian_spectra.papers import paper, reading_order
from hessian_spectra.report.html import Html, anchor, cell, join, number, prose, table, tag
from hessian_spectra.report.verdicts import badge, beside, decided, departing, expected, measured

# What the filter tells apart by the runs behind a claim.
TODAY, RECORDED, DISAGREE = "today’s decides", "recorded decides", "the two disagree"

# Lists of more claims than this start closed.
_OPEN_UP_TO = 6


def _tally(claims: Sequence[ClaimRecord]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    noun = "claim" if len(claims) == 1 else "claims"
    found = Counter(choice for claim in claims for choice in runs(claim))
    by = f"; {found[RECORDED]} by the recorded run" if found[RECORDED] else ""
    apart = f", on {found[DISAGREE]} the two runs disagree" if found[DISAGREE] else ""
    return f"{len(claims)} {noun}: {', '.join(parts)}{by}{apart}"


def _item(claim: ClaimRecord, home: str) -> Html:
    place = claim.location if claim.paper == home else f"{claim.paper}, {claim.location}"
    numbers = None
    if claim.measured is not None:
        numbers = tag(
            "p",
            "measured ",
            measured(claim),
            ", expected ",
            expected(claim),
            class_="numbers",
        )
    return tag(
        "li",
        tag("div", decided(claim)),
        tag(
            "div",
            tag(
                "p",
                tag("a", place, href=f"#{anchor('claim', claim.id)}"),
                ": ",
                prose(claim.statement),
            ),
            numbers,
            departing(claim),
            beside(claim),
            tag("p", prose(claim.explanation), class_="remark") if claim.explanation else None,
        ),
    )


def claim_list(claims: Sequence[ClaimRecord], label: str, home: str) -> Html | None:
    """The claims that belong together, each with its verdict; ``None`` if there are none.

    Args:
        claims: in the order in which they are shown.
        label: what the list is, for a screen reader.
        home: key of the paper under which the list stands; others are named.
    """
    if not claims:
        return None
    items = tag("ul", *(_item(claim, home) for claim in claims), class_="claims", aria_label=label)
    return tag(
        "details",
        tag("summary", _tally(claims)),
        items,
        open=len(claims) <= _OPEN_UP_TO,
        class_="claim-list",
    )


def _details(claim: ClaimRecord) -> Html:
    """What stands behind a claim, folded away in its row."""
    other = claim.beside.explanation if claim.beside else ""
    entries: list[tuple[str, str | Html | None]] = [
        ("id", tag("code", claim.id)),
        ("expected value from", prose(claim.source) if claim.measured is not None else None),
        ("tolerance because", prose(claim.reason)),
        ("in print", prose(claim.printed) if claim.printed else None),
        ("remark", prose(claim.explanation)),
        ("on the other run", prose(other) if other != claim.explanation else None),
        ("test", tag("code", claim.test) if claim.test else None),
        ("configuration", tag("code", claim.digest) if claim.digest else None),
    ]
    rows = [tag("div", tag("dt", name), tag("dd", content)) for name, content in entries if content]
    return tag("details", tag("summary", "details"), tag("dl", *rows))


def _study_link(claim: ClaimRecord, drawn: frozenset[str]) -> Html | None:
    if claim.study is None:
        return None
    if claim.study not in drawn:
        return tag("code", claim.study)
    return tag("a", tag("code", claim.study), href=f"#{anchor('figure', claim.study)}")


def runs(claim: ClaimRecord) -> list[str]:
    """What the filter and the summary tell of a claim's runs."""
    was_run = claim.verdict != "not run at this scale"
    found = [RECORDED if claim.recorded else TODAY] if was_run else []
    disagree = len({run.verdict for run in claim.runs}) > 1
    return [*found, DISAGREE] if disagree else found


def _row(claim: ClaimRecord, drawn: frozenset[str]) -> Html:
    study = _study_link(claim, drawn)
    return tag(
        "tr",
        cell("verdict", decided(claim)),
        cell(
            "where",
            tag("p", claim.paper, class_="key"),
            tag("p", claim.location),
            tag("p", study) if study else None,
        ),
        cell(
            "claim",
            tag("p", prose(claim.statement)),
            departing(claim),
            beside(claim),
            _details(claim),
        ),
        cell("kind", claim.kind),
        cell("measured", measured(claim)),
        cell("expected", expected(claim)),
        id=anchor("claim", claim.id),
        data_paper=claim.paper,
        data_verdict=claim.verdict,
        data_kind=claim.kind,
        data_run="|".join(runs(claim)),
    )


def _select(name: str, label: str, choices: Iterable[tuple[str, str]]) -> Html:
    options = [tag("option", "all", value="")]
    options += [tag("option", text, value=value) for value, text in choices]
    return tag("label", label, tag("select", *options, id=f"filter-{name}", data_field=name))


def _filter(claims: Sequence[ClaimRecord]) -> Html:
    """The controls, which the page's script shows: without it they would do nothing."""
    papers = sorted({claim.paper for claim in claims}, key=reading_order)
    kinds = [kind for kind in KINDS if any(claim.kind == kind for claim in claims)]
    search = tag(
        "label",
        "text",
        tag("input", type="search", id="filter-text", placeholder="any words", autocomplete="off"),
    )
    return tag(
        "form",
        search,
        _select("paper", "paper", [(key, f"{key}: {paper(key).title}") for key in papers]),
        _select("verdict", "verdict", [(verdict, verdict) for verdict in VERDICTS]),
        _select("run", "runs", [(choice, choice) for choice in (TODAY, RECORDED, DISAGREE)]),
        _select("kind", "kind", [(kind, kind) for kind in kinds]),
        tag("button", "show all", type="reset"),
        tag("output", f"{len(claims)} of {len(claims)} entries", id="filter-count"),
        id="filter",
        role="search",
        aria_label="Filter the claims",
        hidden=True,
    )


def claims_section(claims: Sequence[ClaimRecord], drawn: frozenset[str]) -> Html:
    """The whole ledger as a table that can be filtered.

    Args:
        claims: the ledger.
        drawn: the studies that have a figure on the page.
    """
    ledger = table(
        "Every theorem, remark and figure claim with its verdict",
        ("verdict", "where", "claim", "kind", "measured", "expected"),
        (_row(claim, drawn) for claim in claims),
        "ledger",
    )
    note = (
        "An identity's measured value is its largest error, relative unless its details say "
        "otherwise; values near 10⁻¹⁵ are round-off and differ between machines."
    )
    return tag(
        "section",
        tag("h2", "Claims"),
        tag("p", note),
        _filter(claims),
        ledger,
        tag("p", "No entry matches the filter.", id="filter-empty", hidden=True),
        id="claims",
    )


def _erratum(claim: ClaimRecord) -> dict[str, Html]:
    """The cells of its row, by column."""
    place = tag("a", claim.location, href=f"#{anchor('claim', claim.id)}")
    known = claim.printed_error is not None
    return {
        "where": join(tag("p", claim.paper, class_="key"), tag("p", place)),
        "in print": tag("p", prose(claim.printed or "")),
        "corrected": tag("p", prose(claim.statement)),
        "error of the print": number(claim.printed_error) if known else Html("not a number"),
        "error corrected": number(claim.measured),
        "verdict": badge(claim.verdict),
    }


def errata_section(claims: Sequence[ClaimRecord]) -> Html:
    """What is wrong in print, what is right, and by how much the two differ."""
    errata = [_erratum(claim) for claim in claims if claim.printed is not None]
    body = tag("p", "No errata are registered.")
    if errata:
        caption = "The printed and the corrected form, held against the same numbers"
        rows = (tag("tr", *(cell(*named) for named in erratum.items())) for erratum in errata)
        body = table(caption, tuple(errata[0]), rows, "errata")
    return tag("section", tag("h2", "Errata"), body, id="errata")
