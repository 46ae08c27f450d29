"""A ledger that was written is read as it was, and one that is broken is one line."""

import json
from dataclasses import asdict

import pytest
import sample_reports

from hessian_papers.ledger.record import StatementRecord, all_cases, read_ledger, write_ledger
from hessian_spectra.files import DamagedFileError


def case(**changes):
    """A case that was measured on two runs."""
    departs = {"networks": [20, 200], "sizes": [[1, 2], [1, 2, 3]]}
    beside = sample_reports.case(1, "cracking-fig1", "open", departs=departs)
    run = {"scale": "paper", "recorded": True, "beside": beside}
    return sample_reports.case(1, "cracking-fig1") | run | changes


def statement(cases=None, **changes):
    return sample_reports.statement(1, "reproduced", cases or [case()], **changes)


def of(entry):
    return StatementRecord.of(entry, "claims.json, entry 0", "dvc repro ledger")


def test_a_ledger_is_read_as_it_was_written(tmp_path):
    unmeasured = sample_reports.case(2, None, "not measured")
    records = [of(statement()), of(sample_reports.statement(2, "not tested", [unmeasured]))]
    write_ledger(tmp_path / "claims.json", records)
    assert read_ledger(tmp_path) == records
    first, second = all_cases(records)
    assert [run.scale for run in first.runs] == ["paper", "demo"]
    assert first.beside.departs["sizes"] == [[1, 2], [1, 2, 3]]
    assert second.runs == [second]
    assert json.loads((tmp_path / "claims.json").read_text()) == [asdict(r) for r in records]


def test_an_interval_has_a_lower_and_an_upper_end():
    (read,) = of(statement([case(interval=[-0.25, 0.5], measured=0.125)])).cases
    assert tuple(read.estimate) == (0.125, -0.25, 0.5)
    (read,) = of(statement([case(interval=None)])).cases
    assert not read.estimate.has_an_end


@pytest.mark.parametrize(
    ("fields", "smaller"),
    [
        ({"scale": "demo", "departs": {"a": [1, 2]}}, True),
        ({"scale": "demo", "departs": {}}, False),
        ({"scale": "paper", "departs": {"a": [1, 2]}}, False),
    ],
)
def test_a_setting_is_smaller_if_it_departs_at_another_scale(fields, smaller):
    assert of(statement([case(**fields)])).cases[0].smaller is smaller


def refused(entry):
    """The one line with which an entry is refused."""
    with pytest.raises(DamagedFileError) as caught:
        of(entry)
    message = str(caught.value)
    assert message.startswith("claims.json, entry 0")
    assert message.endswith("; run dvc repro ledger")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outcome": "true"}, "outcome to be one of holds, fails, open, "),
        ({"scale": 1}, "scale to be a name or null, got 1"),
        ({"recorded": "yes"}, "recorded to be true or false, got 'yes'"),
        ({"departs": None}, "departs to be pairs of values by name, got None"),
        ({"departs": {"networks": [20]}}, "departs to be pairs of values by name, got {"),
    ],
)
def test_a_field_of_a_case_that_is_not_what_it_should_be_is_named(changes, words):
    expected = f"(cracking-fig1/case 1): expected {words}"
    assert f"case 0 {expected}" in refused(statement([case(**changes)]))
    beside = case(**{"beside": None} | changes)
    assert f"case 0, beside it {expected}" in refused(statement([case(beside=beside)]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": "true"}, "verdict to be one of reproduced, corrected, in part, "),
        ({"quantifier": "often"}, "quantifier to be one of always, everywhere, "),
        ({"book": "mine"}, "book to be one of theorems, observations, "),
        ({"places": {}}, "places to be places by paper, got {}"),
        ({"cases": []}, "cases to be a list of cases, got []"),
    ],
)
def test_a_field_of_a_statement_that_is_not_what_it_should_be_is_named(changes, words):
    assert f"entry 0 (sample-1): expected {words}" in refused(statement() | changes)


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        (case(), "expected beside it the same case with nothing beside that"),
        (sample_reports.case(2, "cracking-fig1", "fails"), "got cracking-fig1/case 2; run"),
        ("demo", "beside it: expected an object, got 'demo'"),
        ({"id": "cracking-fig1/case 1"}, "beside it: expected labels, study, "),
    ],
)
def test_what_stands_beside_is_the_same_case_alone(beside, words):
    assert words in refused(statement([case(beside=beside)]))


def test_an_entry_without_a_field_is_of_an_older_ledger():
    old = {name: value for name, value in statement().items() if name != "quantifier"}
    assert "entry 0: expected quantifier, found none; run dvc" in refused(old)


LATER = ("state", "assumes", "surrogate")


def test_a_ledger_without_parts_and_states_stays_readable(tmp_path):
    """The ledger of an earlier commit is what others are compared with."""
    new = statement([case()], printed="2 ⟨w, v⟩")
    old = {name: value for name, value in new.items() if name not in LATER}
    parts = ("sentence", "printed", "place")
    old["cases"] = [{k: v for k, v in each.items() if k not in parts} for each in new["cases"]]
    old["cases"][0]["beside"] = {
        k: v for k, v in new["cases"][0]["beside"].items() if k not in parts
    }
    (tmp_path / "claims.json").write_text(json.dumps([old]), "utf-8")
    (read,) = read_ledger(tmp_path)
    assert (read.state, read.cases[0].sentence, read.cases[0].beside.place) == ("", "", "")
    (part,) = read.misprints
    assert (part.sentence, part.printed, part.place) == (read.sentence, "2 ⟨w, v⟩", read.location)


def test_parts_are_told_apart_by_their_sentences_and_prints():
    own = [
        sample_reports.case(
            number, "cracking-fig1", printed=printed, sentence=sentence, place=f"eq. ({number})"
        )
        for number, (sentence, printed) in enumerate(
            [("", None), ("The second.", "2"), ("The second.", "2"), ("The third.", "2")]
        )
    ]
    record = StatementRecord.of(statement(own, printed="2"), "made up", "nothing")
    assert [(part.sentence, part.printed, part.place) for part in record.parts] == [
        (record.sentence, None, "eq. (0)"),
        ("The second.", "2", "eq. (1)"),
        ("The third.", "2", "eq. (3)"),
    ]
    assert [len(part.cases) for part in record.parts] == [1, 2, 1]
    assert [part.sentence for part in record.misprints] == ["The second."], "each print once"
