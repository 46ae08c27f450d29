"""The claims about courses of training, on planted runs."""

import numpy as np
from claims_contract import changed, of_records, planted_data

from hessian_papers.studies.images.training_courses.claims import (
    easier,
    edge_balances,
    peak_is_not_lower,
)
from hessian_papers.studies.images.training_courses.study import VARIABLES

LABELS, INPUTS = ("one", "uniform"), ("whitened", "raw")
TREATED = np.array([*INPUTS, "plain", "decay", "edge"])
EPOCHS = np.array([0, 1, 10, 100])
REPLICATES = 30


def planted_runs():
    """Runs of which all is as the paper says."""
    ones = np.ones((len(LABELS), len(TREATED), REPLICATES))
    single = np.array([True, False])[:, None, None]
    decay, edge = ((name == TREATED)[:, None, None] for name in ("decay", "edge"))
    law = ones[..., None] * np.where(decay, np.exp(-0.01 * EPOCHS), 1.0)
    far = np.where(edge, 0.1, 1.0) * ones[..., None] * np.ones(len(EPOCHS))
    sharpness = np.array([[2.0, 40.0], [1.0, 30.0]])[..., None, None] * np.ones((REPLICATES, 4))
    epochs = ones * np.where(single, 10.0, 20.0)
    labels = {"labels": np.array(LABELS), "treated": TREATED, "epoch": EPOCHS}
    labels |= {"replicate": np.arange(REPLICATES), "source": np.array(["one"] * REPLICATES)}
    return {
        "closed_form": labels | {"law": law, "rate": ones, "solution": ones},
        "numerics": {
            **labels,
            "inputs": np.array(INPUTS),
            "done": np.array(["half", "nearly", "rest"]),
            "layer": np.array([1, 2]),
            "unbalance": np.where(edge, 1 - 0.1 * (EPOCHS > 1), law),
            "epochs": np.stack([epochs, 2 * epochs, 3 * epochs], axis=-1),
            "top": np.stack([np.sqrt(1 + far), np.ones_like(far)], axis=-1),
            "sharpness": sharpness,
            "residual": 1e-8 * sharpness,
            "loss": ones[..., None] * np.array([1.0, 0.5, 0.1, 0.01]),
            "diverged": ones < 0,
        },
    }


def data_of(sides):
    return planted_data(sides, VARIABLES)


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("training_courses")


def test_never_is_later_than_any_epoch():
    never = changed(planted_runs(), "numerics", epochs=lambda old: np.where(old == 10, np.nan, old))
    assert not easier(data_of(never), "one", done="half", inputs="raw").any()


def test_replicates_that_diverge_are_left_out():
    gone = np.zeros((len(LABELS), len(TREATED), REPLICATES), dtype=bool)
    gone[0, TREATED == "edge", :5] = True
    data = data_of(changed(planted_runs(), "numerics", diverged=gone))
    assert edge_balances(data, "one", labels="one").size == REPLICATES - 5
    assert edge_balances(data, "one", labels="uniform").size == REPLICATES


def test_an_image_set_is_no_draw():
    """Each has its own case, so that one for and one against is not an interval around a half."""
    planted = planted_runs()
    first = np.arange(REPLICATES) < REPLICATES // 2
    for side in planted.values():
        side["source"] = np.where(first, "one", "other")
    factors = np.stack([np.where(first, 1.0, 0.01), np.ones(REPLICATES)])[:, None, :, None]
    data = data_of(changed(planted, "numerics", sharpness=lambda old: old * factors))
    assert peak_is_not_lower(data, "one", inputs="raw").all()
    assert not peak_is_not_lower(data, "other", inputs="raw").any()
