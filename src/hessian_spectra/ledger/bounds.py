"""What a measured value is compared with, and how its verdict follows."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

Kind = Literal["identity", "value", "trend", "correlation"]
Relation = Literal["<=", ">=", "="]
Verdict = Literal["reproduced", "corrected", "differs", "not run at this scale"]
# Which number of an estimate is compared; an end makes the claim a test at the interval's level.
Decides = Literal["value", "low", "high"]

KINDS: tuple[Kind, ...] = get_args(Kind)
RELATIONS: tuple[Relation, ...] = get_args(Relation)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Estimate(NamedTuple):
    """A measured value with its confidence interval.

    Attributes:
        value: the point estimate.
        low: lower end of the interval.
        high: upper end.
    """

    value: float
    low: float
    high: float


class NothingToMeasure(Exception):  # noqa: N818 - no error: the claim is not about this run
    """The arrays of a configuration hold nothing that a claim speaks of; the message says what."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a measured value is compared with.

    Args:
        relation: how the two are compared: ``"<="`` and ``">="`` are bounds, widened by
            ``tolerance``; ``"="`` means equal up to ``tolerance``.
        expected: the value that the measured one is compared with.
        reason: why this bound.
        tolerance: how far they may be apart, absolute.
        source: where ``expected`` comes from.
        decides: which number of an :class:`Estimate` is compared.
    """

    relation: Relation
    expected: float
    reason: str
    tolerance: float = 0.0
    source: str = "the paper"
    decides: Decides = "value"

    def holds(self, measured: float) -> bool:
        """Whether a measured value stands in the relation to the expected one; NaN never does.

        Example:
            >>> at_most(1.0, "a bound", tolerance=0.2).holds(1.1)
            True
        """
        if self.relation == "<=":
            return measured <= self.expected + self.tolerance
        if self.relation == ">=":
            return measured >= self.expected - self.tolerance
        return abs(measured - self.expected) <= self.tolerance

    def __str__(self) -> str:
        words = {"<=": "at most", ">=": "at least", "=": "equal to"}[self.relation]
        return f"{words} {self.expected:g} (tolerance {self.tolerance:g})"


def at_most(expected: float, reason: str, **of: Any) -> Bound:
    """An upper bound; ``of``: further fields of :class:`Bound`."""
    return Bound(relation="<=", expected=expected, reason=reason, **of)


def at_least(expected: float, reason: str, **of: Any) -> Bound:
    """A lower bound; ``of``: further fields of :class:`Bound`."""
    return Bound(relation=">=", expected=expected, reason=reason, **of)


def equal_to(expected: float, reason: str, **of: Any) -> Bound:
    """A value up to a tolerance; ``of``: further fields of :class:`Bound`."""
    return Bound(relation="=", expected=expected, reason=reason, **of)


def within(tolerance: float, reason: str, **of: Any) -> Bound:
    """An error, or a deviation, that is at most ``tolerance``."""
    return at_most(0.0, reason, tolerance=tolerance, **of)
