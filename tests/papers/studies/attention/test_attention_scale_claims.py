"""The claims about norms, sinks and self-attention's spectrum, on small sweeps."""

import math

import numpy as np
import pytest
import torch
from attention_arrays import scalar_tokens, scale_config, scale_sides
from claims_contract import Planted, changed, contract, planted_data

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.attention.attention_scale import claims as module
from hessian_papers.studies.attention.attention_scale.claims import MEASURES, spectrum, statements
from hessian_papers.studies.attention.attention_scale.derived import distinct_errors
from hessian_papers.studies.attention.attention_scale.study import SWEEPS, VARIABLES, sweep
from hessian_spectra.seeding import generator

RISING, FALLING, CONSTANT = np.linspace(1, 20, 10), np.linspace(1, 0.05, 10), np.ones(10)
# Sweeps of which all that the paper says is true: bulk, largest eigenvalue, condition, bound.
AS_THE_PAPER_SAYS = {
    "query_key": (CONSTANT, RISING, RISING, RISING),
    "value": (RISING, RISING, FALLING, FALLING),
    "sink": (FALLING, RISING, RISING, RISING),
    "massive_sink": (FALLING, RISING, RISING, RISING),
}
DRAWS = ("sweep", "draw", "draw_point")


def drawn(sides, of=AS_THE_PAPER_SAYS, draws=20):
    """The sides with the same sweeps in so many draws."""
    exact = sides["closed_form"].drop_dims(["draw", "draw_point"])
    rows = np.array([of[name] for name in exact["sweep"].values])
    arrays = {
        name: (DRAWS, np.repeat(rows[:, [place]], draws, axis=1))
        for place, name in enumerate(module.DRAWN)
    }
    for order, name in enumerate(("draw_largest", "draw_bulk", "draw_bulk"), 1):
        arrays[f"draw_moment_{order}"] = arrays[name]
    arrays["draw_varied"] = ("sweep", "draw_point"), np.tile(np.geomspace(0.1, 10, 10), (4, 1))
    return {**sides, "closed_form": exact.assign(arrays | {"small_norm": 3.0})}


def of_sweep(sweep, change):
    """The changes to the values of one sweep each, in the order of the sweeps."""

    def changed(values):
        values, place = values.copy(), SWEEPS.index(sweep)
        values[place] = change(values[place])
        return values

    return changed


def backwards(rows):
    return tuple(row[::-1] for row in rows)


def opposite(rows):
    """The fixed eigenvalues move, the moving ones are fixed."""
    return tuple(np.where(row == row[0], RISING, CONSTANT) for row in rows)


