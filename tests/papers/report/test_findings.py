"""The sentences that open the page say what all recorded cases have, or what contradicts them."""

import copy
import re
from typing import Any

import pytest
import sample_reports

from hessian_papers.report.findings import findings, markdown
from pipelines import inputs
from pipelines.yaml_files import read_yaml
from tests.prose import ROOT, count_words

STUDY = "poster-pair"


def case(name, number, value, **changes):
    """A recorded case of a statement; a pair or triple is a value with its interval."""
    measured, *interval = value if isinstance(value, tuple) else (value,)
    of = {"measured": measured, "interval": interval or None, "recorded": True}
    of |= {"id": f"{STUDY}/{name}-{number}", "labels": {"layer": f"fc{number}"}}
    return sample_reports.case(number, STUDY, **of | changes)


def record(name, verdict="reproduced", *values, outcome="holds", cases=None, **changes):
    """A statement with a case for each value."""
    cases = cases or [case(name, k, value, outcome=outcome) for k, value in enumerate(values)]
    fields = {"id": name, "identity": False, "pooled": None, "pooled_interval": None} | changes
    return sample_reports.record(0, verdict, cases, **fields)


LEAD = {"pooled": 0.2864, "pooled_interval": [0.256, 0.334]}
LEDGER = [
    record("exact", "reproduced", 3.2e-15, identity=True),
    record("mended", "corrected", 7.1e-14, identity=True),
    record("lead", "reproduced", 0.25, (0.5, 0.31, 0.7), **LEAD, state="after training"),
    record("none", "differs", -0.5, outcome="fails"),
]
SPEC: dict[str, Any] = {
    "name": "made-up",
    "sentence": "LeNet5 leads\nby {lead}, eq. (7), to {error} of $λ_1 - 2$.",
    "setting": "Width 100.",
    "would_change": "Deeper ones.",
    "study": STUDY,
    "picture": {"axis": "r", "groups": {"lead": "lead"}},
    "rests_on": {"identities": "holds", "lead": "holds", "none": "fails"},
    "numbers": {"lead": {"pooled": "lead"}, "error": {"largest": "identities", "as": "bound"}},
}
SETS = {"identities": {"identity": True, "study": STUDY}}


def file(*specs):
    return {"sets": SETS, "findings": [*specs]}


def with_number(number, *ledger, sets=None, **changes):
    """The finding with one number of one statement, or set, of a ledger."""
    name = next(value for key, value in number.items() if key not in ("as", "verdict"))
    spec = {
        "sentence": "{n}",
        "numbers": {"n": number},
        "rests_on": {name: "holds"},
        "picture": {"axis": "r", "groups": {name: "it"}},
    }
    (finding,) = findings({"sets": sets or {}, "findings": [SPEC | spec | changes]}, [*ledger])
    return finding


def test_the_numbers_of_a_sentence_are_measured():
    (finding,) = findings(file(SPEC), LEDGER)
    assert finding.stated
    assert finding.text == "LeNet5 leads by 0.29 [0.26, 0.33], eq. (7), to 1e-12 of $λ_1 - 2$."
    assert [statement.id for statement in finding.statements] == ["exact", "mended", "lead", "none"]
    assert finding.states == ["after training", "any weights"]
    assert [len(group.cases) for group in finding.picture.groups] == [2]
    assert markdown([finding]) == f"1. {finding.text}\n"


FEW = {
    "some": record("some", "reproduced", (0.25, -9.0, 0.5), -0.75),
    "errors": record("errors", "reproduced", 3e-15, 7e-9, 2e-13),
    "lead": record("lead", "reproduced", 0.1, 0.4, **LEAD),
    "only": record("only", "reproduced", (0.2864, None, 0.334)),
}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"largest": "some"}, "0.25 [−9.0, 0.50]"),
        ({"smallest": "some"}, "−0.75"),
        ({"range": "some", "as": "percent"}, "−75 % to 25 %"),
        ({"cases": "some"}, "2"),
        # Of all its cases, also where a statement has a number for all of them.
        ({"largest": "lead"}, "0.40"),
        ({"pooled": "lead"}, "0.29 [0.26, 0.33]"),
        ({"pooled": "lead", "as": "percent"}, "29 % [26 %, 33 %]"),
        # Of a natural logarithm: e^0.2864 = 1.3316, e^0.256 = 1.2918, e^0.334 = 1.3965.
        ({"pooled": "lead", "as": "factor"}, "1.3 [1.3, 1.4]"),
        # The only case is all of them; a factor that is bounded above alone is at least 0.
        ({"pooled": "only", "as": "factor"}, "1.3 [0.0, 1.4]"),
        ({"largest": "errors", "as": "bound"}, "1e-07"),
        ({"smallest": "errors", "as": "bound"}, "1e-12"),
        ({"count": "all"}, "3"),
        ({"count": "all", "verdict": "differs"}, "0"),
        ({"tolerance": "all"}, "1e-10"),
    ],
)
def test_each_word_of_a_number_takes_all_cases(spec, text):
    sets = {"all": ["some", "lead", "errors"]}
    assert with_number(spec, *FEW.values(), sets=sets).text == text


