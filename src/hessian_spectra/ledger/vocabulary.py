"""One entry of the ledger and how its verdict is found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

Kind = Literal["identity", "value", "trend", "correlation"]
Relation = Literal["<=", ">=", "="]
Verdict = Literal["reproduced", "corrected", "differs", "not run at this scale"]
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


# A measurement takes the arrays of a study's sides, in the order of ``Claim.sides``.
Measure = Callable[..., float | Estimate]
# What of a measurement is compared with the expected value; an end of the interval makes the claim
# a test at the interval's level.
Decides = Literal["value", "low", "high"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and how we measure it.

    The measured value must stand in ``relation`` to ``expected``: ``"<="`` and ``">="`` are bounds
    (widened by ``tolerance``), ``"="`` means equal up to ``tolerance``. For an identity the
    measured value is the error, ``expected`` is 0 and the relation ``"<="``.

    An erratum is a claim with ``printed``: then ``statement`` is the corrected form, which must
    hold, and ``measure_printed`` is the error of the form in print, which must not.

    Args:
        id: ``<study or theorem>/<what>``, unique in the ledger.
        paper: the paper's key.
        location: where it stands in the paper.
        statement: the claim in one sentence (for an erratum, the corrected one).
        kind: identity, value, trend or correlation.
        study: the study whose arrays are measured; ``None`` if no study of this scale does.
        test: node id of the test that stands behind it, e.g. ``tests/closed_form/test_x.py``.
        measure: the measured value, or an :class:`Estimate`, from the arrays of ``sides``.
        sides: the stages whose arrays ``measure`` takes.
        decides: which number of an :class:`Estimate` must stand in the relation.
        expected: the value that the measured one is compared with.
        source: where ``expected`` comes from.
        relation: how the two are compared.
        tolerance: how far they may be apart, absolute.
        reason: why this tolerance.
        printed: for an erratum, what is in print.
        measure_printed: for an erratum, the error of what is in print.
        explanation: why we differ, where we do; required for a claim known to differ.
    """

    id: str
    paper: str
    location: str
    statement: str
    kind: Kind
    study: str | None
    test: str | None
    measure: Measure | None = None
    sides: tuple[str, ...] = ("closed_form", "numerics")
    decides: Decides = "value"
    expected: float = 0.0
    source: str = "the paper"
    relation: Relation = "<="
    tolerance: float = 0.0
    reason: str = ""
    printed: str | None = None
    measure_printed: Measure | None = None
    explanation: str = ""

    def problems(self) -> list[str]:
        """What keeps this from being an entry of the ledger, one line each."""
        needed: dict[str, str | None] = {
            "id": self.id,
            "paper": self.paper,
            "location": self.location,
            "statement": self.statement,
        }
        if self.measure is not None:
            needed |= {"study": self.study, "test": self.test, "source": self.source}
            needed["reason"] = self.reason
        found = [f"{name} is empty" for name, text in needed.items() if not (text or "").strip()]
        if (self.printed is None) != (self.measure_printed is None):
            found.append("printed and measure_printed belong together")
        if not self.tolerance >= 0:
            found.append(f"tolerance is {self.tolerance}")
        if self.measure is None and not self.explanation.strip():
            found.append("it is not measured, and explanation does not say why")
        return [f"{self.id or 'a claim without id'}: {problem}" for problem in found]


def holds(measured: float, relation: Relation, expected: float, tolerance: float) -> bool:
    """Whether a measured value stands in a relation to the expected one; NaN never does."""
    if relation == "<=":
        return measured <= expected + tolerance
    if relation == ">=":
        return measured >= expected - tolerance
    return abs(measured - expected) <= tolerance
