"""The ledger as a text to read through: a row for each statement."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from hessian_papers.formulas import sentence_case
from hessian_papers.ledger.bounds import Bound, Estimate
from hessian_papers.ledger.record import CaseRecord, StatementRecord
from hessian_papers.ledger.totals import ROUND_OFF, round_off, summary, totals, words
from hessian_papers.ledger.undecided import needed
from hessian_papers.ledger.verdicts import BOOKS, book_title
from hessian_papers.papers import paper

_PREFACE = """\
# What the papers state, and what was measured

A row is one statement; its cases (networks, layers, parametrisations, states) stand in
`claims.json` and on the page, here those that do not follow. How the verdict follows:

| the sentence says | verdict |
| --- | --- |
| always | the worst case decides; any setting within the assumptions may refute it |
| everywhere | the worst case at the paper's setting, by its interval |
| typically | one number pooled over the cases; *in part* if a case lies wholly on the other side |
| exists | any case; *differs* only if no draw of many shows it |
| printed | row by row, within a tolerance fixed beforehand |
| shown | the number, no verdict |
| left open | *depends* where readings of what the paper leaves open disagree |

*Corrected*: the print is wrong, ours is proved. *Open*: an interval contains the bound. *Not
tested*: not at the paper's setting, where a smaller one may confirm, never refute, or not in the
state that the sentence is about. A statement that rests on our reading of a word calls no paper
wrong: it *depends* on the word. The strongest run of a case decides: one at the paper's scale, else
another recorded one, else today's demo.

