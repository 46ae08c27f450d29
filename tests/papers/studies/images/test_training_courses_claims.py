"""The claims about courses of training, on planted runs."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract

from hessian_papers.studies.images.training_courses.claims import easier, statements
from hessian_papers.studies.images.training_courses.reading import MEASURED, Reading

RUNS = [
    f"{labels}-{treated}"
    for labels in ("one", "uniform")
    for treated in ("whitened", "raw", "plain", "decay", "edge")
]
EPOCHS = np.array([0, 1, 10, 100])
REPLICATES = 30


def planted_runs():
    """Runs of which all is as the paper says."""
    ones = np.ones((len(RUNS), REPLICATES))
    single = np.array([run.startswith("one") for run in RUNS])[:, None]
    decay = np.array([run.endswith("decay") for run in RUNS])[:, None, None]
    edge = np.array([run.endswith("edge") for run in RUNS])[:, None, None]
    law = ones[..., None] * np.where(decay, np.exp(-0.01 * EPOCHS), 1.0)
    far = np.where(edge, 0.1, 1.0) * ones[..., None] * np.ones(len(EPOCHS))
    sharpness = np.array([2.0, 40.0, 1.0, 30.0])[:, None, None] * np.ones((1, REPLICATES, 4))
    epochs = ones * np.where(single, 10.0, 20.0)
    return {
        "closed_form": {
            "run": np.array(RUNS),
            "epoch": EPOCHS,
            "unbalance": law,
            "rate": ones,
            "solution": ones,
            "source": np.array(["one"] * REPLICATES),
        },
        "numerics": {
            "unbalance": np.where(edge, 1 - 0.1 * (EPOCHS > 1), law),
            "half": epochs,
            "nearly": 2 * epochs,
            "rest": 3 * epochs,
            "top": np.stack([np.sqrt(1 + far), np.ones_like(far)], axis=-1),
            "sharpness": sharpness,
            "residual": 1e-8 * sharpness,
            "loss": ones[..., None] * np.array([1.0, 0.5, 0.1, 0.01]),
            "diverged": ones < 0,
        },
    }


def of_one(sides, name, factor):
    """An array with what belongs to one class multiplied."""
    runs = MEASURED if name == "sharpness" else RUNS
    shape = (-1,) + (1,) * (sides["numerics"][name].ndim - 1)
    factors = np.array([factor if run.startswith("one") else 1.0 for run in runs]).reshape(shape)
    return changed(sides, "numerics", **{name: lambda old: old * factors})


@pytest.fixture(scope="module")
def planted():
    holds = planted_runs()
    later = of_one(of_one(of_one(holds, "half", 10.0), "nearly", 10.0), "rest", 10.0)
    grows = np.array([1.0, 1.1, 1.2, 1.3])
    return [
        Planted(
            paper="anon2026data",
            artifact="Sections 3 and 4, courses of training",
            holds=holds,
            fails=[
                later,
                of_one(holds, "sharpness", 0.01),
                changed(holds, "numerics", unbalance=lambda old: old * grows),
                changed(holds, "numerics", top=lambda old: np.ones_like(old) * [1.0, 2.0]),
            ],
            reduced=[
                changed(holds, "numerics", rest=lambda old: np.full_like(old, np.nan)),
                changed(holds, "numerics", diverged=lambda old: ~old),
            ],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_never_is_later_than_any_epoch():
    never = changed(planted_runs(), "numerics", half=lambda old: np.where(old == 10, np.nan, old))
    reading = Reading(never)
    assert np.isinf(reading.epochs_until("half", "one-whitened")).all()
    first, second = (reading.epochs_until("half", f"{x}-raw") for x in ("one", "uniform"))
    assert reading.share(first < second, "one-raw", "uniform-raw").value == 0


def test_as_many_epochs_are_not_fewer():
    as_many = of_one(planted_runs(), "half", 2.0)
    assert easier(Reading(as_many), "half", "raw").value == 0


def test_replicates_that_diverge_are_left_out():
    sides = planted_runs()
    gone = np.zeros((len(RUNS), REPLICATES), dtype=bool)
    gone[RUNS.index("one-edge"), :5] = True
    reading = Reading(changed(sides, "numerics", diverged=gone))
    assert reading.clean("one-edge", "one-plain").sum() == REPLICATES - 5
    assert reading.clean("one-plain").all()
