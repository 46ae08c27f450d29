"""The sentences that open the page say what was measured, or that it was not."""

import copy
import re
from typing import Any

import pytest
import sample_reports

from hessian_papers.report.findings import findings, markdown
from pipelines import inputs

STUDY = "poster-pair"


def record(name, verdict="reproduced", *values, **changes):
    """A statement with a case for each value, or interval."""
    cases = []
    for number, value in enumerate(values or (0.5,)):
        measured, *interval = value if isinstance(value, tuple) else (value,)
        of = {"measured": measured, "interval": interval or None}
        cases.append(sample_reports.case(number, STUDY, id=f"{STUDY}/{name}-{number}", **of))
    fields = {"id": name, "identity": False, "pooled": None, "pooled_interval": None} | changes
    return sample_reports.record(0, verdict, cases, **fields)


LEDGER = [
    record("exact", "reproduced", 3.2e-15, identity=True),
    record("mended", "corrected", 7.1e-14, identity=True),
    record("lead", "reproduced", 0.25, 0.5, pooled=0.2864, pooled_interval=[0.256, 0.334]),
    record("none", "differs", -0.5),
    record("fraction", "reproduced", 0.8724, 0.25),
]
SPEC: dict[str, Any] = {
    "name": "made-up",
    "sentence": "All {count} of {all} hold\nto {error}; {lead}, {one_case}, {least}, {value}.",
    "picture": STUDY,
    "rests_on": {"identities": ["reproduced", "corrected"], "none": ["differs"]},
    "numbers": {
        "all": {"count": "two"},
        "count": {"count": "two", "verdict": "differs"},
        "error": {"largest": "identities", "as": "bound"},
        "lead": {"value": "lead", "as": "interval"},
        "one_case": {"value": "fraction", "case": f"{STUDY}/fraction-0", "as": "percent"},
        "least": {"smallest": "two"},
        "value": {"value": "none"},
    },
}
SETS = {"identities": {"identity": True, "study": STUDY}, "two": ["none", "fraction"]}


def file(*specs):
    return {"sets": SETS, "findings": [*specs]}


def test_the_numbers_of_a_sentence_are_measured():
    (finding,) = findings(file(SPEC), LEDGER)
    assert finding.stated
    assert finding.text == ("All 1 of 2 hold to 1e-12; 0.286 [0.256, 0.334], 87.2 %, −0.5, −0.5.")
    assert [statement.id for statement in finding.statements] == ["exact", "mended", "none"]
    assert markdown([finding]) == f"1. {finding.text}\n"


FEW = [
    record("some", "reproduced", (0.25, -9.0, 0.5), -0.75, identity=True),
    record("pooled", "differs", -0.125, (0.5, 0.25, 0.625), pooled=0.2, pooled_interval=[0.0, 1.0]),
    record("errors", "reproduced", 3e-15, 7e-9, 2e-13),
    record("lead", pooled=0.2864, pooled_interval=[0.256, 0.334]),
    record("upper", "reproduced", (0.2864, None, 0.334)),
]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"largest": "some"}, "0.25"),
        ({"smallest": "some"}, "−0.75"),
        # Of the cases, also where a statement has a number for all of them.
        ({"largest": "pooled", "as": "percent"}, "50 %"),
        ({"smallest": "pooled", "as": "percent"}, "−12.5 %"),
        ({"value": "pooled", "as": "interval"}, "0.2 [0, 1]"),
        ({"largest": "all", "as": "interval"}, "0.5 [0.25, 0.625]"),
        ({"smallest": "all"}, "−0.75"),
        ({"largest": "some", "case": f"{STUDY}/some-1"}, "−0.75"),
        ({"largest": "errors", "as": "bound"}, "1e-07"),
        ({"smallest": "errors", "as": "bound"}, "1e-12"),
        ({"count": "all"}, "3"),
        ({"count": "all", "verdict": "reproduced"}, "2"),
        ({"count": "some", "verdict": "differs"}, "0"),
        ({"tolerance": "all"}, "1e-10"),
        ({"value": "lead", "as": "interval"}, "0.286 [0.256, 0.334]"),
        ({"value": "lead", "as": "percents"}, "28.6 % [25.6 %, 33.4 %]"),
        # Of a natural logarithm: e^0.2864 = 1.3316, e^0.256 = 1.2918, e^0.334 = 1.3965.
        ({"value": "lead", "as": "factor"}, "1.33 [1.29, 1.4]"),
        # A factor that is bounded above alone is at least 0.
        ({"value": "upper", "as": "factor"}, "1.33 [0, 1.4]"),
    ],
)
def test_each_word_of_a_number_takes_what_it_says(spec, text):
    changes = {"sentence": "{n}", "numbers": {"n": spec}, "rests_on": {"some": ["reproduced"]}}
    sets = {"all": ["some", "pooled", "errors"]}
    entries = {"sets": sets, "findings": [SPEC | changes]}
    assert findings(entries, FEW)[0].text == text


