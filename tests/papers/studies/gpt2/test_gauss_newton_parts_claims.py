"""The claims about what the GGN misses, on the recorded run and on what it might have been."""

import numpy as np
import pytest
from claims_contract import of_records

from hessian_papers import labelled
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.gauss_newton_parts import claims as functions
from hessian_papers.studies.gpt2.gauss_newton_parts import figure
from hessian_papers.studies.gpt2.seeds import ATTENTION
from pipelines.folders import EVIDENCE
from tests.pipelines.workspace import ROOT


@pytest.fixture
def data():
    return labelled.read(ROOT / EVIDENCE / "gauss-newton-parts" / labelled.WHOLE, "")


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("gauss_newton_parts")


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
        functions.worse_with_attention(data, "right", "difference")
