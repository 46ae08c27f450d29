"""Totals by paper and book, and round-off that is the same on every processor."""

import math

import pytest
import sample_reports

from hessian_papers.ledger.totals import (
    counts,
    metrics,
    numbers,
    round_off,
    summary,
    totals,
)
from pipelines import inputs

OLDER, NEWER = "singh2024closed", "singh2026cracking"
RUN = {"scale": "paper", "recorded": True}


def case(outcome="holds", *, number=0, beside=None, **changes):
    """A case of a study of today's demo."""
    entry = sample_reports.case(number, "cracking-fig1", outcome, **{"measured": 0.0} | changes)
    return entry | {"beside": beside}


def statement(verdict="reproduced", *cases, number=0, **changes):
    fields = {"book": "theorems", "identity": True, "places": {NEWER: "Theorem 1"}} | changes
    return sample_reports.record(number, verdict, [*cases] or [case()], **fields)


def test_a_statement_counts_in_each_of_its_papers_and_once_in_the_sum():
    both = statement(places={OLDER: "Theorem 1", NEWER: "Theorem 3.1"})
    observed = statement("open", book="observations", number=1)
    beyond = statement("differs", book="beyond", number=2)
    known = totals([both, observed, beyond])
    assert known.books == {
        OLDER: {"theorems": {"reproduced": 1}},
        NEWER: {"theorems": {"reproduced": 1}, "observations": {"open": 1}},
    }
    assert known.by_paper == {OLDER: {"reproduced": 1}, NEWER: {"reproduced": 1, "open": 1}}
    assert (known.papers, known.beyond) == ({"reproduced": 1, "open": 1}, {"differs": 1})
    assert summary([both, observed, beyond]) == (
        "2 statements of the papers: 1 reproduced, 1 open; 1 beyond them: 1 differs; 3 cases"
    )
    assert summary([both]) == "1 statements of the papers: 1 reproduced; 1 cases"


def test_counts_are_in_the_order_of_the_verdicts():
    records = [statement("differs"), statement(), statement("in part"), statement()]
    assert list(counts(records).items()) == [("reproduced", 2), ("in part", 1), ("differs", 1)]


def test_metrics_are_those_of_the_strongest_run_and_of_todays():
    actual = metrics(
        [
            statement("open", case("fails", **RUN, beside=case("open"))),
            statement("reproduced", case(number=2)),
            statement("corrected", case(number=3, **RUN)),
        ]
    )
    assert actual["papers"] == "1 reproduced, 1 corrected, 1 open"
    assert actual["beyond"] == ""
    assert actual["this_run"] == "1 holds, 1 open"
    assert actual["numbers"] == {}


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("a number", {"case": "a/b"}),
        ("number", "a/b"),
        ("number", {}),
        ("number", {"case": "b"}),
        ("number", {"case": "a/b", "as": "percent"}),
        ("number", {"case": "a/b", "statement": "c"}),
    ],
)
def test_what_is_no_number_of_a_run_is_refused_in_one_line(name, entry):
    with pytest.raises(ValueError, match=f"^headlines, {name}: expected .*, got ") as caught:
        numbers({name: entry}, {"a/b": 1.0})
    assert "\n" not in str(caught.value)


def test_digits_are_those_of_the_largest_error_of_each_study():
    def digits(*records):
        return metrics(records).get("digits")

    small, large = (statement("reproduced", case(measured=error)) for error in (3e-9, 4e-15))
    assert digits(small, large) == digits(large, small) == 8
    assert digits(large) == 12
    assert digits(statement("differs", case(measured=None))) == 0
    assert digits(statement("differs", case(measured=20.0))) == 0
    assert digits(statement(identity=False)) is None
    assert digits(statement("reproduced", case(**RUN))) is None
    unmeasured = case("not measured", measured=None, expected=None)
    assert digits(statement("not tested", unmeasured)) is None


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


def test_what_dvc_shows_of_a_run_has_at_most_twenty_columns():
    """The metrics have some, and DVC has two of its own: the name and the time."""
    shown = metrics([statement("reproduced", case(**RUN))], inputs.headlines())
    columns = [*shown.pop("numbers"), *shown]
    assert not [name for name in columns if isinstance(shown.get(name), dict)]
    assert len(columns) + 2 <= 20