def test_other_measurements_make_another_sentence():
    other = record("lead", "reproduced", 0.1, pooled=0.91, pooled_interval=[0.9, 0.92])
    (finding,) = findings(file(SPEC), [*LEDGER[:2], other, LEDGER[3]])
    assert "0.91 [0.90, 0.92]" in finding.text
    assert "0.29" not in finding.text


def planted(outcome, **changes):
    """The statement with one case that contradicts it, though its verdict stays."""
    cases = [case("lead", 0, 0.25), case("lead", 1, -0.125, outcome=outcome, **changes)]
    return record("lead", "in part", cases=cases, **LEAD)


@pytest.mark.parametrize("outcome", ["fails", "open"])
def test_a_planted_contradiction_withdraws_a_finding(outcome):
    """Whatever the verdict, and though the number of all cases stands."""
    (finding,) = findings(file(SPEC), [*LEDGER[:2], planted(outcome), LEDGER[3]])
    assert not finding.stated
    assert finding.picture is None
    assert finding.text == f"{STUDY} (fc1) contradicts it, {outcome}"
    assert markdown([finding]) == f"1. Not stated by this run: {finding.text}.\n"


def test_a_case_that_holds_contradicts_that_a_statement_fails():
    cases = [case("none", 0, -0.5, outcome="fails"), case("none", 1, 0.5)]
    (finding,) = findings(file(SPEC), [*LEDGER[:3], record("none", "differs", cases=cases)])
    assert finding.text == f"{STUDY} (fc1) contradicts it, holds"


def test_a_contradiction_is_stated_where_the_sentence_names_it():
    numbers = SPEC["numbers"] | {"but": {"except": "lead"}}
    spec = SPEC | {"sentence": f"{SPEC['sentence']} Not {{but}}.", "numbers": numbers}
    (finding,) = findings(file(spec), [*LEDGER[:2], planted("open"), LEDGER[3]])
    assert finding.stated
    assert finding.text.endswith(" Not fc1.")
    (finding,) = findings(file(spec), LEDGER)
    assert finding.text == "lead: no case contradicts it, and the sentence names some"


@pytest.mark.parametrize(
    ("place", "statement", "text"),
    [
        (2, None, "lead: not tested"),
        (2, record("lead", "open", 0.1, **LEAD), "lead: open"),
        (2, record("lead", "not tested", 0.1, outcome="not measured"), "lead: not tested"),
        (3, record("none", "reproduced", -0.1, outcome="fails"), "none: reproduced"),
        (0, record("exact", "differs", 1.0, outcome="fails", identity=True), "contradicts"),
    ],
)
def test_a_sentence_that_its_statements_do_not_support_is_not_stated(place, statement, text):
    ledger = [*LEDGER[:place], *([statement] if statement else []), *LEDGER[place + 1 :]]
    (finding,) = findings(file(SPEC), ledger)
    assert not finding.stated
    assert text in finding.text


def test_a_demo_decides_no_finding():
    """Today's run measured a case that no recorded run has: on another processor it is another."""
    today = record("lead", cases=[case("lead", 0, 0.2), case("lead", 1, 0.9, recorded=False)])
    text = f"lead: {STUDY} (fc1) is measured by today's run alone"
    assert with_number({"largest": "lead"}, today).text == text
    identity = record("lead", cases=[case("lead", 0, 1e-15, recorded=False)], identity=True)
    assert with_number({"largest": "lead", "as": "bound"}, identity).text == "1e-12"


@pytest.mark.parametrize("departs", [{"width": [8, 100]}, {}])
def test_a_smaller_run_of_today_stands_aside(departs):
    """Whether its setting departs from the paper or there is none, as beyond the papers."""
    smaller = {"recorded": False, "scale": "demo", "departs": departs}
    cases = [
        case("lead", 0, 0.2, scale="workstation"),
        case("lead", 1, 0.9, outcome="open", **smaller),
    ]
    assert with_number({"largest": "lead"}, record("lead", cases=cases)).text == "0.20"
    # What no paper has a setting of stands aside where the same study was recorded in more detail.
    of_today = case("lead", 1, 0.9, recorded=False, scale="demo")
    cases = [case("lead", 0, 0.2, scale="paper"), of_today]
    assert with_number({"largest": "lead"}, record("lead", cases=cases)).text == "0.20"


