"""One entry of the ledger and how its verdict is found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hessian_spectra.results import Arrays

Kind = Literal["identity", "value", "trend", "correlation"]
Relation = Literal["<=", ">=", "="]
Verdict = Literal["reproduced", "corrected", "differs", "not run at this scale"]

# A measurement takes a study's closed-form arrays and its numerics arrays.
Measure = Callable[[Arrays, Arrays], float]


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
        measure: the measured value from the study's closed-form and numerics arrays.
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
    expected: float = 0.0
    source: str = "the paper"
    relation: Relation = "<="
    tolerance: float = 0.0
    reason: str = ""
    printed: str | None = None
    measure_printed: Measure | None = None
    explanation: str = ""


def holds(measured: float, relation: Relation, expected: float, tolerance: float) -> bool:
    """Whether a measured value stands in a relation to the expected one; NaN never does."""
    if relation == "<=":
        return measured <= expected + tolerance
    if relation == ">=":
        return measured >= expected - tolerance
    return abs(measured - expected) <= tolerance
