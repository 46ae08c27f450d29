"""The small picture of a finding shows all of its cases, each at its place."""

import pytest
import sample_reports

from hessian_papers.ledger.record import CaseRecord
from hessian_papers.report.findings import Group, Picture
from hessian_papers.report.small_pictures import drawing


def group(says, *values, **changes):
    """Cases of a layer each; a triple is a value with its interval, a pair one with its print's."""
    cases = []
    for number, value in enumerate(values):
        measured, *more = value if isinstance(value, tuple) else (value,)
        of = {
            "measured": measured,
            "interval": None,
            "labels": {"x": "same", "layer": f"fc{number}"},
        }
        of |= {"printed_error": more[0]} if len(more) == 1 else {"interval": more or None}
        cases.append(CaseRecord(**sample_reports.case(number, "poster-pair", **of | changes)))
    return Group(says, cases)


def test_every_case_stands_at_its_value_within_the_axis():
    made = drawing(Picture("r", "number", [group("a", 0.1, (0.3, 0.2, 0.5)), group("b", 0.4)]))
    by_value = sorted(made.rows, key=lambda row: row.value)
    assert [row.y for row in made.rows] == sorted(row.y for row in made.rows)
    assert [row.y for row in by_value] == [made.rows[k].y for k in (0, 1, 2)]
    wide = made.rows[1]
    low, high = wide.ends
    assert low < wide.value < high
    assert (high - wide.value) == pytest.approx(2 * (wide.value - low), abs=0.2)
    # Linear: 0.1, 0.3 and 0.4 are in the ratio of their distances.
    first, second, third = (row.value for row in made.rows)
    assert (second - first) == pytest.approx(2 * (third - second), abs=0.2)
    assert all(row.y < made.foot < made.height for row in made.rows)


def test_cases_are_named_by_what_they_do_not_share_and_an_only_one_has_its_number():
    made = drawing(Picture("r", "percent", [group("two", 0.1, 0.2), group("one", 0.5)]))
    assert [row.name for row in made.rows] == ["fc0", "fc1", "50 %"]
    assert [says for says, _ in made.headings] == ["two", "one"]


def test_many_cases_share_a_height():
    made = drawing(Picture("r", "number", [group("many", *(0.01 * k for k in range(50)))]))
    assert len(made.rows) == 50
    assert made.height < 200
    assert not any(row.name for row in made.rows)


def test_many_cases_are_named_where_a_label_that_they_share_begins():
    """The one that changes least: a network of several layers."""
    of = [{"labels": {"layer": f"fc{k % 3}", "network": f"F-{k // 3}"}} for k in range(6)]
    cases = [case for labels in of for case in group("a", 0.5, **labels).cases]
    made = drawing(Picture("r", "number", [Group("a", cases)]))
    assert [row.name for row in made.rows] == ["F-0", "", "", "F-1", "", ""]


def test_a_network_is_called_as_in_the_text():
    cases = [*group("a", 0.5, labels={"network": "F-100^2"}).cases]
    cases += group("a", 0.5, labels={"network": "F-200^12"}).cases
    made = drawing(Picture("r", "number", [Group("a", cases)]))
    assert [row.name for row in made.rows] == ["F-100²", "F-200¹²"]


def test_an_axis_of_factors_has_ticks_and_a_line_as_far_as_its_marks():
    """That from 1 to 3 ended at 2."""
    made = drawing(Picture("r", "factor", [group("a", 0.5, 1.08)], line=(1.0, "as near")))
    assert [text for _, text in made.ticks] == ["1", "2", "3"]
    assert made.ends[0] < min(row.value for row in made.rows)
    assert max(row.value for row in made.rows) < made.ends[1]


def test_ticks_are_round_wherever_the_numbers_are():
    made = drawing(Picture("r", "number", [group("a", 1003.0, 1007.0)]))
    assert [text for _, text in made.ticks] == ["1003", "1004", "1005", "1006", "1007"]


def test_names_for_which_there_is_no_room_are_left_out():
    long = {"labels": {"of": "x" * 60}}
    cases = [*group("a", 0.1, **long).cases, *group("a", 0.2).cases]
    assert [row.name for row in drawing(Picture("r", "number", [Group("a", cases)])).rows] == [
        "",
        "",
    ]


def test_a_value_to_compare_with_is_on_the_axis():
    made = drawing(Picture("r", "factor", [group("a", (0.7, 0.5, 0.9))], (1.0, "no change")))
    place, name = made.line
    assert name == "no change"
    # e^0.7 = 2.01 is above 1, and so is all of its interval.
    assert place < made.rows[0].ends[0]
    assert (place, "1") in made.ticks


def test_what_is_in_print_stands_beside_what_corrects_it():
    """Over twelve decades; round-off of any size is at the same place, on every processor."""
    cases = ((3e-15, 0.5), (4e-13, 2e-3), (8e-16, 40.0))
    made = drawing(Picture("error", "bound", [group("all", *cases)], in_print=True))
    assert len({row.value for row in made.rows}) == 1
    printed = [row.printed for row in made.rows]
    assert printed == sorted(printed), "in the order of the print's errors"
    assert all(row.printed > row.value + 150 for row in made.rows)
    assert [text for _, text in made.ticks] == ["10⁻¹²", "10⁻⁸", "10⁻⁴", "1"]
    other = [(value / 3, error) for value, error in cases]
    assert drawing(Picture("error", "bound", [group("all", *other)], in_print=True)) == made
    assert made.said == "error. all: 3 cases, 1e-12; in print 0.002 to 40."


def test_a_statement_without_an_erratum_is_not_among_the_prints():
    cases = [*group("all", (3e-15, 0.5)).cases, *group("all", 2e-15).cases]
    made = drawing(Picture("error", "bound", [Group("all", cases)], in_print=True))
    assert len(made.rows) == 1


def test_an_interval_that_is_unbounded_ends_with_the_axis():
    made = drawing(Picture("r", "number", [group("a", (0.5, None, 0.75)), group("b", 0.0)]))
    assert made.rows[0].ends[0] < made.rows[1].value
    made = drawing(Picture("r", "factor", [group("a", (0.5, None, 0.75))], (1.0, "no change")))
    assert made.rows[0].ends[0] <= made.line[0] < made.rows[0].value < made.rows[0].ends[1]


def test_a_picture_of_nothing_has_neither_rows_nor_ticks():
    made = drawing(Picture("r", "bound", [group("a", 1e-15)], in_print=True))
    assert (made.rows, made.ticks) == ([], [])
