"""The verdict on a statement from its cases, by the quantifier of the sentence."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hessian_papers.ledger.bounds import NOTHING, Bound, Estimate, Outcome, Replicated, mean_of

# What a sentence says of its cases:
#   always      an identity, a theorem, "for all": any setting within its assumptions may refute it
#   everywhere  the same of measured things ("in all layers"), at the paper's own setting
#   typically   "most", "correlates most", "increases": one number, pooled over the cases
#   exists      "is present", "can", one run that is shown: any case
#   printed     a table, a number: row by row
#   shown       "could include", a panel without a sentence: the number, no verdict
#   left open   it depends on a choice that the paper does not name: the cases are the choices
Quantifier = Literal["always", "everywhere", "typically", "exists", "printed", "shown", "left open"]
# Verdicts, in the order in which they are listed.
Verdict = Literal[
    "reproduced",
    "corrected",
    "in part",
    "differs",
    "depends",
    "open",
    "shown",
    "not tested",
]
# What the papers prove or print; what they observe; what rests on our reading of a word; and what
# is ours alone: controls, ablations, networks that a paper does not have.
Book = Literal["theorems", "observations", "readings", "beyond"]

QUANTIFIERS: tuple[Quantifier, ...] = get_args(Quantifier)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
BOOKS: tuple[Book, ...] = get_args(Book)

# What the books are called.
BOOK_NAMES: Mapping[str, str] = {
    "theorems": "theorems and printed numbers",
    "observations": "observations",
    "readings": "by our reading of a word",
    "beyond": "beyond the papers",
}


def book_title(book: str) -> str:
    """A book's name as a heading has it.

    Example:
        >>> book_title("readings")
        'By our reading of a word'
    """
    return BOOK_NAMES[book].capitalize()


@dataclass(frozen=True)
class Case:
    """One case of a statement, measured on its strongest run: verdicts are made of these.

    Args:
        outcome: what it says.
        estimate: the measured value.
        bound: what it is compared with.
        smaller: whether the run's setting is smaller than the paper's.
        absent: whether no study of ours has it.
    """

    outcome: Outcome
    estimate: Estimate
    bound: Bound
    smaller: bool = False
    absent: bool = False


@dataclass(frozen=True)
class Decision:
    """A verdict with the number that decided it.

    Args:
        verdict: one of :data:`VERDICTS`.
        pooled: the number that it was decided by, if the quantifier has one for all cases.
    """

    verdict: Verdict
    pooled: Estimate = NOTHING


def pooled(cases: Sequence[Case]) -> Estimate:
    """The mean over cases.

    Where all of them have the same replicates, as teachers or seeds, the cases are paired by these:
    one mean over the cases for each replicate, pooled by Student's t. That interval is right
    whatever the cases of one replicate have in common. Else, and where these means are all alike
    and so have no spread, it has the mean of the intervals' ends, which is no shorter than it
    should be, however the cases depend on one another; without an interval of each there is none.

    Example:
        >>> from hessian_papers.ledger.bounds import Replicates, at_least
        >>> sign = at_least(0.0, "a sign")
        >>> values = [Estimate(v, v - 1, v + 1) for v in (1.0, 2.0)]
        >>> tuple(pooled([Case("open", value, sign) for value in values]))
        (1.5, 0.5, 2.5)
        >>> seeds = [Replicates("seed", (0, 1), numbers) for numbers in ((0.0, 4.0), (4.2, 0.0))]
        >>> both = [Replicated.of(Estimate(2.0), each) for each in seeds]
        >>> [round(end, 2) for end in pooled([Case("open", each, sign) for each in both])]
        [2.05, 1.41, 2.69]
    """
    estimates = [case.estimate for case in cases]
    several = [each.replicates for each in estimates if isinstance(each, Replicated)]
    pairs = {(each.dimension, each.labels) for each in several}
    if len(several) == len(cases) > 1 and len(pairs) == 1:
        paired = np.mean([each.numbers for each in several], axis=0)
        if np.ptp(paired) > 0:
            return mean_of(paired)
    columns = zip(*(case.estimate for case in cases), strict=True)
    return Estimate(*(math.fsum(column) / len(cases) for column in columns))


def decide(
    quantifier: Quantifier, cases: Sequence[Case], *, in_print_fails: bool = False
) -> Decision:
    """The verdict on a statement.

    A setting smaller than the paper's confirms or says nothing; only a theorem speaks of every
    setting. An interval that contains the bound is ``open``.

    Args:
        quantifier: of the sentence.
        cases: all that were measured or could not be.
        in_print_fails: whether what is in print does not hold, so that the statement is a
            correction.

    Example:
        >>> decide("always", []).verdict
        'not tested'
    """
    measured = [case for case in cases if case.outcome != "not measured"]
    if not measured:
        return Decision("not tested")
    decision = _RULES[quantifier](measured)
    of_each = quantifier in _OF_EACH and any(case.absent for case in cases)
    if of_each and decision.verdict == "reproduced":
        decision = Decision("in part", decision.pooled)
    if in_print_fails and decision.verdict in ("reproduced", "in part"):
        return Decision("corrected", decision.pooled)
    return decision


def _binding(cases: Sequence[Case]) -> list[Case]:
    """The cases that count at face value: at the paper's setting, or in the statement's favour."""
    return [case for case in cases if case.outcome == "holds" or not case.smaller]


def _worst(outcomes: Sequence[Outcome]) -> Verdict:
    return next((_WORST[outcome] for outcome in _WORST if outcome in outcomes), "not tested")


_WORST: Mapping[Outcome, Verdict] = {"fails": "differs", "open": "open", "holds": "reproduced"}


def _always(cases: Sequence[Case]) -> Decision:
    return Decision(_worst([case.outcome for case in cases]))


def _everywhere(cases: Sequence[Case]) -> Decision:
    """The worst case."""
    return _of_all(cases, _worst([case.outcome for case in _binding(cases)]))


def _of_all(cases: Sequence[Case], verdict: Verdict) -> Decision:
    """A verdict of all cases; those that hold do not outweigh what only smaller settings fail."""
    if verdict == "reproduced" and len(_binding(cases)) < len(cases):
        return Decision("not tested")
    return Decision(verdict)


def _typically(cases: Sequence[Case]) -> Decision:
    """The pooled number, of the cases at the paper's setting if there are any."""
    at_the_papers = [case for case in cases if not case.smaller]
    counted = at_the_papers or cases
    of_all = pooled(counted)
    # Cases with bounds of their own are pooled by how far they are on the right side of them.
    bounds = {(case.bound.relation, *case.bound.range) for case in counted}
    outcome = counted[0].bound.outcome(of_all) if len(bounds) == 1 else _majority(counted)
    if outcome == "holds":
        against = any(case.outcome == "fails" for case in _binding(cases))
        return Decision("in part" if against else "reproduced", of_all)
    if not at_the_papers:
        return Decision("not tested", of_all)
    return Decision(_WORST[outcome], of_all)


