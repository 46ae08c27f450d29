"""The verdict on a statement follows from its cases, by what its sentence says of them."""

import math
from dataclasses import replace

import pytest

from hessian_papers.ledger.bounds import Estimate, at_least
from hessian_papers.ledger.verdicts import QUANTIFIERS, Case, decide, pooled

SIGN = at_least(0.0, "a sign")


def case(low, high=None, *, smaller=False, bound=SIGN):
    """A case with an interval, or with a value alone."""
    ends = () if high is None else (low, high)
    value = low if high is None else (low + high) / 2
    estimate = Estimate(value, *ends)
    return Case(bound.outcome(estimate), estimate, bound, smaller)


HOLDS, FAILS, OPEN = case(1.0, 2.0), case(-2.0, -1.0), case(-1.0, 2.0)
SMALL_HOLDS, SMALL_FAILS = case(1.0, 2.0, smaller=True), case(-2.0, -1.0, smaller=True)
UNMEASURED = Case("not measured", Estimate(math.nan), SIGN)


def verdict(quantifier, *cases, **fields):
    return decide(quantifier, cases, **fields).verdict


@pytest.mark.parametrize("quantifier", QUANTIFIERS)
def test_of_nothing_measured_nothing_is_said(quantifier):
    assert verdict(quantifier, UNMEASURED) == verdict(quantifier) == "not tested"


@pytest.mark.parametrize("quantifier", ["always", "everywhere", "typically", "exists", "printed"])
def test_what_holds_in_every_case_is_reproduced(quantifier):
    assert verdict(quantifier, HOLDS, HOLDS, UNMEASURED) == "reproduced"
    assert verdict(quantifier, SMALL_HOLDS) == "reproduced"


@pytest.mark.parametrize("quantifier", ["everywhere", "typically", "exists", "printed"])
def test_a_smaller_setting_never_refutes(quantifier):
    assert verdict(quantifier, SMALL_FAILS, SMALL_FAILS) == "not tested"


def test_a_theorem_speaks_of_every_setting():
    assert verdict("always", HOLDS, SMALL_FAILS) == "differs"


@pytest.mark.parametrize("quantifier", ["always", "everywhere"])
def test_the_worst_case_decides(quantifier):
    assert verdict(quantifier, HOLDS, OPEN) == "open"
    assert verdict(quantifier, HOLDS, OPEN, FAILS) == "differs"


def test_what_holds_everywhere_but_in_a_smaller_setting_is_not_tested():
    assert verdict("everywhere", HOLDS, SMALL_FAILS) == "not tested"


class TestTypically:
    def test_the_pooled_number_decides(self):
        decision = decide("typically", [HOLDS, OPEN])
        assert decision.verdict == "reproduced"
        assert decision.pooled == Estimate(1.0, 0.0, 2.0)
        assert verdict("typically", OPEN, OPEN) == "open"
        assert verdict("typically", FAILS, FAILS, HOLDS) == "open"
        assert verdict("typically", FAILS, FAILS) == "differs"

    def test_in_part_if_a_case_lies_wholly_on_the_other_side(self):
        far = case(20.0, 30.0)
        assert verdict("typically", far, FAILS) == "in part"
        assert verdict("typically", far, SMALL_FAILS) == "reproduced"

    def test_cases_at_the_papers_setting_count_where_there_are_any(self):
        assert verdict("typically", FAILS, case(20.0, 30.0, smaller=True)) == "differs"

    @pytest.mark.parametrize(
        ("signs", "expected"),
        [([1, 1, 1], "reproduced"), ([1, 1, -1], "in part"), ([-1, -1, 1], "differs")],
    )
    def test_bounds_of_their_own_are_counted(self, signs, expected):
        cases = [
            case(sign * (place + 1.0), bound=at_least(float(sign * place), "its own"))
            for place, sign in enumerate(signs)
        ]
        assert verdict("typically", *cases) == expected

    def test_without_intervals_there_is_none(self):
        assert not pooled([case(1.0), case(2.0)]).has_interval
        assert pooled([case(1.0), case(2.0)]).value == 1.5


def test_any_case_shows_that_there_is_one():
    assert verdict("exists", FAILS, FAILS, SMALL_HOLDS) == "reproduced"
    assert verdict("exists", FAILS) == "differs"


def test_one_run_shows_nothing_by_its_absence():
    assert verdict("exists", case(-1.0)) == "open"


def test_a_table_is_read_row_by_row():
    assert verdict("printed", HOLDS, FAILS) == "in part"
    assert verdict("printed", FAILS, FAILS) == "differs"
    assert verdict("printed", HOLDS, SMALL_FAILS) == "not tested"
    assert verdict("printed", HOLDS, OPEN) == "open"


@pytest.mark.parametrize("quantifier", ["always", "everywhere", "printed"])
def test_what_is_said_of_each_is_shown_in_part_where_no_study_has_a_case(quantifier):
    absent = replace(UNMEASURED, absent=True)
    assert verdict(quantifier, HOLDS, absent) == "in part"
    assert verdict(quantifier, HOLDS, UNMEASURED) == "reproduced"
    assert verdict("typically", HOLDS, absent) == "reproduced"


def test_a_panel_without_a_sentence_has_a_number_and_no_verdict():
    assert verdict("shown", FAILS) == verdict("shown", HOLDS) == "shown"


def test_what_the_paper_leaves_open_depends_where_readings_disagree():
    assert verdict("left open", HOLDS, FAILS) == "depends"
    assert verdict("left open", HOLDS, HOLDS) == "reproduced"
    assert verdict("left open", FAILS) == "differs"
    assert verdict("left open", HOLDS, OPEN) == "open"


@pytest.mark.parametrize("quantifier", ["always", "typically"])
def test_a_print_that_fails_makes_ours_a_correction(quantifier):
    assert verdict(quantifier, HOLDS, in_print_fails=True) == "corrected"
    assert verdict(quantifier, FAILS, in_print_fails=True) == "differs"
