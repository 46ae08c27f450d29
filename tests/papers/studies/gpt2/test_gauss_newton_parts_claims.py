"""The claims about what the GGN misses, on the recorded run and on what it might have been."""

import numpy as np
import pytest
from claims_contract import of_records

from hessian_papers import labelled
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.gpt2.gauss_newton_parts import claims as functions
from hessian_papers.studies.gpt2.gauss_newton_parts import figure
from hessian_papers.studies.gpt2.seeds import ATTENTION
from pipelines.folders import EVIDENCE
from tests.pipelines.workspace import ROOT


@pytest.fixture
def data():
    return labelled.read(ROOT / EVIDENCE / "gauss-newton-parts" / labelled.WHOLE, "")


STUDY = Study("s", {"paper": "singh2026cracking", "artifact": "Section 4.3"})

# No recorded run has what attention is worth to its networks.
test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "gauss_newton_parts", "softmax_widens"
)


def test_softmax_is_judged_where_attention_is_in_use(data):
    def outcome(part, worth=None):
        run = data.copy(deep=True)
        run["operation_part"].loc[{"variant": ATTENTION, "operation": "softmax"}] = part
        run = run if worth is None else run.assign(cost_of_removing_attention=("seed", worth))
        entries = functions.statements.entries(STUDY, run)
        entry = next(each for each in entries if each.heading.id == "softmax-widens-the-gap")
        return entry.bound.outcome(entry.measure())

    used = [0.5, 0.6, 0.7]
    assert [outcome(part, used) for part in (0.1, -0.1)] == ["holds", "fails"]
    with pytest.raises(NothingToMeasure, match="not more than nothing beyond doubt"):
        outcome(0.1, [-0.1, 0.0, 0.1])
    with pytest.raises(NothingToMeasure, match=r"^State not recorded"):
        outcome(0.1)


def test_a_part_is_of_the_last_step_alone(data):
    """Earlier steps, at which the GGN misses more, weigh nothing."""
    early = data["step"] < data["step"].max()
    other = data.assign(functional=data["functional"].where(~early, 9 * data["functional"]))
    for name in data["operation"].values:
        last = functions.part_of(data, name)
        np.testing.assert_array_equal(functions.part_of(other, name), last)
        assert last.dims == ("seed",)


def test_a_run_that_is_older_than_the_parts_by_operation_says_so(data):
    older = data.drop_vars(["operation", "operation_part", "functional"])
    for use in (functions.operations_add_up, figure.draw, figure.caption):
        with pytest.raises(NothingToMeasure, match="without the parts of the operations"):
            use(older)


def test_the_figure_has_the_means_of_all_operations_that_are_there(data):
    attention, twin = figure.draw(data).axes
    lines = {tuple(line.get_ydata()) for line in attention.lines}
    mean = data.mean("seed").sel(variant=ATTENTION)
    for name in data["operation"].values:
        assert tuple(mean["operation_part"].sel(operation=name).values) in lines
    assert tuple(mean["functional"].values) in lines
    steps = [label.get_text() for label in twin.get_xticklabels()]
    assert steps == [f"{step}" for step in data["step"].values]
    assert "Means of 3 seeds" in figure.caption(data)


def test_a_run_that_diverged_has_nothing_to_say(data):
    data["eigenvalue"][0, 1, -1, 0] = np.nan
    with pytest.raises(NothingToMeasure, match=r"has no error at its last step$"):
        functions.worse_with_attention(data, "right")
