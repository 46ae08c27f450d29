"""The claims about inputs and teachers, on planted correlations."""

import numpy as np
import pytest
from claims_contract import Kind, of_records
from inputs_and_teacher_arrays import STUDY, measured

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.inputs_and_teacher import claims, study

test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("inputs_and_teacher")


KIND = Kind(claims.statements, study.VARIABLES)


def entries(name, data):
    return KIND.entries(data, "singh2026cracking", STUDY.artifact, name)


def test_matrices_that_are_not_alike_are_not_measured():
    apart = measured().assign(magnitude_ratio=measured()["magnitude_ratio"] * 0 + 2.0)
    with pytest.raises(NothingToMeasure, match="no matrices within a factor"):
        claims.alignment_leads_by_inputs(apart.sel(inputs="white", scale=2.0, size=6))


def test_networks_on_their_way_are_not_measured():
    stopped = measured().assign(epoch_limit=measured()["epoch_limit"] * 0 + 12)
    for name in ("norms_lead_after_training", "teacher_moves_the_driver", "sum_of_norms"):
        for case, entry in entries(name, stopped).items():
            with pytest.raises(NothingToMeasure, match=r"the epochs end before|not the identity"):
                entry.measure()
            assert case
    for entry in entries("large_sizes_raise_the_alignment", stopped).values():
        assert np.isfinite(entry.measure().value)


def test_without_training_nothing_is_said_of_its_end():
    drawn = measured().sel(time=["initialisation"])
    assert not list(claims._trained(drawn, "inputs"))
    assert not entries("sum_of_norms", drawn)


@pytest.mark.parametrize("name", ["lower_bound", "sum_of_norms"])
def test_what_assumes_white_inputs_is_not_judged_on_others(name):
    data = measured().assign(epoch_limit=measured()["epoch_limit"] * 0)
    known = entries(name, data)
    assert {entry.heading.assumes for entry in known.values()} == {"whitened inputs"}
    for case, entry in known.items():
        if "white" in case:
            assert np.isfinite(entry.measure())
        else:
            with pytest.raises(NothingToMeasure, match="second moments of these inputs"):
                entry.measure()


def test_the_lead_is_that_of_one_size_and_grows_between_two():
    data = measured()
    place = {"inputs": "white", "scale": 2.0}
    small, large = (
        claims.alignment_leads_by_inputs(
            data.sel(place | {"size": size, "parametrisation": ["ntp"]})
        )
        for size in (2, 6)
    )
    grown = claims.large_sizes_raise_the_alignment(data.sel(place | {"parametrisation": ["ntp"]}))
    np.testing.assert_allclose(grown, large - small)