The numbers and cases of a row are of recorded runs. Where today's run alone measures a statement
its verdict stands here, and the page has its numbers, which differ from processor to processor.
"""

# How many of the cases that do not follow, and of the misprints, are named.
_FEW = 3


def number(value: float | None) -> str:
    """A number as texts have it; round-off as a bound, since it differs between processors.

    Example:
        >>> number(0.25), number(12.0), number(3e-15), number(None)
        ('0.25', '12', '≤ 1e-12', '–')
    """
    if value is None or value != value:
        return "–"
    if 0 < abs(value) < ROUND_OFF:
        return f"{'≤ ' if value > 0 else '≥ −'}{round_off(value):g}"
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.3g}"


def with_interval(estimate: Estimate, write: Callable[[float], str] = number) -> str:
    """A measured value with its interval where there is one; ``write`` says how numbers look.

    Example:
        >>> with_interval(Estimate(-3.5, high=-1.25)), with_interval(Estimate(0.5))
        ('-3.5 [–, -1.25]', '0.5')
    """
    if not estimate.has_an_end:
        return write(estimate.value)
    return f"{write(estimate.value)} [{write(estimate.low)}, {write(estimate.high)}]"


def measured(case: CaseRecord, identity: bool = False) -> str:
    """The measured value of a case; of an identity that holds, a bound."""
    if identity and case.measured is not None:
        bound = round_off(case.measured, case.tolerance)
        # A count of what is wrong has no tolerance, and a broken identity is none.
        if bound <= case.tolerance:
            return f"≤ {bound:g}"
    return with_interval(case.estimate)


def expected(bound: Bound, write: Callable[[float], str] = number) -> str:
    """The bound of a measured value, in one short formula; ``write`` says how numbers look.

    Example:
        >>> from hessian_papers.ledger.bounds import at_least, within
        >>> expected(at_least(0.0, "a sign")), expected(within(0.1, "a tenth"))
        ('≥ 0', '≤ 0.1')
    """
    template, numbers = bound.formula
    return template.format(*map(write, numbers))


def label(case: CaseRecord) -> str:
    """A case in a few words: its study, and what tells it from the others."""
    name = case.study or "no study"
    return f"{name} ({', '.join(filter(None, case.labels.values()))})" if case.labels else name


def _number_of(statement: StatementRecord) -> str:
    """The number that decides: the pooled one, of one case its own, else the range."""
    if statement.pooled is not None:
        return with_interval(statement.estimate)
    cases = [case for case in statement.cases if case.measured is not None]
    if statement.identity and cases:
        return measured(max(cases, key=lambda case: case.measured or 0.0), identity=True)
    if len({case.measured for case in cases}) > 1:
        values = sorted(case.measured for case in cases if case.measured is not None)
        return f"{number(values[0])} to {number(values[-1])}"
    return measured(cases[0]) if cases else "–"


def _expected(statement: StatementRecord) -> str:
    bounds = {expected(case.bound) for case in statement.cases if case.expected is not None}
    return bounds.pop() if len(bounds) == 1 else "each its own" if bounds else "–"


def _tally(statement: StatementRecord) -> str:
    """The number of cases, and which do not follow."""
    cases = statement.cases
    count = Counter(case.outcome for case in cases)
    parts = [str(len(cases))]
    if against := [case for case in cases if case.outcome == "fails"]:
        named = [
            f"{label(case)}: {with_interval(case.estimate)}{'*' * case.smaller}"
            for case in against[:_FEW]
        ]
        more = f" and {len(against) - _FEW} more" if len(against) > _FEW else ""
        parts.append(f"{len(against)} not: {'; '.join(named)}{more}")
    if count["open"]:
        parts.append(f"{count['open']} open")
    unmeasured = count["not measured"]
    if unmeasured and (unmeasured < len(cases) or statement.verdict == "not tested"):
        parts.append(f"{unmeasured} not measured")
    return ", ".join(parts)


def _remark(statement: StatementRecord) -> str:
    """Our reading of a word, what is in print, and why it differs where it does."""
    misprints = [f"In print: {part.printed}" for part in statement.misprints]
    more = f"; and {len(misprints) - _FEW} more" if len(misprints) > _FEW else ""
    remarks = [f"{'; '.join(misprints[:_FEW])}{more}."] if misprints else []
    readings = dict.fromkeys(case.reason for case in statement.cases if case.word)
    remarks += [f"{sentence_case(reading)}." for reading in readings]
    # What only a smaller setting shows needs no other reason.
    measured = any(case.outcome != "not measured" for case in statement.cases)
    explained = statement.verdict in ("reproduced", "corrected", "shown")
    if not explained and not (statement.verdict == "not tested" and measured):
        remarks += dict.fromkeys(
            case.explanation
            for case in statement.cases
            if case.explanation and case.outcome != "holds"
        )
    texts = [*remarks[:2], needed(statement)]
    return " ".join(text if text.endswith(".") else f"{text}." for text in texts if text)


def _row(cells: Iterable[str]) -> str:
    # A bar would end the cell: norms and absolute values keep theirs by an escape.
    return "|" + "|".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + "|"


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows), ""]


def _statements(statements: Sequence[StatementRecord], key: str) -> list[str]:
    head = ("verdict", "where", "statement", "says", "measured", "expected", "cases", "remark")
    rows = [
        (
            s.verdict,
            s.places.get(key, s.location),
            f"{s.sentence} `{s.id}`",
            s.quantifier,
            _number_of(s),
            _expected(s),
            _tally(s),
            _remark(s),
        )
        for s in statements
    ]
    return _grid(head, rows)


def _totals(statements: Sequence[StatementRecord]) -> list[str]:
    """Verdicts by paper and book."""
    known = totals(statements)
    rows = [
        (key, book_title(book), words(tally))
        for key, books in known.books.items()
        for book, tally in books.items()
    ]
    if known.beyond:
        rows.append(("beyond", book_title("beyond"), words(known.beyond)))
    return _grid(("paper", "book", "verdicts"), rows)


def table(
    statements: Sequence[StatementRecord], damaged: Sequence[str] = (), cases: int | None = None
) -> str:
    """The ledger in Markdown: totals, then by paper and book a row for each statement.

    A statement of several papers stands under the first of them.

    Args:
        statements: what :func:`hessian_papers.ledger.evaluation.decided` returned, or
            ``decided_by_records`` there.
        damaged: a line for each recorded run that does not count, because it is damaged.
        cases: how many the whole ledger has, where ``statements`` has fewer.

    Returns:
        The text of ``reports/claims.md``, or of that of one paper.
    """
    lines = [_PREFACE, f"**{summary(statements, cases)}**", "", *_totals(statements)]
    lines += [f"- {line}" for line in damaged] + [""] * bool(damaged)
    lines += ["A star marks a case at a setting smaller than the paper's.", ""]
    for key in totals(statements).books:
        lines += [f"## {key}: {paper(key).title}", ""]
        for book in BOOKS[:-1]:
            own = [s for s in statements if s.book == book and s.paper == key]
            if own:
                lines += [f"### {book_title(book)}", "", *_statements(own, key)]
    beyond = [s for s in statements if s.book == "beyond"]
    if beyond:
        lines += [f"## {book_title('beyond')}", "", *_statements(beyond, "")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
