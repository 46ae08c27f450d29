"""A statement's verdict on the page: the runs that decided it, its numbers, its cases."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from hessian_papers.case_axis import Row, is_logarithmic, limits, position
from hessian_papers.formulas import sentence_case
from hessian_papers.ledger import table
from hessian_papers.ledger.bounds import OUTCOMES, Bound, Estimate
from hessian_papers.ledger.record import CaseRecord, Part, StatementRecord, all_cases
from hessian_papers.ledger.totals import Tally, counts, words
from hessian_papers.ledger.undecided import needed
from hessian_papers.report.findings import Finding

# More cases than this are too many to be shown at once.
_FEW = 12
# What a reader is told of verdicts that decide nothing: why they do not.
UNDECIDED = {
    "depends": "it depends on what the paper leaves open, or on our reading of a word",
    "open": "the interval contains the bound",
    "shown": "the paper shows it without a sentence",
    "not tested": "it was not measured at the paper’s setting, or in the sentence’s state",
}


@dataclass(frozen=True)
class Shown:
    """A statement where it is shown, with those of its cases that belong there."""

    statement: StatementRecord
    cases: Sequence[CaseRecord]

    @property
    def elsewhere(self) -> int:
        """The number of its cases that belong elsewhere."""
        return len(self.statement.cases) - len(self.cases)

    @property
    def first(self) -> bool:
        """Whether the first of its cases is shown here: the others refer to what stands there."""
        return self.statement.cases[0] in self.cases

    @property
    def parts(self) -> list[Part]:
        """The sentences of the statement besides its own: all of them, or those of cases here."""
        parts = self.statement.parts[1:]
        return [part for part in parts if self.first or any(c in self.cases for c in part.cases)]

    @property
    def telling(self) -> list[CaseRecord]:
        """The cases that are shown at once: all if they are few, else those that do not follow."""
        if len(self.cases) <= _FEW:
            return [*self.cases]
        return [case for case in self.cases if case.outcome != "holds"]

    @property
    def further(self) -> list[CaseRecord]:
        """The cases that are folded away."""
        return [case for case in self.cases if case not in self.telling]


def number(value: float | None) -> Markup:
    """A number with at most three significant digits, powers of ten as such.

    Example:
        >>> str(number(1.23e-14)), str(number(5074.0)), str(number(-0.25)), str(number(None))
        ('1.23 × 10<sup>−14</sup>', '5074', '−0.25', '–')
    """
    if value is None or not math.isfinite(value):
        return Markup("–" if value is None or math.isnan(value) else str(value))
    if value == round(value) and abs(value) < 1e6:
        return Markup(f"{value:.0f}".replace("-", "−"))
    mantissa, _, exponent = f"{value:.3g}".replace("-", "−").partition("e")
    if not exponent:
        return Markup(mantissa)
    sign, digits = exponent[0].replace("+", ""), exponent[1:].lstrip("0")
    return Markup(f"{mantissa} × 10<sup>{sign}{digits}</sup>")


def counted(some: int | Sequence[Any], noun: str) -> str:
    """So many of something.

    Example:
        >>> counted(1, "panel"), counted([1, 2], "study")
        ('1 panel', '2 studies')
    """
    number = some if isinstance(some, int) else len(some)
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else many}"


def style(verdict: str) -> str:
    """The class of a verdict's colours.

    Example:
        >>> style("differs"), style("not tested")
        ('differs', 'not-tested')
    """
    return verdict.replace(" ", "-")


def expected(bound: Bound) -> Markup:
    """The bound of a measured value, as a short formula."""
    return Markup(table.expected(bound, number))


def measured(estimate: Estimate) -> Markup:
    """A measured value, with its interval where there is one.

    Example:
        >>> str(measured(Estimate(-3.5, high=-1.25)))
        '−3.5 [–, −1.25]'
    """
    return Markup(table.with_interval(estimate, number))


def setting(key: str) -> str:
    """A setting's name without that of the study, or of its networks or data.

    Example:
        >>> setting("networks.two-layer-linear.learning_rates.sp"), setting("sizes")
        ('learning_rates.sp', 'sizes')
    """
    return re.sub(r"^(studies|networks|data\.sets)\.[^.]+\.", "", key)


def departing(cases: Iterable[CaseRecord]) -> str:
    """The settings that are not the paper's, each mapping once, where a case does not follow."""
    keys = (key for case in cases if case.outcome in ("fails", "open") for key in case.departs)
    return ", ".join(dict.fromkeys(setting(key).partition(".")[0] for key in keys))


def outcomes(cases: Iterable[CaseRecord]) -> str:
    """The outcomes of some cases, in one line.

    Example:
        >>> outcomes([])
        ''
    """
    number_ = Counter(case.outcome for case in cases)
    verbs = {"holds": "hold", "fails": "fail"}
    return words({verbs.get(name, name): number_[name] for name in OUTCOMES if number_[name]})


