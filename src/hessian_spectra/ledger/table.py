"""The ledger as a readable table."""

from collections import Counter
from collections.abc import Iterable, Sequence

from hessian_spectra.ledger.bounds import VERDICTS
from hessian_spectra.ledger.record import ClaimRecord
from hessian_spectra.papers import paper, reading_order

_PREFACE = """\
# What the papers claim, and what was measured

A measured value has three significant digits, a count is exact. An identity's measured value is its
largest error; values near 1e-15 are round-off and differ between machines. A statistic stands with
its interval, at 95 % unless the claim says another level, and then the interval decides.
`reproduced`: it holds within the tolerance. `corrected`: what is in print does not hold, our
correction does. `differs`: it does not hold here, and we say why. `undecided`: a part of the
interval holds and a part does not. `not run at this scale`: it needs a longer run.
"""


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.3g}"


def _value(record: ClaimRecord) -> str:
    """The measured value, with its interval where there is one."""
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


def _errata(records: Sequence[ClaimRecord]) -> list[str]:
    if not records:
        return []
    head = ("where", "in print", "right", "error in print", "error corrected", "remark", "test")
    rows = [
        (
            r.location,
            r.printed or "",
            r.statement,
            # A form that gives no finite number (a root of a negative number) has no error to show.
            _number(r.printed_error) if r.printed_error is not None else "not a number",
            _number(r.measured),
            r.explanation,
            f"`{r.test}`",
        )
        for r in records
    ]
    return ["### Errata", "", *_grid(head, rows)]


def _measured(records: Sequence[ClaimRecord]) -> list[str]:
    if not records:
        return []
    head = ("verdict", "where", "claim", "kind", "measured", "expected", "study", "remark")
    rows = [
        (
            r.verdict,
            r.location,
            r.statement,
            r.kind,
            _value(r),
            _expected(r),
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


def summary(records: Sequence[ClaimRecord]) -> str:
    """The ledger in one line: how many claims have each verdict."""
    counts = Counter(record.verdict for record in records)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    return f"{len(records)} claims: {verdicts}"


def table(records: Sequence[ClaimRecord]) -> str:
    """The ledger in Markdown: by paper, first what was measured, then the errata and what is open.

    Args:
        records: what :func:`hessian_spectra.ledger.evaluation.evaluate` returned.

    Returns:
        The text of ``reports/claims.md``; every record is one row of it.
    """
    lines = [_PREFACE, f"**{summary(records)}**", ""]
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
