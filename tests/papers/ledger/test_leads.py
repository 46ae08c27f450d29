"""The sentence that stands over a figure is said only where its statements hold."""

from dataclasses import replace

import pytest

from hessian_papers.ledger.leads import lead, require_lead
from tests.sample_reports import RECORDED, case, on_both_runs, record

LEADS = {RECORDED: {"sentence": "It holds.", "rests_on": ["sample-0", "sample-1"]}}


def ledger(*cases):
    """A statement of each list of cases, ``sample-0`` and so on."""
    return [record(number, "reproduced", list(own)) for number, own in enumerate(cases)]


HOLDS, OTHER = case(0, RECORDED), case(1, "poster-pair", "fails")


@pytest.mark.parametrize("outcome", ["fails", "open", "not measured"])
def test_it_is_said_where_all_hold(outcome):
    said = lead(LEADS, ledger([HOLDS, OTHER], [HOLDS]), RECORDED, recorded=False)
    assert said == "It holds."
    for cases in ([[HOLDS], [case(1, RECORDED, outcome)]], [[HOLDS]], [[HOLDS], [OTHER]]):
        assert lead(LEADS, ledger(*cases), RECORDED, recorded=False) == ""


def test_what_was_not_measured_beside_others_says_nothing():
    cases = [HOLDS, case(1, RECORDED, "not measured")]
    assert lead(LEADS, ledger(cases, [HOLDS]), RECORDED, recorded=False) == "It holds."


def test_each_run_speaks_for_itself():
    cases = [on_both_runs(0, ("fails", "holds"), "paper")]
    statements = ledger(cases, cases)
    assert lead(LEADS, statements, RECORDED, recorded=True) == "It holds."
    assert lead(LEADS, statements, RECORDED, recorded=False) == ""


def test_cases_that_the_paper_does_not_have_count_with_the_others():
    for outcome, expected in {"holds": "It holds.", "fails": ""}.items():
        statements = ledger([HOLDS], [OTHER], [case(2, RECORDED, outcome)])
        statements[2] = replace(statements[2], id="sample-1-elsewhere")
        assert lead(LEADS, statements, RECORDED, recorded=False) == expected


def test_a_figure_without_a_sentence_has_none():
    assert lead(LEADS, ledger([HOLDS]), "poster-pair", recorded=False) == ""


@pytest.mark.parametrize(
    "entry",
    [
        "It holds.",
        {"sentence": "It holds."},
        {"sentence": 3, "rests_on": ["a"]},
        {"sentence": "It holds.", "rests_on": []},
        {"sentence": "It holds.", "rests_on": "a"},
        {"sentence": "It holds.", "rests_on": ["a"], "more": 1},
    ],
)
def test_another_thing_is_refused(entry):
    with pytest.raises(ValueError, match=r"^mine\.yaml, lead: expected a sentence and the ids"):
        require_lead(entry, "mine.yaml, lead")
