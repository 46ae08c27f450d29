"""The picture of a statement's cases: where values, intervals and bounds are."""

import math
import re

import pytest
import sample_reports

from hessian_papers.ledger.record import StatementRecord
from hessian_papers.report.plots import MANY, Axis, axes, plot
from hessian_papers.report.verdicts import Shown


def shown(*cases: dict[str, object], **changes: object) -> Shown:
    """A made-up statement with these changes of its cases."""
    own = [
        sample_reports.case(number, "poster-pair", **case)  # type: ignore[arg-type]
        for number, case in enumerate(cases)
    ]
    record = sample_reports.statement(0, "differs", own, **changes)
    statement = StatementRecord.of(record, "made up", "nothing")
    return Shown(statement, statement.cases)


AT_LEAST = {"relation": ">=", "expected": 0.5, "tolerance": 0.0}
HOLDS = AT_LEAST | {"measured": 0.75, "interval": [0.6, 0.9]}
FAILS = AT_LEAST | {"measured": 0.25, "interval": [0.0, 0.4], "outcome": "fails"}


def attribute(drawing: str, element: str, name: str) -> float:
    actual = re.search(rf'<{element}[^>]* ?\b{name}="([\d.]+)%"', drawing)
    assert actual is not None, drawing
    return float(actual[1])


def test_points_and_intervals_are_at_their_values() -> None:
    statement = shown(HOLDS, FAILS)
    axis = axes([statement])["sample-0"]
    picture = plot(statement, {"sample-0": axis})
    assert picture is not None
    for line, case in zip(picture.lines, (HOLDS, FAILS), strict=True):
        drawing = str(line.drawing)
        assert attribute(drawing, "circle", "cx") == axis.place(float(str(case["measured"])))
        low, high = (axis.place(end) for end in case["interval"])  # type: ignore[attr-defined]
        assert (attribute(drawing, "line", "x1"), attribute(drawing, "line", "x2")) == (low, high)
        assert attribute(drawing, "rect", "x") == axis.place(0.5)
        assert attribute(drawing, "rect", "width") == pytest.approx(100 - axis.place(0.5))
        assert "expected ≥ 0.5" in drawing


def test_statements_with_the_same_statistic_and_bound_share_an_axis() -> None:
    first, second = shown(HOLDS), shown(FAILS, id="sample-1")
    apart = shown(FAILS | {"expected": 0.1}, id="sample-2")
    unlike = shown(FAILS, id="sample-3", statistic="another unit")
    known = axes([first, second, apart, unlike])
    assert known["sample-0"] == known["sample-1"]
    assert known["sample-0"] not in (known["sample-2"], known["sample-3"])


def test_of_many_cases_those_that_hold_share_a_row() -> None:
    number = MANY + 3
    many = shown(*[HOLDS] * number, FAILS)
    picture = plot(many, axes([many]))
    assert picture is not None
    assert [line.cases[0].outcome for line in picture.lines] == ["fails"]
    assert picture.others is not None
    assert len(picture.others.cases) == str(picture.others.drawing).count("<circle") == number
    few = shown(*[HOLDS] * MANY)
    picture = plot(few, axes([few]))
    assert picture is not None
    assert (len(picture.lines), picture.others) == (MANY, None)


def test_an_explanation_stands_once_after_the_cases_that_it_explains() -> None:
    texts = ["One reason.", "One reason.", "Another.", ""]
    statement = shown(*[FAILS | {"explanation": text} for text in texts])
    picture = plot(statement, axes([statement]))
    assert picture is not None
    assert [line.explanation for line in picture.lines] == ["", "One reason.", "Another.", ""]


def test_what_is_not_measured_has_no_picture_of_its_own() -> None:
    nothing = shown({"outcome": "not measured"})
    assert plot(nothing, axes([nothing])) is None
    beside = shown(HOLDS, {"outcome": "not measured"})
    picture = plot(beside, axes([beside]))
    assert picture is not None
    assert "<circle" not in str(picture.lines[1].drawing)


@pytest.mark.parametrize("value", [0.0, -1e9, math.pi, 1e300])
@pytest.mark.parametrize("tolerance", [0.0, 1e-10, 3.0])
@pytest.mark.parametrize("relation", ["<=", ">=", "="])
def test_everything_lies_on_the_axis(value: float, tolerance: float, relation: str) -> None:
    statement = shown({"measured": value, "tolerance": tolerance, "relation": relation})
    axis = axes([statement])["sample-0"]
    picture = plot(statement, {"sample-0": axis})
    assert picture is not None
    drawing = str(picture.lines[0].drawing)
    places = [float(place) for place in re.findall(r'x="([-\d.e]+)%"', drawing)]
    assert len(places) == 2
    assert all(0 <= place <= 100 for place in places)
    width = attribute(drawing, "rect", "width")
    assert 0 < width <= 100.1


@pytest.mark.parametrize("axis", [Axis(-3.0, 7.5, False), Axis(1e-18, 1e-4, True)])
def test_ticks_lie_within_the_axis_in_order(axis: Axis) -> None:
    assert 3 <= len(axis.ticks) <= 8
    assert axis.ticks == sorted(set(axis.ticks))
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
