"""What several papers state counts once, and round-off is the same on every processor."""

import math

import pytest
import sample_reports

from hessian_papers.ledger.bounds import VERDICTS
from hessian_papers.ledger.record import ClaimRecord
from hessian_papers.ledger.totals import counts, metrics, round_off, statements, summary

OLDER, NEWER, POSTER = "singh2024closed", "singh2026cracking", "singh2024poster"


def record(verdict="reproduced", *, number=0, beside=None, **changes):
    """An identity, of a study of today's demo."""
    fields = {"measured": 0.0, "kind": "identity", "paper": NEWER} | changes
    found = sample_reports.claim(number, "cracking-fig1", verdict, **fields)
    return ClaimRecord(**found | {"beside": beside})


RUN = {"scale": "paper", "recorded": True}


def test_a_statement_of_several_papers_counts_once():
    records = [record(paper=paper) for paper in (OLDER, POSTER, NEWER)]
    assert statements(records) == records[:1]


def test_a_statement_that_a_paper_makes_of_several_studies_counts_as_often():
    """The k-th of a paper is the k-th of the others."""
    verdicts = {OLDER: ["reproduced", "differs"], NEWER: ["undecided", "reproduced", "corrected"]}
    records = [record(verdict, paper=paper) for paper in verdicts for verdict in verdicts[paper]]
    found = [one.verdict for one in statements(records)]
    assert found == ["undecided", "differs", "corrected"]


def test_the_least_favourable_verdict_is_that_of_the_statement():
    order = ("differs", "undecided", "not run at this scale", "corrected", "reproduced")
    for place, verdict in enumerate(order):
        same = [record(other, paper=f"paper{k}") for k, other in enumerate(order[place:])]
        assert [one.verdict for one in statements(reversed(same))] == [verdict]


def test_counts_are_in_the_order_of_the_verdicts():
    records = [record("differs", number=1), record(), record(paper=OLDER)]
    assert counts(records) == dict(zip(VERDICTS, (1, 0, 1, 0, 0), strict=True))
    assert tuple(counts([])) == VERDICTS


def test_the_summary_says_how_many_the_recorded_runs_decided():
    today = "1 claims: 0 reproduced, 0 corrected, 1 differs, 0 undecided, 0 not run at this scale"
    assert summary([record("differs")]) == today
    decided = record("differs", **RUN, beside=record())
    assert summary([decided]) == f"{today}; decided by recorded runs: 1 at scale paper"
    smaller = record(**RUN | {"scale": "workstation"}, number=1)
    assert summary([decided, smaller, record(**RUN, number=2)]).endswith(
        "; decided by recorded runs: 2 at scale paper, 1 at scale workstation"
    )
    assert summary([record("differs", beside=record(**RUN))]) == today


def test_metrics_are_those_of_the_strongest_run_and_of_todays():
    records = [
        record("differs", number=1, **RUN, beside=record("undecided", number=1)),
        record("reproduced", number=2),
        record("corrected", number=3, **RUN),
    ]
    found = metrics(records)
    assert {name: number for name, number in found["verdicts"].items() if number} == {
        "reproduced": 1, "corrected": 1, "differs": 1
    }  # fmt: skip
    assert {name: number for name, number in found["this_run"].items() if number} == {
        "reproduced": 1, "undecided": 1
    }  # fmt: skip


def test_digits_are_those_of_the_largest_error_of_each_study():
    def digits(*records):
        return metrics(records)["digits"]

    small, large = record(measured=3e-9, number=1), record(measured=4e-15, number=2)
    assert digits(small, large) == digits(large, small) == {"cracking-fig1": 8}
    assert digits(large) == {"cracking-fig1": 12}
    assert digits(record("differs", measured=None)) == {"cracking-fig1": 0}
    assert digits(record("differs", measured=20.0)) == {"cracking-fig1": 0}
    assert digits(record(kind="value")) == digits(record("reproduced", **RUN)) == {}
    assert digits(record("not run at this scale", measured=None, expected=None)) == {}


@pytest.mark.parametrize("error", [0.0, 1e-17, -8e-16, 4e-14, 9e-14, 3.9e-13])
def test_round_off_of_any_processor_is_one_bound(error):
    assert round_off(error) == 1e-12


@pytest.mark.parametrize("exponent", range(-11, 2))
def test_a_larger_error_has_a_power_of_ten_above_it_with_a_margin(exponent):
    power = float(f"1e{exponent}")
    for share in (0.041, 0.1, 0.2, 0.39):
        assert round_off(share * power) == power
    assert round_off(0.41 * power) == float(f"1e{exponent + 1}")
    assert math.log10(power) == exponent


def test_an_error_that_may_jump_is_bounded_by_its_tolerance():
    assert round_off(0.0, 1e-7) == round_off(3e-9, 1e-7) == 1e-8
    assert round_off(5e-9, 1e-7) == 1e-7
    assert round_off(0.0, 1e-10) == 1e-12
