"""The claims about norms, sinks and self-attention's spectrum, on small sweeps."""

import numpy as np
import pytest
from attention_arrays import scale_sides
from claims_contract import (
    Planted,
    bears_a_missing_case,
    changed,
    every_case_fails,
    holds_and_fails,
    names,
)

from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.studies.attention.attention_scale import claims as module
from hessian_spectra.studies.attention.attention_scale.claims import claims, spectrum
from hessian_spectra.studies.attention.attention_scale.reading import Reading


def backwards(sides, sweep):
    """One sweep from its end to its start: what grew now shrinks."""
    exact = sides["closed_form"]
    turned = {
        name: values[::-1]
        for name, values in exact.items()
        if name.startswith(f"{sweep}/") and name != f"{sweep}/varied"
    }
    return changed(sides, "closed_form", **turned)


@pytest.fixture(scope="module")
def planted():
    # Small norms, and no massive activation: there all of the paper's statements are true.
    holds = scale_sides(
        key_dimension=60, seed=1, smallest_norm=0.04, largest_norm=0.6, massive_activation=1.0
    )
    fails = [backwards(holds, sweep) for sweep in holds["closed_form"]["sweep"].tolist()]
    fails += [
        scale_sides(seed=1),
        changed(holds, "closed_form", **{"value/eigenvalues": lambda all_: 0 * all_ + all_[0]}),
        changed(holds, "closed_form", **{"value/upper": lambda bound: 0.9 * bound}),
        changed(holds, "closed_form", **{"value/largest_upper": lambda bound: 0.9 * bound}),
        changed(holds, "numerics", **{"sink/values": lambda values: values + 1e-8}),
        changed(holds, "numerics", **{"value/dense": lambda dense: dense * (1 + 1e-8)}),
        changed(holds, "numerics", **{"sink/condition_number": lambda number: number / 100}),
    ]
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Figure 2",
            holds=holds,
            fails=fails,
            reduced=[scale_sides(points=2, numeric_points=2, dense_points=0)],
        )
    ]


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_holds_and_fails(name, planted):
    holds_and_fails(claims, planted, name)


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_bears_a_missing_case(name, planted):
    bears_a_missing_case(claims, planted, name)


def test_each_quantity_that_follows_the_sink_may_fail_to(planted):
    every_case_fails(claims, planted, "with_the_sink")


def test_wrong_multiplicities_are_an_error_of_the_whole_spectrum_alone(planted):
    """Distinct eigenvalues do not tell how often each occurs."""
    exact = planted[0].holds["closed_form"]
    moved = np.where(exact["sink/kind"] == "bulk", 58, 1)
    moved[exact["sink/kind"] == "outlier"] = np.tile([1, 1, 3], 9)
    sides = changed(planted[0].holds, "closed_form", **{"sink/multiplicity": moved})
    reading = Reading(sides)
    assert spectrum(reading) > 1e-3
    assert reading.sweep("sink").distinct_error.max() < 1e-10


def test_a_massive_activation_lets_the_bulk_grow_first():
    reading = Reading(scale_sides(key_dimension=1000, numeric_points=2, dense_points=0))
    assert reading.trend("massive_sink", "bulk") > -0.9


@pytest.fixture(scope="module")
def saturated():
    """Scores so large that each token attends to one: there is no bulk, and no condition."""
    return Reading(scale_sides(weight_norm=1e5, smallest_norm=1e4, largest_norm=1e5))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bulk", "no point at which all five eigenvalues can be told"),
        ("outliers", "no point at which all five eigenvalues can be told"),
        ("condition_bound", "no point at which the condition number is below 1e9"),
        ("a_bulk_constant", "the bulk vanishes within float64 along the sweep query_key"),
        ("a_condition_number_monotone", "the bulk vanishes"),
        ("a_condition_bound_monotone", "the bulk vanishes"),
        ("b_bulk_moves", "the bulk vanishes within float64 along the sweep value"),
        ("b_condition_number_falls", "the bulk vanishes"),
        ("c_bulk_towards_zero", "the bulk is zero without a sink"),
    ],
)
def test_what_rounding_hides_is_not_measured(saturated, name, message):
    with pytest.raises(NothingToMeasure, match=message):
        getattr(module, name)(saturated)


def test_what_rounding_leaves_is_measured(saturated):
    assert spectrum(saturated) < 1e-10
    assert module.outlier_bounds(saturated) < 1e-10
    assert module.b_largest_grows(saturated) <= 1


def test_without_a_change_of_the_largest_eigenvalue_none_is_compared(saturated):
    flat = {"query_key/eigenvalues": lambda values: 0 * values + values[:1]}
    sides = changed(saturated.sides, "closed_form", **flat)
    with pytest.raises(NothingToMeasure, match="nothing moves the largest eigenvalue"):
        module.a_bulk_against_largest(Reading(sides))


def test_a_point_whose_eigenvalues_are_apart_is_compared_beside_others(planted):
    """Two outliers that merge with the bulk at one point leave the errors of the others."""
    holds = planted[0].holds
    closed = holds["closed_form"]
    first, merged = int(holds["numerics"]["sink/index"][0]), closed["sink/eigenvalues"].copy()
    merged[first, 1] = merged[first, 0]
    sweep = Reading(changed(holds, "closed_form", **{"sink/eigenvalues": merged})).sweep("sink")
    assert len(sweep.part_errors("bulk")) == len(sweep["index"]) - 1


def test_what_is_left_out_says_so():
    reading = Reading(scale_sides(points=2, numeric_points=2, dense_points=0))
    with pytest.raises(NothingToMeasure, match=r"^this configuration has no whole spectrum"):
        spectrum(reading)
    with pytest.raises(NothingToMeasure, match=r"^this configuration leaves out the sweep depth$"):
        reading.sweep("depth")
