"""The claims about self-attention at the edge of stability, on short runs."""

import numpy as np
import pytest
from attention_arrays import edge_sides
from claims_contract import (
    Planted,
    bears_a_missing_case,
    changed,
    every_case_fails,
    holds_and_fails,
    names,
)

from hessian_spectra.ledger.claims import Study
from hessian_spectra.studies.attention.attention_edge_of_stability.claims import claims
from hessian_spectra.studies.attention.attention_edge_of_stability.reading import Reading

FIGURE = {"paper": "singh2026cracking", "artifact": "Figure 27"}


@pytest.fixture(scope="module")
def edge():
    """Sequences with which gradient descent stays at the edge for a while."""
    return edge_sides(0.98, -0.98)


@pytest.fixture(scope="module")
def calm():
    """Sequences with which it settles far below 2/η."""
    return edge_sides(0.5, -0.5, steps=60)


@pytest.fixture(scope="module")
def planted(edge, calm):
    # All that the paper says of the run is true but for the second moment, which is planted.
    holds = changed(edge, "closed_form", **{"norm/m_2": edge["closed_form"]["norm/m_1"]})
    grown = ("sharpness", "trace", "norm/w_key", "norm/m_1", "norm/m_2")
    fails = [
        calm,
        changed(holds, "closed_form", **dict.fromkeys(grown, lambda values: 1 - values)),
        changed(holds, "closed_form", upper=lambda bound: 0.9 * bound),
        changed(holds, "numerics", eigenvalues=lambda values: values + 1e-8),
    ]
    return [
        Planted(
            **FIGURE,
            holds=holds,
            fails=fails,
            reduced=[edge_sides(0.98, -0.98, steps=1), edge_sides(2.0, 1.0)],
        )
    ]


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_holds_and_fails(name, planted):
    holds_and_fails(claims, planted, name)


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_bears_a_missing_case(name, planted):
    bears_a_missing_case(claims, planted, name)


def test_each_quantity_that_grows_along_may_fail_to(planted):
    every_case_fails(claims, planted, "grows_along")


def test_the_second_moment_falls(edge):
    assert Reading(edge).rise("norm/m_2") < -0.8


def test_without_an_edge_the_claims_about_it_fail(calm):
    entries = claims.entries(Study("s", FIGURE), Reading(calm))
    failing = {entry.id for entry in entries if not entry.bound.holds(entry.measure())}
    assert failing >= {"s/reaches-the-edge", "s/hovers", "s/oscillates", "s/opposite-phase",
                       "s/driven-by-xi", "s/amplitude-follows-residual", "s/loss-decreases",
                       "s/loss-is-not-monotone"}  # fmt: skip


def test_the_edge_is_the_first_step_at_two_over_eta():
    arrays = {
        "step": np.arange(5),
        "sharpness": np.array([0.1, 0.5, 0.9, 1.0, 1.2]),
        "learning_rate": np.array(2.0),
    }
    reading = Reading({"closed_form": arrays})
    assert reading.edge == 3
    assert reading.steps[reading.until_edge].tolist() == [0, 1, 2, 3]
    assert reading.steps[reading.from_edge].tolist() == [3, 4]
    below = Reading({"closed_form": arrays | {"learning_rate": np.array(1.5)}})
    assert below.edge is None
    assert below.steps[below.until_edge].tolist() == [0, 1, 2, 3, 4]
    assert below.steps[below.from_edge].tolist() == [4]
