"""A claim's verdict on the page: the run that decided it, its numbers, what of it was set apart."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from hessian_papers.ledger.bounds import VERDICTS
from hessian_papers.ledger.record import ClaimRecord
from hessian_papers.report.findings import Finding
from hessian_papers.report.formulas import number

# What the filter tells apart by the runs behind a claim.
RUNS = {
    "today": "today’s decides",
    "recorded": "recorded decides",
    "disagree": "the two disagree",
}

# Verdicts that a setting other than the paper's may explain.
_OPEN = ("differs", "undecided")


def style(verdict: str) -> str:
    """The class of a verdict's colours.

    Example:
        >>> style("differs"), style("not run at this scale")
        ('differs', 'open')
    """
    return "open" if verdict == "not run at this scale" else verdict


def expected(claim: ClaimRecord) -> Markup:
    """What the measured value is compared with, as a short formula."""
    if claim.expected is None:
        return Markup("–")
    sign = {"<=": "≤", ">=": "≥", "=": "="}[claim.relation]
    if claim.tolerance == 0:
        return Markup("{} {}").format(sign, number(claim.expected))
    if claim.expected == 0 and sign == "≤":
        return Markup("≤ {}").format(number(claim.tolerance))
    slack = {"≤": "+", "≥": "−", "=": "±"}[sign]
    return Markup("{} {} {} {}").format(
        sign, number(claim.expected), slack, number(claim.tolerance)
    )


def measured(claim: ClaimRecord) -> Markup:
    """The measured value, with its interval where there is one."""
    if claim.interval is None:
        return number(claim.measured)
    return Markup("{} [{}, {}]").format(number(claim.measured), *map(number, claim.interval))


def run_name(recorded: bool, scale: str | None) -> str:
    """Which run a verdict or a figure is of, in a few words.

    Example:
        >>> run_name(True, "paper"), run_name(False, "demo")
        ('recorded run (paper)', 'today’s run (demo)')
    """
    return f"{'recorded' if recorded else 'today’s'} run ({scale})"


def setting(key: str) -> str:
    """A setting's name without that of the networks or data, which are those of the study.

    Example:
        >>> setting("networks.two-layer-linear.learning_rates.sp"), setting("sizes")
        ('learning_rates.sp', 'sizes')
    """
    return re.sub(r"^(networks|data\.sets)\.[^.]+\.", "", key)


def otherwise(claim: ClaimRecord) -> str:
    """The settings that are not the paper's where they may explain the verdict, else nothing.

    Each mapping is named once; the figure has their values.
    """
    if claim.verdict not in _OPEN:
        return ""
    return ", ".join(dict.fromkeys(setting(key).partition(".")[0] for key in claim.departs))


def runs(claim: ClaimRecord) -> list[str]:
    """What the filter and the summary tell of a claim's runs."""
    was_run = claim.verdict != "not run at this scale"
    found = ["recorded" if claim.recorded else "today"] if was_run else []
    disagree = len({run.verdict for run in claim.runs}) > 1
    return [*found, "disagree"] if disagree else found


def fields(claim: ClaimRecord) -> dict[str, str]:
    """What the filter chooses by, besides words and the verdict."""
    return {"paper": claim.paper, "kind": claim.kind, "run": "|".join(runs(claim))}


def usual(claims: Sequence[ClaimRecord]) -> dict[str, str]:
    """Of each such field what most of some claims have."""
    columns = zip(*(fields(claim).items() for claim in claims), strict=True)
    return dict(Counter(column).most_common(1)[0][0] for column in columns)


def note(claim: ClaimRecord) -> tuple[str, str]:
    """What claims of a study share: where the expected value is from, why the tolerance."""
    return claim.source.rstrip("."), claim.reason.rstrip(".")


def notes(claims: Iterable[ClaimRecord]) -> dict[tuple[str, str], str]:
    """The notes below some claims, each with its sign: a, b, ..., z, aa, ab, ..."""
    found: dict[tuple[str, str], str] = {}
    for claim in claims:
        if claim.measured is not None and note(claim) not in found:
            more, last = divmod(len(found), 26)
            found[note(claim)] = ("" if more == 0 else chr(96 + more)) + chr(97 + last)
    return found


def remarks(claims: Iterable[ClaimRecord]) -> dict[str, str]:
    """The explanations that several of some claims share, each with its number."""
    found = Counter(claim.explanation for claim in claims if claim.explanation)
    shared = (text for text, count in found.items() if count > 1)
    return {text: str(number) for number, text in enumerate(shared, start=1)}


def shares(claims: Iterable[ClaimRecord]) -> dict[str, int]:
    """How many claims have each verdict; verdicts that none has are left out."""
    found = Counter(claim.verdict for claim in claims)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def tally(claims: Sequence[ClaimRecord]) -> str:
    """Some claims in one line: their verdicts, and how many the recorded run decides."""
    parts = [f"{count} {verdict}" for verdict, count in shares(claims).items()]
    noun = "claim" if len(claims) == 1 else "claims"
    found = Counter(choice for claim in claims for choice in runs(claim))
    by = f"; {found['recorded']} by the recorded run" if found["recorded"] else ""
    apart = f", on {found['disagree']} the two runs disagree" if found["disagree"] else ""
    return f"{len(claims)} {noun}: {', '.join(parts)}{by}{apart}"


def ground(claims: Iterable[ClaimRecord]) -> str:
    """The colours of some claims' verdicts side by side, each as wide as its share.

    Example:
        >>> ground([])
        ''
    """
    found = shares(claims)
    stops, so_far = [], 0
    for verdict, count in found.items():
        start, so_far = so_far, so_far + count
        ends = (f"{100 * end / sum(found.values()):.0f}%" for end in (start, so_far))
        stops.append(f"var(--{style(verdict)}-back) {' '.join(ends)}")
    return f"background:linear-gradient(90deg,{','.join(stops)})" if stops else ""


def differing(claims: Iterable[ClaimRecord]) -> int:
    """How many of some claims differ."""
    return shares(claims).get("differs", 0)


def places(finding: Finding) -> list[tuple[str, str]]:
    """Where a finding is shown: the studies of its claims, each with the first of them."""
    found: dict[str, str] = {}
    for claim in finding.claims:
        found.setdefault(claim.study or claim.paper, claim.id)
    return [*found.items()]