def strips(cases: Sequence[CaseRecord]) -> list[str]:
    """Where each case lies on the axis of all: its bound, interval and value, as CSS variables."""
    rows = [Row(*case.estimate, case.bound.range) for case in cases]
    axis = limits(rows), is_logarithmic(rows)
    places = [
        zip("ablhv", (*row.allowed, row.low, row.high, row.value), strict=True) for row in rows
    ]
    return [
        ";".join(
            f"--{name}:{100 * position(x, *axis):.3g}%" for name, x in row if not math.isnan(x)
        )
        for row in places
    ]


def remarks(shown: Shown) -> list[str]:
    """Our reading of a word, and why cases that do not follow do not, each once."""
    texts = [f"{sentence_case(case.reason)}." for case in shown.cases if case.word]
    texts += [case.explanation for case in shown.cases if case.explanation]
    return [text for text in dict.fromkeys([*texts, needed(shown.statement)]) if text]


def origins(shown: Shown) -> list[tuple[str, str]]:
    """Where expected values are from, and why the tolerances, each once."""
    pairs = ((case.source.rstrip("."), case.reason.rstrip(".")) for case in shown.cases)
    return [pair for pair in dict.fromkeys(pairs) if all(pair)]


def bounds(cases: Iterable[CaseRecord]) -> list[Markup]:
    """The bounds of some measured values, each once."""
    return [*dict.fromkeys(expected(case.bound) for case in cases if case.expected is not None)]


def statements_of(shown: Iterable[Shown]) -> list[StatementRecord]:
    """The statements that are shown, each once."""
    return [*{each.statement.id: each.statement for each in shown}.values()]


def shares(shown: Iterable[Shown]) -> Tally:
    """The number of statements with each verdict; verdicts that none has are left out."""
    return counts(statements_of(shown))


def decided(tally: Tally) -> Tally:
    """The verdicts of a tally that decide, which a reader sees first.

    Example:
        >>> decided({"reproduced": 3, "open": 1})
        {'reproduced': 3}
    """
    return {verdict: number for verdict, number in tally.items() if verdict not in UNDECIDED}


def undecided(tally: Tally) -> Tally:
    """The verdicts of a tally that do not.

    Example:
        >>> undecided({"reproduced": 3, "open": 1})
        {'open': 1}
    """
    return {verdict: number for verdict, number in tally.items() if verdict in UNDECIDED}


def because(verdict: str) -> str:
    """Why a verdict decides nothing, in a reader's words; nothing of one that does."""
    return UNDECIDED.get(verdict, "")


def of_papers(shown: Iterable[Shown]) -> list[Shown]:
    """The papers' own among some statements."""
    return [each for each in shown if each.statement.book != "beyond"]


def of_ours(shown: Iterable[Shown]) -> list[Shown]:
    """The statements among some that are ours, beyond the papers."""
    return [each for each in shown if each.statement.book == "beyond"]


def tally(shown: Sequence[Shown]) -> str:
    """Some statements in one line: their verdicts."""
    return f"{counted(statements_of(shown), 'statement')}: {words(shares(shown))}"


def ground(shown: Sequence[Shown]) -> str:
    """The colours of some verdicts side by side, each as wide as its fraction.

    Example:
        >>> ground([])
        ''
    """
    known = shares(shown)
    ends = [0, *itertools.accumulate(known.values())]
    stops = [
        f"var(--{style(verdict)}-back) {100 * start / ends[-1]:.0f}% {100 * end / ends[-1]:.0f}%"
        for verdict, (start, end) in zip(known, itertools.pairwise(ends), strict=True)
    ]
    return f"background:linear-gradient(90deg,{','.join(stops)})" if stops else ""


def differing(shown: Sequence[Shown]) -> int:
    """The number of some statements that differ."""
    return shares(shown).get("differs", 0)


def leading(finding: Finding) -> list[StatementRecord]:
    """The statements of a finding that it leads to: the first of each study."""
    first: dict[str, StatementRecord] = {}
    for statement in finding.statements:
        first.setdefault(statement.cases[0].study or statement.paper, statement)
    return [*first.values()]


def decided_by(statements: Sequence[StatementRecord]) -> Counter[str]:
    """The number of cases that ``today``'s or ``recorded`` runs decide, and ``disagree`` on."""
    cases = all_cases(statements)
    decided = (case for case in cases if case.outcome != "not measured")
    number_ = Counter("recorded" if case.recorded else "today" for case in decided)
    number_["disagree"] = sum(len({run.outcome for run in case.runs}) > 1 for case in cases)
    return number_
