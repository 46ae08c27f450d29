"""The stage ledger keeps for Git no number of today's runs: another processor has others."""

import json
import re

import pytest
import yaml

from hessian_papers.ledger import measured_cases
from hessian_papers.ledger.evaluation import measure
from hessian_papers.ledger.statements import Statements
from pipelines import stage
from pipelines.ledger import ledger
from tests.papers.ledger.entries import OBSERVED, case, run_of
from tests.pipelines.workspace import ROOT

FINDINGS = {
    "sets": {},
    "findings": [
        {
            "name": "made-up",
            "sentence": "It is {value}, and exact to {error}.",
            "setting": "Width 100.",
            "would_change": "Another one.",
            "study": "kept",
            "picture": {"axis": "r", "groups": {"of-both": "both"}},
            "rests_on": {"of-both": "holds", "agreement": "holds"},
            "numbers": {"value": {"pooled": "of-both"}, "error": {"tolerance": "agreement"}},
        }
    ],
}


def cases(error, value):
    """An identity, a statement of today's run alone, and one of both, on which each has a case."""
    today, kept = (
        run_of(Statements(), study=study, scale=scale, recorded=recorded, departs=departs)
        for study, scale, recorded, departs in (
            ("toy", "demo", False, {"width": [10, 100]}),
            ("kept", "paper", True, {}),
        )
    )
    wide = {"tolerance": 1.0, **OBSERVED}
    return [
        measure(case(measure=lambda: error), today),
        measure(case(id="toy/alone", statement="alone", measure=lambda: value, **wide), today),
        measure(case(id="toy/both", statement="of-both", measure=lambda: value, **wide), today),
        measure(
            case(id="kept/it", statement="of-both", study="kept", measure=lambda: 0.25, **wide),
            kept,
        ),
    ]


@pytest.fixture
def written(tmp_path):
    """The files that the stage makes of some cases, by name."""

    def of(measured):
        held = {"studies": [["made-up", "toy"]], "findings": FINDINGS, "damaged": []}
        held["headlines"] = {"of_both": {"case": "toy/both"}, "kept": {"case": "kept/it"}}
        settings, folders = stage.read_only(held), (tmp_path / "results", tmp_path / "reports")
        path = measured_cases.path_of(folders[0], "made-up", "toy")
        measured_cases.write(path, measured, {})
        ledger(stage.Context(settings, None, None, True, *folders, None, False))
        return {path.name: path.read_bytes() for path in folders[1].iterdir()}

    return of


@pytest.fixture
def kept():
    """The names of the files that Git has, not DVC."""
    entry = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["ledger"]
    outputs = [path for path in (*entry["metrics"], *entry["outs"]) if isinstance(path, dict)]
    paths = [path for each in outputs for path in each]
    return {path.removeprefix("reports/") for path in paths}


def test_what_git_keeps_is_the_same_on_a_processor_that_rounds_otherwise(written, kept):
    """The errors of an identity, and the numbers of today's runs that give the same verdict."""
    first, other = written(cases(3e-15, 1.5)), written(cases(4e-11, 1.75))
    assert first["claims.json"] != other["claims.json"]
    assert first["metrics.json"] != other["metrics.json"]
    assert {name: first[name] for name in kept} == {name: other[name] for name in kept}
    assert kept == {"claims.md", "findings.md"}


def test_the_numbers_of_a_run_are_those_of_today(written):
    """An experiment moves them; a recorded run has other ones."""
    numbers = [json.loads(written(cases(3e-15, x))["metrics.json"])["numbers"] for x in (1.5, 2)]
    assert numbers == [{"of_both": 1.5, "kept": None}, {"of_both": 2.0, "kept": None}]


def test_what_git_keeps_says_what_recorded_runs_decide(written):
    made = written(cases(3e-15, 1.5))
    assert made["findings.md"] == b"1. It is 0.25, and exact to 1e-10.\n"
    rows = re.findall(r"^\|(.*)\|$", made["claims.md"].decode(), re.MULTILINE)
    cells = [re.split(r"(?<!\\)\|", row) for row in rows]
    verdicts = {
        row[2].split("`")[-2]: (row[0], *row[4:7]) for row in cells if row[2:3] and "`" in row[2]
    }
    assert verdicts["agreement"] == ("reproduced", "–", "≤ 1e-10", "1")
    assert verdicts["alone"] == ("not tested", "–", "≤ 1", "1, 1 not measured")
    assert verdicts["of-both"] == ("reproduced", "0.25", "≤ 1", "1")
    # The page has today's smaller case beside it, and the same verdict of each.
    whole = {each["id"]: each for each in json.loads(made["claims.json"])}
    number = sum(len(each["cases"]) for each in whole.values())
    assert f"; {number} cases**\n" in made["claims.md"].decode(), "as many as the page has"
    assert len(whole["of-both"]["cases"]) == 2
    assert {name: whole[name]["verdict"] for name in verdicts} == {
        name: verdict for name, (verdict, *_) in verdicts.items()
    }
    outcomes = {case["id"]: case["outcome"] for case in whole["of-both"]["cases"]}
    assert outcomes == {"toy/both": "fails", "kept/it": "holds"}