def test_several_cases_have_no_number_of_one():
    several = record("lead", "reproduced", 0.1, 0.9)
    assert with_number({"pooled": "lead"}, several).text == "lead: 2 cases have no pooled number"


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


KEYS = "expected the keys name, sentence, setting, would_change, study, picture, rests_on, numbers"
THREE = {name: {"largest": "lead"} for name in ("a", "b", "c")}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (1, f": {KEYS}, got 1"),
        (changed("sentence"), f": {KEYS}"),
        (changed("sentence", to="{other}"), ": expected the numbers other, got ['lead'"),
        (changed("rests_on", to={}), ": expected statements that it rests on, got {}"),
        (changed("rests_on", "none", to="no"), ", none: expected holds or fails, got 'no'"),
        (changed("numbers", "lead", to={}), ", lead: expected one of pooled, largest, "),
        (changed("numbers", "lead", "as", to="x"), ", lead: expected as one of number, percent, "),
        (changed("numbers", "lead", "case", to="a/b"), ", lead: expected one of as, got 'case'"),
        (
            changed("numbers", "lead", to={"pooled": "other"}),
            ", lead: expected a number of what it rests on, got 'other'",
        ),
        (
            SPEC | {"sentence": "{a}{b}{c}", "numbers": THREE},
            ": expected at most 2 numbers, got 3",
        ),
        (changed("picture", to={}), ", picture: expected axis and groups; as, line, in_print, got"),
        (changed("picture", "as", to="x"), ", picture: expected as one of ['number', "),
        (
            changed("picture", "groups", to={"other": "it"}),
            ", picture: expected groups of what it rests on, got 'other'",
        ),
    ],
)
def test_what_is_no_finding_is_refused_in_one_line(spec, message):
    with pytest.raises(ValueError, match=f"^findings, 1{re.escape(message)}") as caught:
        findings(file(spec), LEDGER)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("typed", ["0.1432", "5 %", "(8)", "-2"])
@pytest.mark.parametrize("part", ["sentence", "would_change"])
def test_a_number_that_is_written_by_hand_is_refused(part, typed):
    spec = SPEC | {part: f"{SPEC[part]} T-600 of CIFAR-10, section 5.1, prints {typed}."}
    with pytest.raises(ValueError, match=r"no number that is written by hand, got \S") as caught:
        findings(file(spec), LEDGER)
    assert "600" not in str(caught.value)
    assert typed.strip("(- %)") in str(caught.value)


def test_an_unknown_choice_of_a_set_is_refused():
    with pytest.raises(ValueError, match="findings, odd: expected some of identity, book, study"):
        findings({"sets": {"odd": {"colour": "red"}}, "findings": []}, LEDGER)


def test_a_file_of_another_form_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "findings.yaml"
    path.write_text("- name: one")
    monkeypatch.setattr(inputs, "FINDINGS", path)
    with pytest.raises(ValueError, match=r"findings\.yaml: expected a mapping with sets and fin"):
        inputs.findings()


def test_the_findings_are_six_and_short():
    sentences = findings(inputs.findings(), [record("something-else", "reproduced", 0.5)])
    assert len({sentence.name for sentence in sentences}) == len(sentences) == 6
    assert not any(sentence.stated for sentence in sentences)
    specs = inputs.findings()["findings"]
    assert sum(count_words(spec["sentence"]) for spec in specs) <= 240


def numbers_in(value):
    """All numbers of some settings."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return {number for part in parts for number in numbers_in(part)}
    return {float(value)} if isinstance(value, int | float) else set()


@pytest.mark.parametrize("spec", inputs.findings()["findings"], ids=lambda spec: spec["name"])
def test_sizes_in_a_setting_are_those_of_recorded_runs(spec):
    """The runs are those of the kind of the study whose figure shows more."""
    (settings,) = ROOT.glob(f"conf/studies/*/{spec['study']}.yaml")
    kind, known = read_yaml(settings)["kind"], set()
    for facts in ROOT.glob("reports/evidence/*/facts.json"):
        run = read_yaml(facts)
        if run["study"]["kind"] == kind:
            known |= numbers_in([run.get(key) for key in ("study", "ensemble", "data")])
    without_names = re.sub(r"\b[A-Za-z][\w^.-]*", "", spec["setting"])
    said = {float(text) for text in re.findall(r"\d+(?:\.\d+)?", without_names)}
    assert said <= known