def _majority(cases: Sequence[Case]) -> Outcome:
    """Whether more than half of the cases, each with a bound of its own, hold or fail."""
    outcomes = [case.outcome for case in cases]
    if 2 * outcomes.count("holds") > len(cases):
        return "holds"
    return "fails" if 2 * outcomes.count("fails") > len(cases) else "open"


def _exists(cases: Sequence[Case]) -> Decision:
    """Any case. One run shows nothing by its absence: only many draws do, of which none has it."""
    if any(case.outcome == "holds" for case in cases):
        return Decision("reproduced")
    at_the_papers = [case for case in cases if not case.smaller]
    drawn = [case for case in at_the_papers if case.estimate.has_interval]
    if drawn and not any(case.bound.holds(case.estimate.value) for case in at_the_papers):
        return Decision("differs")
    return Decision("open" if at_the_papers else "not tested")


def _printed(cases: Sequence[Case]) -> Decision:
    """Row by row."""
    outcomes = [case.outcome for case in _binding(cases)]
    if "holds" in outcomes and "fails" in outcomes:
        return Decision("in part")
    return _of_all(cases, _worst(outcomes))


def _shown(_: Sequence[Case]) -> Decision:
    return Decision("shown")


def _left_open(cases: Sequence[Case]) -> Decision:
    """The verdict of all choices if they agree; else it depends on the choice."""
    outcomes = {case.outcome for case in cases}
    return Decision("depends" if {"holds", "fails"} <= outcomes else _worst([*outcomes]))


# What is said of each case is not shown as long as the paper has one that we do not.
_OF_EACH: Collection[Quantifier] = ("always", "everywhere", "printed")
_RULES: Mapping[Quantifier, Callable[[Sequence[Case]], Decision]] = {
    "always": _always,
    "everywhere": _everywhere,
    "typically": _typically,
    "exists": _exists,
    "printed": _printed,
    "shown": _shown,
    "left open": _left_open,
}
