"""The claims about raw inputs, on recorded and on planted runs."""

import numpy as np
import pytest
from claims_contract import of_records, planted_data

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.images.raw_inputs.claims import (
    STAY_BALANCED,
    by_eigenvalue,
    from_the_product,
)
from hessian_papers.studies.images.raw_inputs.study import DECADES, VARIABLES

EPOCHS = np.array([0, 1, 20, 100])
SHARES, DEPTHS, REPLICATES = np.array([0.1, 0.9]), np.array([4, 2]), 5


def planted_runs(**changes):
    """Networks of which the formula holds late, and which learn by the eigenvalue."""
    labels = {"source": np.array(["digits"]), "share": SHARES, "depth": DEPTHS, "epoch": EPOCHS}
    labels |= {"replicate": np.arange(REPLICATES), "decade": np.array(DECADES)}
    ones = np.ones((1, len(SHARES), REPLICATES, len(DEPTHS)))
    course = ones[..., None] * np.array([3.0, 4.0, 8.0, 20.0])
    learnt = np.array([np.nan, 0.0, 0.02, 0.2, 0.5, 0.9, 1.0, np.nan, 1.0])
    return labels | {
        "samples": np.array(100),
        "labels": ones * SHARES[:, None, None],
        "limit": 1e4 * ones,
        "at_limit": 1e4 * ones,
        "diverged": ones < 0,
        "time": ones[..., None] * EPOCHS * 0.1,
        "loss": ones[..., None] * np.array([1.0, 0.9, 0.3, 0.1]),
        "defect": 1e-3 * ones[..., None] * np.ones(len(EPOCHS)),
        "product": course * np.array([0.5, 0.8, 1.001, 1.001]),
        "cut": course * np.array([0.0, 0.3, 1.2, 1.2]),
        "learnt": course[..., None] ** 0 * learnt,
        "sharpness": course,
        "residual": 1e-9 * course,
        **changes,
    }


def data_of(**changes):
    return planted_data({"numerics": planted_runs(**changes)}, VARIABLES)


def of_network(data):
    return data.sel(source="digits", depth=4)


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("raw_inputs")


def test_only_late_epochs_count():
    data = of_network(data_of())
    np.testing.assert_allclose(from_the_product(data), 1e-3)


def test_directions_of_few_and_many_times_are_held_against_each_other():
    np.testing.assert_allclose(by_eigenvalue(of_network(data_of())), 1.0 - 0.01)


def test_replicates_that_diverge_are_left_out():
    diverged = np.zeros((1, len(SHARES), REPLICATES, len(DEPTHS)), dtype=bool)
    diverged[0, 0, 1] = True
    assert from_the_product(of_network(data_of(diverged=diverged))).size == REPLICATES - 1
    with pytest.raises(NothingToMeasure, match="training diverges"):
        from_the_product(of_network(data_of(diverged=diverged | True)))


def test_unbalanced_layers_and_diverged_trainings_are_not_measured():
    unbalanced = {"defect": 0.2 * np.ones((1, len(SHARES), REPLICATES, len(DEPTHS), len(EPOCHS)))}
    with pytest.raises(NothingToMeasure, match=r"balancedness comes to 0\.2 here"):
        STAY_BALANCED.check(data_of(**unbalanced), {"source": "digits", "depth": 4})
    diverged = np.ones((1, len(SHARES), REPLICATES, len(DEPTHS)), dtype=bool)
    with pytest.raises(NothingToMeasure, match="training diverges"):
        STAY_BALANCED.check(data_of(diverged=diverged), {"source": "digits", "depth": 4})
