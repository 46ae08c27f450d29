"""The draws that would decide what an interval leaves open."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sample_reports

from hessian_papers.ledger.bounds import Bound, Estimate, at_least, equal_to, mean_of
from hessian_papers.ledger.undecided import needed, times_as_many

SIGN = at_least(0.0, "a sign")


def case(estimate, bound=SIGN, *, study="cracking-fig1", seconds=60.0, departs=None):
    """A case with that estimate, as the ledger has it."""
    measured = {
        **{name: getattr(bound, name) for name in ("expected", "relation", "tolerance")},
        "measured": estimate.value,
        "interval": [estimate.low, estimate.high] if estimate.has_interval else None,
        "scale": "demo" if departs else "paper",
    }
    of = {"departs": departs or {}, "seconds": seconds}
    return sample_reports.case(0, study, bound.outcome(estimate), **measured, **of)


def statement(*cases, pooled=None, **changes):
    """An open statement of these cases."""
    fields = {"quantifier": "everywhere", "book": "observations", "identity": False} | changes
    value, *ends = pooled or (None, None, None)
    number = {"pooled": value, "pooled_interval": ends if pooled else None}
    return sample_reports.record(0, "open", [*cases], **fields, **number)


@pytest.mark.parametrize("bound", [SIGN, Bound(relation="<=", expected=0.3, reason="a reason")])
def test_so_many_draws_decide(bound):
    draws = np.random.default_rng(2).normal(0.12, 1.0, size=40)
    estimate = mean_of(draws)
    assert bound.outcome(estimate) == "open"
    times = times_as_many(estimate, bound)
    assert times > 1
    # The same draws again and again have their mean and their variance.
    assert bound.outcome(mean_of(np.tile(draws, int(times)))) != "open"
    assert bound.outcome(mean_of(np.tile(draws, int(times) // 2))) == "open"


def test_the_nearer_end_of_a_range_counts():
    around = equal_to(1.0, "a tenth", tolerance=0.1)
    assert times_as_many(Estimate(1.06, 0.98, 1.14), around) == 4
    assert times_as_many(Estimate(1.14, 1.06, 1.22), around) == 4


def test_nothing_decides_at_the_bound_or_from_one_draw():
    assert times_as_many(Estimate(0.0, -1.0, 1.0), SIGN) == math.inf
    assert times_as_many(Estimate(1.0, -math.inf, math.inf), SIGN) == math.inf
    assert "no number of draws" in needed(statement(case(Estimate(1e-9, -1.0, 1.0))))


def test_what_no_interval_tells_is_said():
    drawn_once = case(Estimate(-0.1)) | {"outcome": "open"}
    single = statement(drawn_once, quantifier="typically")
    assert needed(single).startswith("It is known from a single draw")
    both = statement(drawn_once, case(Estimate(0.5, -0.5, 1.5)), quantifier="everywhere")
    assert "With 4 times" in needed(both)
    nowhere = statement(case(Estimate(-0.5, -0.6, -0.4)), quantifier="exists")
    assert needed(nowhere).startswith("More draws would not decide it, only a setting")
    assert needed(replace(nowhere, verdict="differs")) == ""


def test_all_open_cases_are_drawn_again_and_of_each_study_once():
    few, many = Estimate(0.5, -0.2, 1.2), Estimate(0.2, -0.3, 0.7)
    text = needed(statement(case(few), case(many), case(few, study="poster-pair", seconds=600.0)))
    assert text == (
        "With 7 times as many draws it would be decided, if the estimate stays: 27 min of one core."
    )
    assert "With 2 times" in needed(statement(case(few), case(many), quantifier="exists"))
    assert "no number" not in needed(statement(case(few), case(Estimate(0.5, 0.1, 0.9))))


def test_one_number_of_all_cases_is_drawn_again_with_those_that_count():
    apart = {"width": [5, 50]}
    cases = (
        case(Estimate(0.1, -1.0, 1.2)),
        case(Estimate(0.4, 0.1, 0.7), departs=apart, study="poster-pair"),
    )
    mean = Estimate(0.1, -0.15, 0.35)
    typical = statement(*cases, quantifier="typically", pooled=mean)
    assert needed(typical).endswith("stays: 7 min of one core.")
    assert needed(replace(typical, book="beyond")).endswith("stays: 14 min of one core.")


def test_bounds_of_their_own_are_decided_case_by_case():
    cases = case(Estimate(0.5, -0.5, 1.5)), case(Estimate(0.9), at_least(1.0, "another"))
    mixed = statement(*cases, quantifier="typically", pooled=Estimate(0.7, 0.2, 1.2))
    assert "With 4 times" in needed(mixed)
    assert "With 4 times" in needed(replace(mixed, pooled_interval=None))
    assert math.isnan(times_as_many(Estimate(0.5), SIGN))


def test_what_is_not_open_or_not_known_needs_no_sentence():
    open_one = statement(case(Estimate(0.5, -0.2, 1.2), seconds=None))
    assert needed(open_one).endswith("if the estimate stays.")
    assert not needed(replace(open_one, verdict="differs"))
    assert not needed(statement(case(Estimate(-0.5)), quantifier="typically"))
