"""A table of a paper beside ours: print, measured value, deviation, row by row."""

import csv
import io
import math
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hessian_papers.ledger.record import CaseRecord
from hessian_papers.report.verdicts import Shown, number

# Fewer rows are no table, and fewer of a table of a paper.
FEWEST, FEWEST_OF_A_TABLE = 3, 2
_NUMBERS = ("print", "tolerance", "ours", "low", "high", "deviation")


@dataclass(frozen=True)
class Comparison:
    """A table in print beside ours.

    Args:
        name: of the statement, and of the file.
        columns: what tells a row from the others.
        rows: its cases that were measured.
        missing: what was not measured.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[CaseRecord]
    missing: Sequence[str]

    @property
    def csv(self) -> str:
        """The table as an address that holds it: comma-separated values."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.columns, *_NUMBERS, "outcome"])
        for case in self.rows:
            labels = [case.labels.get(column, "") for column in self.columns]
            numbers = [case.expected, case.tolerance, *case.estimate, deviation(case)]
            texts = ["" if value is None or math.isnan(value) else f"{value:.6g}"
                     for value in numbers]  # fmt: skip
            writer.writerow([*labels, *texts, case.outcome])
        return f"data:text/csv;charset=utf-8,{urllib.parse.quote(text.getvalue())}"


def deviation(case: CaseRecord) -> float | None:
    """The difference to print, relative to it; ``None`` if either is not known, or print is 0."""
    if case.measured is None or not case.expected:
        return None
    return (case.measured - case.expected) / abs(case.expected)


def in_print(case: CaseRecord) -> Markup:
    """The number in print, with the half width of its range or its tolerance if it has one."""
    if case.relation != "=" or case.tolerance == 0:
        return number(case.expected)
    return Markup("{} ± {}").format(number(case.expected), number(case.tolerance))


def percent(share: float | None) -> str:
    """A deviation in percent, with its sign.

    Example:
        >>> percent(0.2547), percent(-0.00012), percent(None)
        ('+25 %', '−0.012 %', '–')
    """
    if share is None:
        return "–"
    return f"{100 * share:+.2g} %".replace("-", "−") if abs(share) < 1 else f"{100 * share:+.0f} %"


def comparison(shown: Shown) -> Comparison | None:
    """The table of a statement that says what is printed; ``None`` if it has too few rows.

    Of a table of a paper it may be one that shows numbers beside print without a verdict.
    """
    rows = [case for case in shown.cases if case.expected is not None]
    of_a_table = any("Table" in place for place in shown.statement.places.values())
    known = ("printed", "shown") if of_a_table else ("printed",)
    fewest = FEWEST_OF_A_TABLE if of_a_table else FEWEST
    if shown.statement.quantifier not in known or len(rows) < fewest:
        return None
    names = dict.fromkeys(name for case in rows for name in case.labels)
    values = {name: {case.labels.get(name) for case in rows} for name in names}
    columns = [name for name in names if len(values[name]) > 1]
    missing = [", ".join(case.labels.values()) for case in shown.cases if case.expected is None]
    return Comparison(shown.statement.id, columns, rows, missing)
