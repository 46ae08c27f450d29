import copy
import re
from pathlib import Path
from typing import Any

import pytest
import sample_reports

from hessian_papers.ledger.record import ClaimRecord
from hessian_papers.report.findings import findings, markdown
from pipelines import inputs


def record(name: str, verdict: str = "reproduced", **changes: Any) -> ClaimRecord:
    entry = sample_reports.claim(0, "poster-pair", verdict)
    entry |= {"id": name, "statement": f"Statement of {name}", **changes}
    return ClaimRecord.of(entry, "made up", "nothing")


CLAIMS = [
    record("one/a", measured=3.2e-15),
    record("one/b", "corrected", measured=7.1e-14),
    record("two/lead", measured=0.2864, interval=[0.256, 0.334], kind="correlation"),
    record("two/none", "differs", measured=-0.5, kind="correlation"),
    record("two/share", measured=0.8724, kind="value"),
]
SPEC = {
    "name": "made-up",
    "sentence": "All {count} hold\nto {error}; {lead}, {share}, {less}, {value}.",
    "rests_on": {"one/*": ["reproduced", "corrected"], "two/*": ["reproduced", "differs"]},
    "numbers": {
        "count": {"count": "two/*", "kind": "correlation", "verdict": "differs"},
        "error": {"largest": "one/*", "as": "bound"},
        "lead": {"value": "two/lead", "as": "interval"},
        "share": {"value": "two/share", "as": "percent"},
        "less": {"smallest": "two/*"},
        "value": {"value": "two/lead"},
    },
}


def test_the_numbers_of_a_sentence_are_measured() -> None:
    (found,) = findings([SPEC], CLAIMS)
    assert found.stated
    assert found.text == ("All 1 hold to 1e-12; 0.286 [0.256, 0.334], 87.2 %, −0.5, 0.286.")
    assert [claim.id for claim in found.claims] == [claim.id for claim in CLAIMS]
    assert markdown([found]) == f"1. {found.text}\n"


def test_other_measurements_make_another_sentence() -> None:
    changed = [*CLAIMS[:-1], record("two/share", measured=0.01, kind="value")]
    (found,) = findings([SPEC], changed)
    assert "1 %" in found.text
    assert "87" not in found.text


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        (
            [record("one/a", "differs"), *CLAIMS[1:]],
            "one/a: expected reproduced or corrected, got differs",
        ),
        (CLAIMS[2:], "one/*: not run"),
        (CLAIMS[:2], "two/*: not run"),
        (
            [record("one/a", "undecided"), record("one/b", "not run at this scale")],
            "one/a: expected reproduced or corrected, got undecided, and 2 more",
        ),
    ],
)
def test_a_sentence_that_its_claims_do_not_support_is_not_stated(
    claims: list[ClaimRecord], text: str
) -> None:
    (found,) = findings([SPEC], claims)
    assert not found.stated
    assert found.text == text
    assert markdown([found]) == f"1. Not stated by this run: {text}.\n"


def changed(*path: str, to: Any = None) -> dict[str, Any]:
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


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (1, "findings, 1: expected the keys name, sentence, rests_on, numbers, got 1"),
        (changed("sentence"), "findings, 1: expected the keys name, sentence, rests_on, numbers"),
        (changed("sentence", to="{other}"), "findings, 1: expected the numbers other, got ['count"),
        (changed("rests_on", to={}), "findings, 1: expected claims that it rests on, got {}"),
        (
            changed("rests_on", "one/*", to=["proved"]),
            "findings, 1, one/*: expected verdicts that a run gives, got ['proved']",
        ),
        (
            changed("numbers", "share", "value"),
            "findings, 1, share: expected one of value, largest, smallest, count, got ['as']",
        ),
        (
            changed("numbers", "share", "as", to="words"),
            "findings, 1, share: expected as to be one of number, percent, interval, bound, got",
        ),
        (
            changed("numbers", "count", "kind", to="theorem"),
            "findings, 1, count: expected kind to be one of identity, value, trend, correlation",
        ),
        (
            changed("numbers", "count", "as", to="percent"),
            "findings, 1, count: expected one of kind, verdict, got 'as'",
        ),
        (
            changed("numbers", "share", "value", to="two/*"),
            "findings, 1, share: expected one claim, got \"3 by 'two/*'\"",
        ),
        (
            changed("numbers", "share", "value", to="three/x"),
            "findings, 1, share: expected claims that the sentence rests on, got 'three/x'",
        ),
    ],
)
def test_what_is_no_finding_is_refused_in_one_line(spec: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as caught:
        findings([spec], CLAIMS)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_list_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "findings.yaml"
    file.write_text("name: one")
    monkeypatch.setattr(inputs, "FINDINGS", file)
    with pytest.raises(ValueError, match=r"findings\.yaml: expected a list of findings, got"):
        inputs.findings()


def test_the_findings_are_well_formed_without_any_run() -> None:
    specs = inputs.findings()
    found = findings(specs, [record("something/else")])
    assert len(found) == 5
    assert not any(one.stated for one in found)
    assert len({one.name for one in found}) == 5