def test_other_measurements_make_another_sentence():
    (finding,) = findings(file(SPEC), [*LEDGER[:-1], record("fraction", "reproduced", 0.01, 0.25)])
    assert "1 %" in finding.text
    assert "87" not in finding.text


@pytest.mark.parametrize(
    ("ledger", "text"),
    [
        (
            [record("exact", "differs", identity=True), *LEDGER[1:]],
            "exact: expected reproduced or corrected, got differs",
        ),
        (LEDGER[2:], "identities: not tested"),
        (LEDGER[:2], "none: not tested"),
        (
            [record("exact", "open", identity=True), record("mended", "not tested", identity=True)],
            "exact: expected reproduced or corrected, got open, and 2 more",
        ),
    ],
)
def test_a_sentence_that_its_statements_do_not_support_is_not_stated(ledger, text):
    (finding,) = findings(file(SPEC), ledger)
    assert not finding.stated
    assert finding.text == text
    assert markdown([finding]) == f"1. Not stated by this run: {text}.\n"


def changed(*path, to=None):
    """The made-up entry with one part of it replaced, or taken out."""
    spec: Any = copy.deepcopy(SPEC)
    inner = spec
    for key in path[:-1]:
        inner = inner[key]
    if to is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return spec


KEYS = "expected the keys name, sentence, picture, rests_on, numbers"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (1, f": {KEYS}, got 1"),
        (changed("sentence"), f": {KEYS}"),
        (changed("sentence", to="{other}"), ": expected the numbers other, got ['all'"),
        (changed("rests_on", to={}), ": expected statements that it rests on, got {}"),
        (changed("rests_on", "none", to=["no"]), ", none: expected some of reproduced, corrected"),
        (changed("numbers", "one_case", "value"), ", one_case: expected one of value, largest, "),
        (changed("numbers", "lead", "as", to="x"), ", lead: expected as one of number, percent, "),
        (changed("numbers", "count", "verdict", to="x"), ", count: expected verdict one of repro"),
        (changed("numbers", "count", "as", to="x"), ", count: expected one of verdict, got 'as'"),
        (
            changed("numbers", "value", "value", to="fraction"),
            ", value: expected one number; name its case, got '2'",
        ),
        (
            changed("numbers", "value", "value", to="nothing"),
            ", value: expected a statement or case that was measured, got {'value':",
        ),
    ],
)
def test_what_is_no_finding_is_refused_in_one_line(spec, message):
    with pytest.raises(ValueError, match=f"^findings, 1{re.escape(message)}") as caught:
        findings(file(spec), LEDGER)
    assert "\n" not in str(caught.value)


def test_an_unknown_choice_of_a_set_is_refused():
    with pytest.raises(ValueError, match="findings, odd: expected some of identity, book, study"):
        findings({"sets": {"odd": {"colour": "red"}}, "findings": []}, LEDGER)


def test_a_file_of_another_form_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "findings.yaml"
    path.write_text("- name: one")
    monkeypatch.setattr(inputs, "FINDINGS", path)
    with pytest.raises(ValueError, match=r"findings\.yaml: expected a mapping with sets and fin"):
        inputs.findings()


def test_the_findings_are_well_formed_without_any_run():
    sentences = findings(inputs.findings(), [record("something-else")])
    assert len(sentences) == 14
    assert not any(sentence.stated for sentence in sentences)
    assert len({sentence.name for sentence in sentences}) == 14
