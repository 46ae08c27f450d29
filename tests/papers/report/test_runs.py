"""The name of a run: how much was computed, and when; never the name of a scale."""

import json
from pathlib import Path

import pytest

from hessian_papers.report.runs import name, size

EVIDENCE = sorted((Path(__file__).parents[3] / "reports" / "evidence").glob("*/facts.json"))


@pytest.mark.parametrize(
    ("study", "ensemble", "text"),
    [
        ({"networks": 100}, {}, "100 networks"),
        ({"steps": 300, "seeds": 0}, {}, "300 steps"),
        ({"networks": ["linear"], "draws": 12000}, {}, "one network, 12\u202f000 draws"),
        ({"width": 3, "recorded": True}, {}, ""),
        (
            {"networks": []},
            {"kind": "classifiers", "networks": ["F-1", "F-2"], "seeds": 5},
            "two architectures, five seeds each",
        ),
        (
            {"networks": ["F-2"]},
            {"kind": "classifiers", "networks": ["F-1", "F-2"], "seeds": 1},
            "one architecture, one seed each",
        ),
        ({"teachers": 10, "networks": 40}, {}, "400 networks of ten teachers"),
        (
            {},
            {"kind": "gpt2", "variants": ["a", "b"], "seeds": 3, "steps": 1500},
            "six transformers over 1\u202f500 steps",
        ),
    ],
)
def test_settings_are_counted(study, ensemble, text):
    assert size(study, ensemble) == text


def test_a_run_without_a_count_or_a_date_still_has_a_name():
    assert name({}, {}, recorded=False) == "this run"
    assert name({}, {}, recorded=True) == "recorded run"
    dated = {"draws": 2}, {"date": "2026-11-20"}
    assert name(*dated, recorded=True) == "two draws, recorded with the code of 2026-11-20"
    assert name(*dated, recorded=False) == "two draws, this run"


@pytest.mark.parametrize("path", EVIDENCE, ids=lambda path: path.parent.name)
def test_each_recorded_run_says_what_it_is_of_and_when_it_was_made(path):
    facts = json.loads(path.read_text("utf-8"))
    actual = name(facts["study"], facts, recorded=True)
    amount, _, date = actual.rpartition(", recorded with the code of ")
    assert amount
    assert date == facts["date"]
    assert facts["scale"] not in actual
