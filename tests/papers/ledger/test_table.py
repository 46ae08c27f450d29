"""The ledger in Markdown: a row for each statement, with the cases that do not follow."""

import re

import pytest
import sample_reports

from hessian_papers.ledger.record import CaseRecord
from hessian_papers.ledger.table import expected, measured, table

STUDY = "cracking-fig1"
POOLED = {"pooled": 0.25, "pooled_interval": [0.125, 0.375]}
FIELDS = {"book": "observations", "quantifier": "everywhere", "identity": False, "pooled": None}


def case(outcome="holds", *, number=0, **changes):
    """A case of today's demo."""
    return sample_reports.case(number, STUDY, outcome, **{"measured": 0.5} | changes)


def statement(verdict="reproduced", *cases, number=0, **changes):
    fields = FIELDS | {"pooled_interval": None, "places": {"singh2026cracking": "Theorem 0"}}
    return sample_reports.record(number, verdict, [*cases] or [case()], **fields | changes)


def cells(record):
    """The cells of the only row of a statement."""
    rows = [line for line in table([record]).splitlines() if f"`{record.id}`" in line]
    (row,) = rows
    return re.split(r"(?<!\\)\|", row)[1:-1]


def test_every_statement_is_one_row_under_its_paper_and_book():
    records = [
        statement(),
        statement(number=1, places={"singh2024closed": "Theorem 1", "singh2026cracking": "3.1"}),
        statement(number=2, places={"nobody2030": "Theorem"}, book="theorems"),
        statement("not tested", case("not measured", measured=None), number=3),
        statement("differs", case("fails"), number=4, book="beyond"),
    ]
    text = table(records)
    places = [text.index(f"## {key}") for key in (
        "singh2024closed: Closed form", "singh2026cracking:", "nobody2030", "Beyond the papers"
    )]  # fmt: skip
    assert places == sorted(places)
    line = "4 statements of the papers: 3 reproduced, 1 not tested; 1 beyond them: 1 differs"
    assert f"**{line}; 5 cases**" in text.splitlines()
    for record in records:
        assert text.count(f"`{record.id}`") == 1
    assert "|singh2024closed|Observations|1 reproduced|" in text
    assert "|singh2026cracking|Observations|2 reproduced, 1 not tested|" in text


def test_cases_that_do_not_follow_are_named_and_a_star_marks_a_smaller_setting():
    against = [
        case("fails", number=1, labels={"time": "trained"}),
        case("fails", number=2, departs={"networks": [20, 200]}),
    ]
    undecided = case("open", number=3)
    row = cells(statement("differs", case(), *against, undecided))
    assert row[6] == "4, 2 not: cracking-fig1 (trained): 0.5; cracking-fig1 (time 2): 0.5*, 1 open"
    many = [case("fails", number=number) for number in range(6)]
    assert cells(statement("differs", *many))[6].endswith("and 3 more")


@pytest.mark.parametrize(
    ("record", "column", "cell"),
    [
        (statement("reproduced", case(), case(number=1), **POOLED), 4, "0.25 [0.125, 0.375]"),
        (statement(), 4, "0.5"),
        (statement("reproduced", case(), case(number=1, measured=2.0)), 4, "0.5 to 2"),
        (statement("reproduced", case(measured=3e-9, tolerance=1e-7), identity=True), 4, "≤ 1e-08"),
        (statement(), 5, "≤ 1e-10"),
        (statement("reproduced", case(), case(expected=1.0)), 5, "each its own"),
        (statement("reproduced", case(word="nearly", reason="by a quarter")), 7, "By a quarter."),
        (statement("corrected", case(explanation="?"), printed="b = 2a"), 7, "In print: b = 2a."),
        (statement("differs", case("fails", explanation="few inputs")), 7, "few inputs."),
    ],
)
def test_a_cell_has_the_number_that_decides_its_bound_and_a_remark(record, column, cell):
    assert cells(record)[column] == cell


def test_bars_and_line_breaks_do_not_break_a_cell():
    (row,) = [r for r in table([statement(sentence="|a|\nis ‖b‖ | c")]).splitlines() if "‖b‖" in r]
    assert r"|\|a\| is ‖b‖ \| c `sample-0`|" in row


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"tolerance": 1e-10}, "≤ 1e-10"),
        ({"relation": ">=", "expected": -1.0, "tolerance": 0.0}, "≥ -1"),
        ({"relation": "=", "expected": 0.25, "tolerance": 0.5}, "= 0.25 ± 0.5"),
        ({"expected": 0.25, "tolerance": 0.5}, "≤ 0.25 + 0.5"),
        ({"expected": None}, "–"),
    ],
)
def test_the_expected_value_is_written_with_its_tolerance(changes, cell):
    assert expected(CaseRecord(**case(**changes)).bound) == cell


@pytest.mark.parametrize(
    ("identity", "changes", "text"),
    [
        (True, {"measured": 4e-15}, "≤ 1e-12"),
        (True, {"measured": 3e-9, "tolerance": 1e-7}, "≤ 1e-08"),
        (True, {"measured": 0.0, "tolerance": 0.0}, "0"),
        (True, {"measured": 0.25}, "0.25"),
        (True, {"measured": None}, "–"),
        (False, {"measured": 4e-15}, "≤ 1e-12"),
        (False, {"measured": -4e-15}, "≥ −1e-12"),
        (False, {"measured": 4e-11}, "4e-11"),
        (False, {"measured": 5074.0}, "5074"),
        (False, {"measured": 0.5, "interval": [0.25, 0.75]}, "0.5 [0.25, 0.75]"),
    ],
)
def test_round_off_is_a_bound_and_all_else_a_number(identity, changes, text):
    assert measured(CaseRecord(**case(**changes)), identity) == text
