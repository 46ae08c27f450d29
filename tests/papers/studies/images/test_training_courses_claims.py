"""The claims about courses of training, on planted runs."""

import numpy as np
import pytest
from claims_contract import Kind, changed, of_records, planted_data

from hessian_papers.ledger.bounds import NothingToMeasure, Replicated, estimate_of
from hessian_papers.studies.images.training_courses.claims import (
    decay_balances,
    easier,
    edge_balances,
    loss_falls,
    peak_is_not_lower,
    sharpness_falls_early,
    statements,
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
            "loss": ones[..., None] * np.array([1.0, 0.6, 0.1, 0.01]),
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


def test_decay_is_held_against_networks_without_it():
    """Where all of it falls alike decay does nothing, and a rise on the way is no balance."""
    falls = np.exp(-0.01 * EPOCHS)
    alike = changed(planted_runs(), "numerics", unbalance=lambda old: falls * np.ones_like(old))
    np.testing.assert_allclose(decay_balances(data_of(alike), "one", "one"), 0.0)
    np.testing.assert_allclose(
        decay_balances(data_of(planted_runs()), "one", "one"), np.exp(-1.0) - 1
    )
    rising = changed(planted_runs(), "numerics", unbalance=lambda old: old * [1, 2, 1, 1])
    np.testing.assert_allclose(decay_balances(data_of(rising), "one", "one"), 0.0)


def test_an_image_set_is_no_draw():
    """Each has its own case, so that one for and one against is not an interval around a half."""
    planted, first = two_sets(), np.arange(REPLICATES) < REPLICATES // 2
    factors = np.stack([np.where(first, 1.0, 0.01), np.ones(REPLICATES)])[:, None, :, None]
    data = data_of(changed(planted, "numerics", sharpness=lambda old: old * factors))
    assert peak_is_not_lower(data, "one", inputs="raw").all()
    assert not peak_is_not_lower(data, "other", inputs="raw").any()


def two_sets():
    """The planted runs, of which half are on another image set."""
    planted = planted_runs()
    first = np.arange(REPLICATES) < REPLICATES // 2
    for side in planted.values():
        side["source"] = np.where(first, "one", "other")
    return planted


def test_the_replicates_of_image_sets_are_paired():
    """The first of each set is one pair, whatever its number in the run."""
    labels = [
        estimate_of(peak_is_not_lower(data_of(two_sets()), source, inputs="raw")).replicates.labels
        for source in ("one", "other")
    ]
    assert labels == [tuple(range(REPLICATES // 2))] * 2


def test_pairs_of_which_neither_arrives_leave_nothing_to_compare():
    gone = planted_runs()["numerics"]["epochs"].copy()
    gone[:, TREATED == "raw", 0, -1] = np.nan
    data = data_of(changed(planted_runs(), "numerics", epochs=gone))
    with pytest.raises(NothingToMeasure, match="in 1 of 30 pairs"):
        easier(data, "one", done="rest", inputs="raw")
    assert easier(data, "one", done="nearly", inputs="raw").size == REPLICATES


def test_any_distance_smaller_than_at_a_small_rate_is_a_balance():
    """With a small rate the layers' largest singular values end at √2 and 1."""
    near = planted_runs()["numerics"]["top"].copy()
    edge = TREATED == "edge"
    near[:, edge, :, :, 0] = np.where(np.arange(REPLICATES) < 24, 1.35, 1.45)[None, None, :, None]
    closer = edge_balances(data_of(changed(planted_runs(), "numerics", top=near)), "one", "one")
    assert estimate_of(closer).value == pytest.approx(24 / 30)


def test_what_is_said_of_the_edge_of_stability_is_not_judged_below_it():
    artifact = "Sections 3 and 4, courses of training"

    def entry(rate):
        planted = changed(planted_runs(), "closed_form", rate=lambda ones: rate * ones)
        return Kind(statements, VARIABLES).entries(planted, "anon2026data", artifact)[
            "edge-one-one"
        ]

    assert isinstance(entry(2.1).measure(), Replicated)
    with pytest.raises(NothingToMeasure, match=r"0\.9 times .* about the edge of stability"):
        entry(1.8).measure()


def test_only_what_falls_early_falls_early():
    """Of epochs 0, 1, 10, 100 only the second has more than half of the loss left."""
    sharpness = np.array([2.0, 1.5, 0.1, 0.1])
    planted = changed(
        planted_runs(), "numerics", sharpness=lambda old: sharpness * np.ones_like(old)
    )
    values = sharpness_falls_early(data_of(planted), "one", "one", "raw")
    np.testing.assert_allclose(values, -0.25)
    late = changed(planted, "numerics", loss=lambda old: old * [1.0, 0.5, 1.0, 1.0])
    with pytest.raises(NothingToMeasure, match="no early epoch beside the start"):
        sharpness_falls_early(data_of(late), "one", "one", "raw")


def test_a_loss_that_rises_makes_the_assumption_no_more_accurate():
    rising = changed(planted_runs(), "numerics", loss=lambda old: old[..., [0, 2, 1, 3]])
    for planted, expected in ((planted_runs(), -1.0), (rising, -0.8)):
        values = loss_falls(data_of(planted), "one", "one", "raw")
        np.testing.assert_allclose(values, expected)
