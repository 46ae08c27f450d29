"""The claims about self-attention at the edge of stability, on short runs."""

import numpy as np
import pytest
from attention_arrays import edge_sides
from claims_contract import Kind, Planted, changed, contract, planted_data

from hessian_papers.labelled import data_set
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.attention.attention_edge_of_stability import claims as module
from hessian_papers.studies.attention.attention_edge_of_stability import derived
from hessian_papers.studies.attention.attention_edge_of_stability.claims import statements
from hessian_papers.studies.attention.attention_edge_of_stability.study import VARIABLES

FIGURE = {"paper": "singh2026cracking", "artifact": "Figure 27"}


@pytest.fixture(scope="module")
def edge():
    """Sequences with which gradient descent stays at the edge for a while."""
    return edge_sides(0.98, -0.98)


@pytest.fixture(scope="module")
def calm():
    """Sequences with which it settles far below 2/η."""
    return edge_sides(0.5, -0.5, steps=60)


# Draws of which all is as the paper says.
AS_THE_PAPER_SAYS = {
    **dict.fromkeys(("peak", "mean", "reversals", "half_width"), 1.0),
    **{"trace": -1.0, "terms": 0.6, "solved": 0.2},
}


def drawn(sides, stay=8, of=8, **values):
    """The sides with draws of which some hover around 2/η, and what their oscillation is like."""
    exact, hovers = sides["closed_form"], np.arange(of) < stay
    arrays = {}
    for name, value in (AS_THE_PAPER_SAYS | values).items():
        dims, row = exact[f"draw_{name}"].dims, np.where(hovers, value, np.nan)[None]
        arrays[f"draw_{name}"] = dims, np.stack([row] * 4, axis=-1) if "term" in dims else row
    return {**sides, "closed_form": exact.drop_dims("draw").assign(arrays)}


@pytest.fixture(scope="module")
def planted(edge, calm):
    # All that the paper says of the run is true but for the second moment.
    holds = drawn(edge)
    none = {"of": 40, "trace": 1.0, "half_width": -1.0, "terms": 0.0, "solved": 1.0}
    grown = ("sharpness", "trace", "norm_w_key", "norm_m_1", "norm_m_2")
    fails = [
        drawn(calm, **none),
        drawn(holds, **none),
        drawn(holds, stay=0, of=40),
        changed(holds, "closed_form", **dict.fromkeys(grown, lambda values: 1 - values)),
        changed(holds, "closed_form", upper=lambda bound: 0.9 * bound),
        changed(holds, "numerics", numerical=lambda values: values + 1e-8),
    ]
    return [
        Planted(
            **FIGURE,
            holds=holds,
            fails=fails,
            reduced=[edge_sides(0.98, -0.98, steps=1), edge_sides(2.0, 1.0)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def entries_of(sides):
    """The cases of all statements by their ids."""
    return Kind(statements, VARIABLES).entries(sides, **FIGURE)


def test_only_draws_at_the_edge_are_looked_at(edge):
    entries = entries_of(drawn(edge, stay=2, of=5, trace=[-1.0, -0.5, -1.0, -1.0, -1.0]))
    assert entries["most-in-opposite-phase-2.3"].measure().value == 0.5
    assert entries["most-driven-by-norms-2.3"].measure().value == 1.0
    none = entries_of(drawn(edge, stay=0))["most-driven-by-norms-2.3"]
    with pytest.raises(NothingToMeasure, match="no draw stays"):
        none.measure()


def test_the_edge_is_the_first_step_at_two_over_eta():
    arrays = {"step": np.arange(5), "sharpness": [0.1, 0.5, 0.9, 1.0, 1.2], "learning_rate": 2.0}
    data = data_set(arrays, VARIABLES)
    assert derived.edge(data) == 3
    assert module._until_edge(data)["step"].values.tolist() == [0, 1, 2, 3]
    assert module._from_edge(data)["step"].values.tolist() == [3, 4]
    below = data_set(arrays | {"learning_rate": 1.5}, VARIABLES)
    assert derived.edge(below) is None
    assert module._until_edge(below)["step"].values.tolist() == [0, 1, 2, 3, 4]
    assert module._from_edge(below)["step"].values.tolist() == [4]


def test_the_share_is_of_all_draws(edge):
    """One of five diverges, one does not come to the edge, one does not stay, one goes on."""
    draws = {
        "peak": [np.nan, 0.5, 1.2, 1.2, 1.2],
        "mean": [1.0, np.nan, 0.8, 1.0, 1.0],
        "reversals": [1.0, np.nan, 1.0, 0.5, 1.0],
    }
    entries = entries_of(drawn(edge, of=5, **draws))
    assert entries["edge-at-rate-2.3"].measure() == 0.2


def test_the_second_moment_falls_where_the_first_and_the_third_grow(edge):
    """The variance of two tokens is largest where training starts, at even attention."""
    moments = entries_of(drawn(edge))["moments-grow"]
    assert moments.bound.holds(moments.measure())
    assert not moments.bound.holds(moments.measure_printed())
    data = planted_data(edge, VARIABLES)
    assert module._trend(module._until_edge(data), "norm_m_2") < -0.8
    p = np.linspace(0.5, 0.99, 50)
    assert (np.diff(p * (1 - p)) < 0).all()


def test_a_run_that_lacks_a_part_lacks_the_phenomenon(edge, calm):
    whole = entries_of(drawn(edge))["both-are-present"].measure()
    assert whole == 1.0
    steady = changed(edge, "closed_form", loss=lambda loss: np.sort(loss)[::-1])
    steady = planted_data(steady, VARIABLES)
    assert module.both_are_present(steady) == pytest.approx(5 / 6)
    assert not module._phenomena(steady)["not monotone"]
    assert not module._phenomena(planted_data(calm, VARIABLES))["reaches"]


def test_what_is_said_of_the_edge_is_not_judged_below_it(edge, calm):
    name = "opposite-phase"
    assert entries_of(drawn(edge))[name].measure() > 0.9
    with pytest.raises(NothingToMeasure, match="never reaches"):
        entries_of(drawn(calm))[name].measure()
