"""The claims about inputs and teachers, on planted correlations."""

import pytest
from claims_contract import of_records, planted_data
from inputs_and_teacher_arrays import measured

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.inputs_and_teacher import claims, study


def with_leads(of_white, of_fewest, of_large=0.0, chance=0.01):
    """Alignments that lead by so much on white and on sampled inputs, by more if y is large."""
    data = measured().copy(deep=True)
    data["epoch_limit"][:] = 0
    r = data["correlation"]
    r[:] = 0.1
    r.loc[{"factor": "alignment"}] += of_fewest
    r.loc[{"factor": "alignment", "inputs": "white"}] += of_white - of_fewest
    r.loc[{"factor": "alignment", "scale": r["scale"].max()}] += of_large
    r.loc[{"factor": "alignment", "time": "trained"}] -= 2 * of_white
    r[{"teacher": 0}] += chance * (r["factor"] == "alignment")
    return {"correlation": data}


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("inputs_and_teacher")


def test_matrices_that_are_not_alike_are_not_measured():
    data = planted_data(with_leads(0.4, 0.1), study.VARIABLES)
    apart = data.assign(magnitude_ratio=data["magnitude_ratio"] * 0 + 2.0)
    with pytest.raises(NothingToMeasure, match="no matrices within a factor"):
        claims.alignment_leads_by_inputs(apart, "white", 2.0)


def test_networks_on_their_way_are_not_measured():
    stopped = measured().assign(epoch_limit=measured()["epoch_limit"] * 0 + 12)
    with pytest.raises(NothingToMeasure, match="the epochs end before"):
        claims.norms_lead_after_training(stopped, "white", 2.0)
    claims.alignment_leads_by_inputs(stopped, "white", 2.0)


def test_without_training_nothing_is_said_of_its_end():
    drawn = measured().sel(time=["initialisation"])
    assert not list(claims._trained(drawn))
