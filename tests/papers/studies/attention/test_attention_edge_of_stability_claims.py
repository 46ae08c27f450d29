"""The claims about self-attention at the edge of stability, on short runs."""

import numpy as np
import pytest
from attention_arrays import edge_sides
from claims_contract import Planted, changed, contract

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.attention.attention_edge_of_stability.claims import statements
from hessian_papers.studies.attention.attention_edge_of_stability.reading import (
    TERMS,
    Reading,
    shares_of_half_width,
)

FIGURE = {"paper": "singh2026cracking", "artifact": "Figure 27"}


@pytest.fixture(scope="module")
def edge():
    """Sequences with which gradient descent stays at the edge for a while."""
    return edge_sides(0.98, -0.98)


@pytest.fixture(scope="module")
def calm():
    """Sequences with which it settles far below 2/η."""
    return edge_sides(0.5, -0.5, steps=60)


def oscillations(stay=8, of=8, **values):
    """Draws of which some hover around 2/η, and what their oscillation is like."""
    values = {"trace": -1.0, "half_width": 1.0, "terms": 0.6, "solved": 0.2} | values
    rows = dict.fromkeys(("peak", "mean", "reversals"), 1.0) | values
    arrays = {name: np.where(np.arange(of) < stay, value, np.nan) for name, value in rows.items()}
    arrays["terms"] = np.repeat(arrays["terms"][:, None], len(TERMS), axis=1)
    return {f"draws/{name}": array[None] for name, array in arrays.items()}


@pytest.fixture(scope="module")
def planted(edge, calm):
    # All that the paper says of the run is true but for the second moment, which is planted.
    holds = changed(
        edge, "closed_form", **{"norm/m_2": edge["closed_form"]["norm/m_1"]}, **oscillations()
    )
    none = oscillations(of=40, trace=1.0, half_width=-1.0, terms=0.0, solved=1.0)
    grown = ("sharpness", "trace", "norm/w_key", "norm/m_1", "norm/m_2")
    fails = [
        changed(calm, "closed_form", **none),
        changed(holds, "closed_form", **none),
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


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_the_shares_of_a_change_sum_to_one():
    # The sum goes 1, 4, 2; a term that is all of it, one that stands still, two that cancel.
    away = np.array([3.0, -1.0, 5.0])
    terms = np.stack([[1.0, 4.0, 2.0], [1.0, 1.0, 1.0], away, -away], axis=1)
    shares, half = shares_of_half_width(terms, np.array([0.5, 2.0, 1.0]))
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares[:2], [1, 0])
    assert shares[2] == -shares[3]
    assert half == pytest.approx(0.5)


def test_only_draws_at_the_edge_are_looked_at(edge):
    arrays = oscillations(stay=2, of=5)
    arrays["draws/trace"][0, 1] = -0.5
    actual = Reading(changed(edge, "closed_form", **arrays)).oscillations(0)
    assert actual["in-opposite-phase"].tolist() == [True, False]
    assert actual["driven-by-norms"].tolist() == [True, True]
    with pytest.raises(NothingToMeasure, match="no draw stays"):
        Reading(changed(edge, "closed_form", **oscillations(stay=0))).oscillations(0)


def test_the_second_moment_falls(edge):
    assert Reading(edge).rise("norm/m_2") < -0.8


def test_without_an_edge_the_claims_about_it_fail(calm):
    entries = statements.entries(
        Study("s", FIGURE), Reading(changed(calm, "closed_form", **oscillations()))
    )
    actual = {entry.id: (entry.bound, entry.measure()) for entry in entries}
    failing = {
        name
        for name, (bound, item) in actual.items()
        if not bound.holds(getattr(item, "value", item))
    }
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


def test_the_share_is_of_all_draws(edge):
    """One of five diverges, one does not come to the edge, one does not stay, one goes on."""
    arrays = {
        "peak": [np.nan, 0.5, 1.2, 1.2, 1.2],
        "mean": [1.0, np.nan, 0.8, 1.0, 1.0],
        "reversals": [1.0, np.nan, 1.0, 0.5, 1.0],
    }
    sides = changed(
        edge, "closed_form", **{f"draws/{name}": np.array([row]) for name, row in arrays.items()}
    )
    entries = {entry.id: entry for entry in statements.entries(Study("s", FIGURE), Reading(sides))}
    assert entries["s/most-reach-the-edge-2.3"].measure().value == 0.6
    assert entries["s/most-stay-at-the-edge-2.3"].measure().value == 0.2
