"""A ledger that was written is read as it was, and one that is broken is one line."""

import json

import pytest
import sample_reports

from hessian_papers.ledger.record import ClaimRecord, read_claims, write_claims
from hessian_spectra.files import DamagedFileError


def entry(**changes):
    """An entry that was measured on two runs."""
    departs = {"networks": [20, 200], "sizes": [[1, 2], [1, 2, 3]]}
    beside = sample_reports.claim(1, "cracking-fig1", "undecided", departs=departs)
    run = {"scale": "paper", "recorded": True, "beside": beside}
    return sample_reports.claim(1, "cracking-fig1", "reproduced") | run | changes


def of(changed):
    return ClaimRecord.of(changed, "claims.json, entry 0", "dvc repro claims")


def test_a_ledger_is_read_as_it_was_written(tmp_path):
    records = [of(entry()), of(sample_reports.claim(2, None, "not run at this scale"))]
    write_claims(tmp_path / "claims.json", records)
    assert read_claims(tmp_path) == records
    first, second = records
    assert [run.scale for run in first.runs] == ["paper", "demo"]
    assert first.beside.departs["sizes"] == [[1, 2], [1, 2, 3]]
    assert second.runs == [second]
    assert json.loads((tmp_path / "claims.json").read_text())[0]["beside"]["beside"] is None


def test_the_ends_of_an_interval_are_the_lower_and_the_upper_one():
    found = of(entry(interval=[-0.25, 0.5]))
    assert (found.low, found.high) == (-0.25, 0.5)
    found = of(entry(interval=None))
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": "true"}, "expected verdict to be one of reproduced, corrected, differs, "),
        ({"scale": 1}, "expected scale to be a name or null, got 1"),
        ({"recorded": "yes"}, "expected recorded to be true or false, got 'yes'"),
        ({"departs": None}, "expected departs to be pairs of values by name, got None"),
        ({"departs": {"networks": [20]}}, "expected departs to be pairs of values by name, got {"),
    ],
)
def test_a_field_that_is_not_what_it_should_be_is_named(changes, words):
    for where, changed in (
        ("entry 0 (sample/claim 1)", entry(**changes)),
        (
            "entry 0 (sample/claim 1), beside it (sample/claim 1)",
            entry(beside=entry(**{"beside": None} | changes)),
        ),
    ):
        with pytest.raises(DamagedFileError) as caught:
            of(changed)
        message = str(caught.value)
        assert message.startswith(f"claims.json, {where}: {words}")
        assert message.endswith("; run dvc repro claims")
        assert "\n" not in message


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        (entry(), "expected beside it the same claim with nothing beside that"),
        (sample_reports.claim(2, "cracking-fig1", "differs"), "got sample/claim 2; run"),
        ("demo", "beside it: expected an object, got 'demo'"),
        ({"id": "sample/claim 1"}, "beside it: expected paper, location, "),
    ],
)
def test_what_stands_beside_is_the_same_claim_alone(beside, words):
    with pytest.raises(DamagedFileError) as caught:
        of(entry(beside=beside))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_entry_without_a_run_is_of_an_older_ledger():
    old = {name: value for name, value in entry().items() if name != "departs"}
    with pytest.raises(
        DamagedFileError, match=r"entry 0: expected departs, found none; run dvc repro"
    ):
        of(old)
