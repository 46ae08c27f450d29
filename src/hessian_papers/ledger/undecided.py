"""The draws that would decide a statement which its intervals leave open."""

import math
from collections.abc import Iterable

from hessian_papers.ledger.bounds import Bound, Estimate
from hessian_papers.ledger.record import CaseRecord, StatementRecord

# Beyond so many times as many draws the estimate is at its bound.
MOST = 1000
# More draws than there are need fewer standard errors, but no interval is known that well.
FEWEST = 2


def duration(seconds: float) -> str:
    """A time in the largest unit of which it has more than one.

    Example:
        >>> duration(26.0), duration(2233.9), duration(10979.4), duration(600000.0)
        ('26 s', '37 min', '3 h', '7 days')
    """
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def times_as_many(estimate: Estimate, bound: Bound) -> float:
    """The multiple of the draws that would decide, if the estimate and its variance stay.

    An interval is as wide as one over the root of the number of draws: with half of its width h and
    the distance d of the estimate from the bound it is (h/d)², rounded up.

    Returns:
        At least 1; infinite where the estimate is at the bound, or known from a single draw; NaN
        where it has no interval.

    Example:
        >>> from hessian_papers.ledger.bounds import at_least
        >>> times_as_many(Estimate(0.5, -0.5, 1.5), at_least(0.0, "a sign"))
        4.0
    """
    if not estimate.has_interval:
        return math.nan
    edges = [edge for edge in bound.range if math.isfinite(edge)]
    distance = min((abs(estimate.value - edge) for edge in edges), default=math.nan)
    ratio = (estimate.high - estimate.low) / 2 / distance if distance else math.inf
    return float(math.ceil(round(ratio**2, 9))) if math.isfinite(ratio) else math.inf


def _undecided(statement: StatementRecord) -> list[tuple[CaseRecord, float]]:
    """The cases that would have to be drawn again, and how many times as many draws each takes."""
    measured = [case for case in statement.cases if case.outcome != "not measured"]
    if statement.estimate.has_interval:
        beyond = statement.book == "beyond"
        counted = [case for case in measured if beyond or not case.smaller] or measured
        if len({case.bound.range for case in counted}) == 1:
            # One number decides for all cases that count.
            times = times_as_many(statement.estimate, counted[0].bound)
            return [(case, times) for case in counted]
    each = [
        (case, times_as_many(case.estimate, case.bound))
        for case in measured
        if case.outcome == "open"
    ]
    if statement.quantifier == "exists":
        # Any case is enough.
        return sorted(each, key=lambda entry: entry[1])[:1]
    return each


def _seconds(cases: Iterable[tuple[CaseRecord, float]]) -> float | None:
    """The time of one core that the draws take: of each study once, with the most draws."""
    runs: dict[str, float] = {}
    for case, times in cases:
        if case.study is None or case.seconds is None:
            return None
        runs[case.study] = max(runs.get(case.study, 0.0), times * case.seconds)
    return math.fsum(runs.values())


def needed(statement: StatementRecord) -> str:
    """The draws that would decide an open statement, in a sentence; empty if it is not open.

    Example:
        >>> from hessian_papers.ledger.evaluation import evaluate
        >>> {needed(statement) for statement in evaluate([])}
        {''}
    """
    if statement.verdict != "open":
        return ""
    undecided = _undecided(statement)
    if not undecided:
        exists = statement.quantifier == "exists"
        return "More draws would not decide it, only a setting in which it holds." if exists else ""
    known = [(case, times) for case, times in undecided if not math.isnan(times)]
    if not known:
        return "It is known from a single draw, which does not tell how many would decide it."
    most = max(times for _, times in known)
    if most > MOST:
        return "The estimate is so near to the bound that no number of draws would decide it."
    seconds = _seconds(known)
    took = "" if seconds is None else f": {duration(seconds)} of one core"
    times = max(FEWEST, int(most))
    return f"With {times} times as many draws it would be decided, if the estimate stays{took}."
