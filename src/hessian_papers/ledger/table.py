"""The ledger as a readable table."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from hessian_papers.ledger.record import ClaimRecord
from hessian_papers.ledger.totals import ROUND_OFF, round_off, statements, summary
from hessian_papers.papers import paper, reading_order

_PREFACE = """\
# What the papers claim, and what was measured

A measured value has three significant digits, a count is exact. Round-off, as the error of an
identity is, stands as a bound, since it differs between processors. A statistic stands with its
interval, at 95 % unless the claim says another level, and then the interval decides.

`reproduced`: it holds within the tolerance. `corrected`: what is in print does not hold, our
correction does. `differs`: it does not hold here, and we say why, or which settings are not the
paper's. `undecided`: a part of the interval holds and a part does not. `not run at this scale`: it
needs a longer run, or networks that this configuration leaves out.

Verdict and value are those of the strongest run: one at the paper's scale, else at another beyond
the demo's, both recorded in `reports/evidence`, else today's demo. What the other run says stands
beside it.
"""

# Verdicts that a setting other than the paper's may explain.
_OPEN = ("differs", "undecided")
# How many entries of a list are written out.
_FEW = 4


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if 0 < abs(value) < ROUND_OFF:
        return f"{'≤ ' if value > 0 else '≥ −'}{round_off(value):g}"
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.3g}"


def _value(record: ClaimRecord) -> str:
    """The measured value, with its interval where there is one; of an identity, a bound."""
    if record.kind == "identity" and record.measured is not None:
        bound = round_off(record.measured, record.tolerance)
        # A count of what is wrong has no tolerance, and a broken identity is none.
        if bound <= record.tolerance:
            return f"≤ {bound:g}"
    if record.interval is None:
        return _number(record.measured)
    low, high = map(_number, record.interval)
    return f"{_number(record.measured)} [{low}, {high}]"


def _expected(record: ClaimRecord) -> str:
    """What the measured value is compared with, in one short formula."""
    if record.expected is None:
        return "–"
    expected, tolerance = record.expected, record.tolerance
    sign = {"<=": "≤", ">=": "≥", "=": "="}[record.relation]
    if tolerance == 0:
        return f"{sign} {_number(expected)}"
    if expected == 0 and sign == "≤":
        return f"≤ {_number(tolerance)}"
    slack = {"≤": "+", "≥": "−", "=": "±"}[sign]
    return f"{sign} {_number(expected)} {slack} {_number(tolerance)}"


def _row(cells: Iterable[str]) -> str:
    # A bar would end the cell: norms and absolute values keep theirs by an escape.
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows), ""]


def _run(record: ClaimRecord) -> str:
    """Which run a verdict is of."""
    return f"{record.scale} (recorded)" if record.recorded else record.scale or "–"


def _other(record: ClaimRecord) -> str:
    """What the weaker run says."""
    other = record.beside
    return "" if other is None else f"{_run(other)}: {other.verdict}, {_value(other)}"


def _short(value: Any) -> str:
    """A setting; of a long list the beginning, the end and how many there are."""
    if not isinstance(value, list):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if len(value) <= _FEW:
        return f"[{', '.join(map(_short, value))}]"
    first, second, last = map(_short, (value[0], value[1], value[-1]))
    return f"[{first}, {second}, …, {last}: {len(value)} values]"


def _departing(record: ClaimRecord) -> str:
    """The settings that are not the paper's, where they may explain the verdict."""
    if record.verdict not in _OPEN:
        return ""
    return "; ".join(
        # The ensemble or data set is that of the study: its name says nothing more.
        f"{re.sub(r'^(networks|data[.]sets)[.][^.]+[.]', '', key)}={_short(here)} "
        f"(paper {_short(theirs)})"
        for key, (here, theirs) in record.departs.items()
    )


def _errata(records: Sequence[ClaimRecord]) -> list[str]:
    if not records:
        return []
    head = (
        *("where", "in print", "right", "error in print", "error corrected"),
        *("run", "the other run", "remark", "test"),
    )
    rows = [
        (
            r.location,
            r.printed or "",
            r.statement,
            # A form that gives no finite number (a root of a negative number) has no error to show.
            _number(r.printed_error) if r.printed_error is not None else "not a number",
            _value(r),
            _run(r),
            _other(r),
            r.explanation,
            f"`{r.test}`",
        )
        for r in records
    ]
    return ["### Errata", "", *_grid(head, rows)]


def _measured(records: Sequence[ClaimRecord]) -> list[str]:
    if not records:
        return []
    head = (
        *("verdict", "run", "where", "claim", "kind", "measured", "expected"),
        *("the other run", "not as in the paper", "study", "remark"),
    )
    rows = [
        (
            r.verdict,
            _run(r),
            r.location,
            r.statement,
            r.kind,
            _value(r),
            _expected(r),
            _other(r),
            _departing(r),
            f"`{r.study}`",
            r.explanation,
        )
        for r in records
    ]
    return ["### Measured", "", *_grid(head, rows)]


def _open(records: Sequence[ClaimRecord]) -> list[str]:
    if not records:
        return []
    rows = [(r.location, r.statement, r.explanation) for r in records]
    return ["### Not run at this scale", "", *_grid(("where", "claim", "what it needs"), rows)]


def _entries(records: Sequence[ClaimRecord]) -> str:
    """How entries and claims are related, since their numbers differ."""
    both = sum(record.beside is not None for record in records)
    return (
        f"{len(records)} entries make {len(statements(records))} claims: what several papers state "
        f"counts once, with the least favourable verdict. {both} entries were measured on two runs."
    )


def table(records: Sequence[ClaimRecord], damaged: Sequence[str] = ()) -> str:
    """The ledger in Markdown: by paper, first what was measured, then the errata and what is open.

    Args:
        records: what :func:`hessian_papers.ledger.evaluation.evaluate` returned.
        damaged: a line for each recorded run that does not count, because it is damaged.

    Returns:
        The text of ``reports/claims.md``; every record is one row of it.
    """
    lines = [_PREFACE, f"**{summary(records)}**", "", _entries(records), ""]
    lines += [f"- {line}" for line in damaged] + [""] * bool(damaged)
    for key in sorted({record.paper for record in records}, key=reading_order):
        mine = [record for record in records if record.paper == key]
        corrected = [r for r in mine if r.verdict == "corrected"]
        unmeasured = [r for r in mine if r.verdict == "not run at this scale"]
        rest = [r for r in mine if r not in corrected and r not in unmeasured]
        lines += [
            f"## {key}: {paper(key).title}",
            "",
            *_measured(rest),
            *_errata(corrected),
            *_open(unmeasured),
        ]
    return "\n".join(lines)
