"""The claims about several inputs in training, on correlated and decorrelated data."""

import pytest
from claims_contract import Planted, changed, contract, planted_data
from trainings import multi_input_sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.scalar.multi_input_training.claims import bulk, statements
from hessian_papers.studies.scalar.multi_input_training.study import VARIABLES


@pytest.fixture(scope="module")
def planted():
    holds = multi_input_sides()
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Corollary B.1 on real data",
            holds=holds,
            fails=[
                changed(holds, "numerics", numerical=lambda values: 1.001 * values),
                multi_input_sides(correlated=False),
            ],
            reduced=[multi_input_sides(width=1), multi_input_sides(steps=1)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_width_one_has_no_bulk_to_measure():
    with pytest.raises(NothingToMeasure, match="this configuration has width 1"):
        bulk(planted_data(multi_input_sides(width=1), VARIABLES))


def test_a_study_of_ones_own_may_have_decorrelated_inputs(planted):
    study = Study("study", {"paper": "singh2026cracking", "artifact": "my own"})
    own = statements.entries(study, planted_data(planted[0].holds, VARIABLES))
    assert [entry.id for entry in own] == ["study/spectrum", "study/bulk"]
