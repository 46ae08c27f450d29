"""The ledger in few numbers: verdicts by paper and book, and how small round-off is."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hessian_papers.ledger.record import StatementRecord, all_cases, misprints
from hessian_papers.ledger.verdicts import BOOKS, VERDICTS
from hessian_papers.papers import reading_order
from hessian_spectra.validation import require

# Round-off differs from processor to processor, and between zero and some 1e-13. It is shown as a
# power of ten, no smaller than this and with a margin.
ROUND_OFF = 1e-12
_MARGIN = 2.5
# A wider tolerance than this is that of an ill-conditioned quantity.
_WIDE = 1e-10

# The verdicts of a number of statements, in the order of :data:`VERDICTS`.
Tally = dict[str, int]


def round_off(error: float, tolerance: float = 0.0) -> float:
    """A bound on an error that is round-off, the same on other processors unless it really moves.

    Args:
        error: the largest that was measured.
        tolerance: the largest that is expected, which is wide where errors jump.

    Example:
        >>> round_off(0.0), round_off(4e-15), round_off(3e-9), round_off(4e-15, 1e-7)
        (1e-12, 1e-12, 1e-08, 1e-08)
    """
    least = tolerance / 10 if tolerance > _WIDE else ROUND_OFF
    return float(f"1e{math.ceil(math.log10(max(_MARGIN * abs(error), least)))}")


def counts(statements: Iterable[StatementRecord]) -> Tally:
    """The number of statements with each verdict; those that none has are left out."""
    number = Counter(statement.verdict for statement in statements)
    return {verdict: number[verdict] for verdict in VERDICTS if number[verdict]}


def words(tally: Tally) -> str:
    """Verdicts with their numbers, in words.

    Example:
        >>> words({"reproduced": 2, "open": 1})
        '2 reproduced, 1 open'
    """
    return ", ".join(f"{number} {verdict}" for verdict, number in tally.items())


@dataclass(frozen=True)
class Totals:
    """The number of statements with each verdict, by place and book.

    Args:
        papers: of the papers' statements, each once.
        beyond: of ours, which are beyond the papers.
        by_paper: of each paper's statements; one of several papers counts in each of them.
        books: the same, in each paper by book.
        misprints: how many printed forms do not hold, of all papers.
    """

    papers: Tally
    beyond: Tally
    by_paper: Mapping[str, Tally]
    books: Mapping[str, Mapping[str, Tally]]
    misprints: int


def totals(statements: Sequence[StatementRecord]) -> Totals:
    """The counts that page, table, dashboard and metrics show: there are no others.

    A statement counts where it is said, whatever study it is measured on; what is beyond the papers
    counts in none of them, wherever its studies stand.
    """
    own = [statement for statement in statements if statement.book != "beyond"]
    beyond = [statement for statement in statements if statement.book == "beyond"]
    of_each = {
        paper: [statement for statement in own if paper in statement.places]
        for paper in sorted({p for statement in own for p in statement.places}, key=reading_order)
    }
    books = {
        paper: {book: counts(s for s in said if s.book == book) for book in BOOKS}
        for paper, said in of_each.items()
    }
    return Totals(
        counts(own),
        counts(beyond),
        {paper: counts(said) for paper, said in of_each.items()},
        {paper: {b: tally for b, tally in of.items() if tally} for paper, of in books.items()},
        len(misprints(own)),
    )


def summary(statements: Sequence[StatementRecord], cases: int | None = None) -> str:
    """The ledger in one line: the papers' statements by verdict, and what is beyond them.

    Args:
        statements: the ledger.
        cases: how many there are of it, where ``statements`` has not all of them.
    """
    known = totals(statements)
    cases = len(all_cases(statements)) if cases is None else cases
    line = f"{sum(known.papers.values())} statements of the papers: {words(known.papers)}"
    number, said = sum(known.beyond.values()), words(known.beyond)
    more = f"; {number} beyond them: {said}" if number else ""
    return f"{line}{more}; {cases} cases"


def metrics(
    statements: Sequence[StatementRecord], named: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The ledger in at most eighteen entries, for ``dvc metrics`` and ``dvc exp show``.

    Args:
        statements: the ledger.
        named: the numbers to take of its cases, see :func:`numbers`.

    Returns:
        ``papers`` and ``beyond``: how many statements of the papers, and beyond them, have each
        verdict, and ``this_run``: how many cases of today's runs alone have each outcome, in words;
        ``digits``: to how many whole digits all identities hold today, see :func:`round_off`, if
        any was run; ``numbers``: those named, of today's runs.
    """
    today = [run for case in all_cases(statements) for run in case.runs if not run.recorded]
    outcomes = Counter(run.outcome for run in today if run.outcome != "not measured")
    known, digits = totals(statements), _digits(statements)
    return {
        "papers": words(known.papers),
        "beyond": words(known.beyond),
        "this_run": words(dict(sorted(outcomes.items()))),
        **({"digits": min(digits.values())} if digits else {}),
        "numbers": numbers(named, {run.id: run.measured for run in today}),
    }


def numbers(
    named: Mapping[str, Any], measured: Mapping[str, float | None]
) -> dict[str, float | None]:
    """The numbers that a file such as ``conf/headlines.yaml`` names.

    Args:
        named: of each, by name, the ``case`` that measures it; with ``as: factor`` the case
            measures the logarithm of it.
        measured: what cases measured, by id.

    Returns:
        Each by its name; nothing where its case was not measured.

    Raises:
        ValueError: an entry is not what it should be; the message names it.

    Example:
        >>> named = {"ratio": {"case": "a/b", "as": "factor"}, "other": {"case": "a/c"}}
        >>> numbers(named, {"a/b": 0.0})
        {'ratio': 1.0, 'other': None}
    """
    result: dict[str, float | None] = {}
    for name, entry in named.items():
        at = f"headlines, {name}"
        require(re.fullmatch(r"\w+", str(name)) is not None, at, "a name of letters and _", name)
        right = isinstance(entry, Mapping) and {*entry} in ({"case"}, {"case", "as"})
        right = right and "/" in str(entry["case"]) and entry.get("as", "factor") == "factor"
        require(right, at, "case: <study>/<case>, and as: factor or nothing more", entry)
        value = measured.get(entry["case"])
        if value is not None and "as" in entry:
            value = float(f"{math.exp(value):.3g}")
        result[name] = value
    return result


def _digits(statements: Iterable[StatementRecord]) -> dict[str, int]:
    digits: dict[str, int] = {}
    for case in all_cases(statement for statement in statements if statement.identity):
        for run in case.runs:
            if not run.recorded and run.study and run.expected is not None:
                # NaN and infinity are no number in a record.
                error = 1.0 if run.measured is None else run.measured
                whole = max(0, round(-math.log10(round_off(error))))
                digits[run.study] = min(digits.get(run.study, whole), whole)
    return digits
