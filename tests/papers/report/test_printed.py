"""Tables of a paper beside ours."""

import csv
import io
import urllib.parse
from dataclasses import replace

import pytest
import sample_reports

from hessian_papers.report.printed import comparison, deviation, in_print
from hessian_papers.report.verdicts import Shown

ROW = {"relation": "=", "expected": 2.0, "tolerance": 0.5, "interval": [2.25, 2.75]}
NETWORKS = ("A, wide", "B", "C")


def table(quantifier="printed", networks=NETWORKS):
    rows = [
        sample_reports.case(
            number, "poster-pair", measured=2.5, labels={"network": name, "table": "6"}, **ROW
        )
        for number, name in enumerate(networks)
    ]
    rows.append(sample_reports.case(9, None, "not measured", labels={"case": "VGG11"}))
    statement = sample_reports.record(0, "reproduced", rows, quantifier=quantifier)
    return Shown(statement, statement.cases)


def test_a_row_has_print_ours_and_deviation():
    actual = comparison(table())
    assert actual is not None
    assert actual.columns == ["network"], "what all rows have in common tells none from the others"
    assert actual.missing == ["VGG11"]
    assert len(actual.rows) == 3
    (case, *_) = actual.rows
    assert deviation(case) == pytest.approx(0.25)
    assert str(in_print(case)) == "2 ± 0.5"


def test_the_file_holds_the_rows_of_the_table():
    actual = comparison(table())
    assert actual is not None
    text = urllib.parse.unquote(actual.csv.partition(",")[2])
    rows = [*csv.DictReader(io.StringIO(text))]
    assert [row["network"] for row in rows] == [*NETWORKS]
    for row in rows:
        numbers = [float(row[name]) for name in ("print", "tolerance", "ours", "deviation")]
        assert numbers == [2.0, 0.5, 2.5, 0.25]
        assert (row["low"], row["high"]) == ("2.25", "2.75")


def test_other_statements_and_few_rows_are_no_table():
    assert comparison(table("always")) is None
    assert comparison(table("shown")) is None
    assert comparison(table(networks=NETWORKS[:2])) is None


@pytest.mark.parametrize("quantifier", ["printed", "shown"])
def test_two_rows_of_a_table_of_a_paper_stand_beside_print(quantifier):
    """With a verdict, or without one, as of networks that are not where the printed ones are."""
    whole = table(quantifier, NETWORKS[:2])
    places = {"singh2024poster": "appendix, Table 6"}
    actual = comparison(replace(whole, statement=replace(whole.statement, places=places)))
    assert actual is not None
    assert len(actual.rows) == 2


@pytest.mark.parametrize("changes", [{"expected": 0.0}, {"measured": None}])
def test_no_deviation_from_nothing(changes):
    entry = sample_reports.case(0, "poster-pair", **(ROW | changes))
    (case,) = sample_reports.record(0, "reproduced", [entry]).cases
    assert deviation(case) is None