@pytest.fixture(scope="module")
def planted():
    sides = scale_sides(key_dimension=60, seed=1, smallest_norm=0.04, largest_norm=0.6)
    holds = drawn(sides)
    turned, other = (
        drawn(sides, {name: turn(rows) for name, rows in AS_THE_PAPER_SAYS.items()})
        for turn in (backwards, opposite)
    )
    fails = [
        turned,
        other,
        changed(holds, "closed_form", upper=of_sweep("value", lambda bound: 0.9 * bound)),
        changed(holds, "closed_form", largest_upper=of_sweep("value", lambda bound: 0.9 * bound)),
        changed(holds, "numerics", numerical=of_sweep("sink", lambda values: values + 1e-8)),
        changed(holds, "numerics", dense=of_sweep("value", lambda dense: dense * (1 + 1e-8))),
        changed(
            holds, "numerics", numerical_condition_number=of_sweep("sink", lambda of: of / 100)
        ),
    ]
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Figure 2",
            holds=holds,
            fails=fails,
            reduced=[scale_sides(points=2, numeric_points=2, dense_points=0, draws=1)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_moments_are_those_of_the_attention_scores():
    """Of the study's own draws, from the scores written out."""
    data = data_of(points=2, numeric_points=2, dense_points=0, draws=1)
    config = scale_config(draws=1)
    numbers = generator(config.seed, "sequences of draw 0")
    x, y = torch.randn(2, *scalar_tokens()["x"].shape, generator=numbers, dtype=torch.float64)
    tokens, biases = {"x": x.numpy(), "y": y.numpy()}, np.array([0.0, 6.0])
    *_, last = sweep(config, "sink", tokens, biases, "weights of draw 0")
    attention = last.layer().attention(x)
    mean = attention @ x[..., None]
    own = data.sel(sweep="sink", draw=0)
    own = own.isel(draw_point=own["draw_varied"].values == 6.0)
    for order in (1, 2, 3):
        centred = x[:, None, :] - (mean if order > 1 else 0)
        moment = (attention * centred**order).sum(-1)
        assert own[f"draw_moment_{order}"].item() == pytest.approx(moment.norm().item())


def test_wrong_multiplicities_are_an_error_of_the_whole_spectrum_alone(planted):
    """Distinct eigenvalues do not tell how often each occurs."""
    moved = of_sweep("sink", lambda copies: np.where(copies > 1, 58, [1, 1, 1, 1, 3]))
    sides = changed(planted[0].holds, "closed_form", multiplicity=moved)
    data = planted_data(sides, VARIABLES)
    assert (data["multiplicity"].sel(sweep="sink").sum("rank") == 121).all()
    assert spectrum(data) > 1e-3
    assert distinct_errors(data.sel(sweep="sink")).max() < 1e-10


def data_of(**changes):
    return planted_data(scale_sides(**changes), VARIABLES)


@pytest.fixture(scope="module")
def saturated():
    """Scores so large that each token attends to one: there is no bulk, and no condition."""
    return data_of(weight_norm=1e5, smallest_norm=1e4, largest_norm=1e5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bulk", "no point at which all five eigenvalues can be told"),
        ("outliers", "no point at which all five eigenvalues can be told"),
        ("outlier_bounds", "no point at which all five eigenvalues can be told"),
        ("condition_bound", "no point at which the condition number is below 1e9"),
    ],
)
def test_what_rounding_hides_is_not_measured(saturated, name, message):
    with pytest.raises(NothingToMeasure, match=message):
        getattr(module, name)(saturated)


def test_a_point_whose_eigenvalues_are_not_apart_is_not_compared_with_others(planted):
    """Two outliers that merge with the bulk at each point but one leave the errors of that one."""
    holds = planted[0].holds

    def merged(values):
        values = values.copy()
        values[:, 1:, 1] = values[:, 1:, 0]
        return values

    data = planted_data(changed(holds, "closed_form", exact=merged), VARIABLES)
    assert distinct_errors(data).max() > 1e-10
    assert module.bulk(data) < 1e-10


def test_what_is_left_out_says_so():
    data = data_of(points=2, numeric_points=2, dense_points=0)
    with pytest.raises(NothingToMeasure, match=r"^this configuration has no whole spectrum"):
        spectrum(data)
    with pytest.raises(NothingToMeasure, match=r"^this configuration leaves out the sweep depth$"):
        module.draws(data, "depth")


def test_nothing_is_beside_a_largest_eigenvalue_that_stands_still():
    assert MEASURES["range_beside_largest"](np.arange(3.0), *[np.ones(3)] * 2) == math.inf


def with_bulk(planted, sweep, bulk):
    """The data set with another bulk of the draws of one sweep, ``(20, 10)``."""
    draw_bulk = of_sweep(sweep, lambda values: bulk)
    sides = changed(planted[0].holds, "closed_form", draw_bulk=draw_bulk)
    return planted_data(sides, VARIABLES)


def test_draws_that_float64_does_not_resolve_are_left_out(planted):
    bulk = np.ones((20, 10))
    bulk[:7, 3] = 0.0
    data = with_bulk(planted, "sink", bulk)
    assert module.draws(data, "sink").sizes["draw"] == 13
    with pytest.raises(
        NothingToMeasure, match="the bulk vanishes within float64 along the sweep sink"
    ):
        module.draws(with_bulk(planted, "sink", 0 * bulk), "sink")
    with pytest.raises(NothingToMeasure, match=r"^this configuration has no two norms up to 0\.1$"):
        module.draws(data, "value", 0.1)
