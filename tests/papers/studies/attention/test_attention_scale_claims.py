"""The claims about norms, sinks and self-attention's spectrum, on small sweeps."""

import math

import numpy as np
import pytest
from attention_arrays import scale_sides
from claims_contract import Planted, changed, contract

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.attention.attention_scale import claims as module
from hessian_papers.studies.attention.attention_scale.claims import spectrum, statements
from hessian_papers.studies.attention.attention_scale.reading import Draw, Reading

RISING, FALLING, CONSTANT = np.linspace(1, 20, 10), np.linspace(1, 0.05, 10), np.ones(10)
# Sweeps of which all that the paper says is true: bulk, largest eigenvalue, condition, bound.
AS_THE_PAPER_SAYS = {
    "query_key": (CONSTANT, RISING, RISING, RISING),
    "value": (RISING, RISING, FALLING, FALLING),
    "sink": (FALLING, RISING, RISING, RISING),
    "massive_sink": (FALLING, RISING, RISING, RISING),
}
QUANTITIES = Draw._fields[1:]


def drawn(sides, of=AS_THE_PAPER_SAYS, draws=20, varied=None):
    """The sides with the same sweeps in so many draws."""
    arrays = {}
    for name, rows in of.items():
        arrays[f"draws/{name}/varied"] = np.geomspace(0.1, 10, 10) if varied is None else varied
        for quantity, row in zip(QUANTITIES, rows, strict=True):
            arrays[f"draws/{name}/{quantity}"] = np.tile(row, (draws, 1))
    return changed(sides, "closed_form", small_norm=np.array(3.0), **arrays)


def backwards(rows):
    return tuple(row[::-1] for row in rows)


def opposite(rows):
    """What stands still moves, what moves stands still."""
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
            reduced=[scale_sides(points=2, numeric_points=2, dense_points=0, draws=1)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_wrong_multiplicities_are_an_error_of_the_whole_spectrum_alone(planted):
    """Distinct eigenvalues do not tell how often each occurs."""
    exact = planted[0].holds["closed_form"]
    moved = np.where(exact["sink/kind"] == "bulk", 58, 1)
    moved[exact["sink/kind"] == "outlier"] = np.tile([1, 1, 3], 9)
    sides = changed(planted[0].holds, "closed_form", **{"sink/multiplicity": moved})
    reading = Reading(sides)
    assert spectrum(reading) > 1e-3
    assert reading.sweep("sink").distinct_error.max() < 1e-10


@pytest.fixture(scope="module")
def saturated():
    """Scores so large that each token attends to one: there is no bulk, and no condition."""
    return Reading(scale_sides(weight_norm=1e5, smallest_norm=1e4, largest_norm=1e5))


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


def test_what_rounding_leaves_is_measured(saturated):
    assert spectrum(saturated) < 1e-10
    assert module.largest_eigenvalue_bounds(saturated) < 1e-10


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


@pytest.mark.parametrize(
    ("measure", "values", "expected"),
    [
        ("trend", [1.0, 2.0, 4.0], 1.0),
        ("trend", [4.0, 2.0, 1.0], -1.0),
        ("change", [2.0, 1.0, 5.0], 4.0),
        ("fall", [2.0, 4.0, 3.0], 0.25),
        ("fall", [1.0, 2.0, 3.0], 0.0),
        ("last_over_first", [4.0, 9.0, 1.0], 0.25),
        ("range_beside_largest", [1.0, 2.0, 3.0], 0.5),
    ],
)
def test_a_sweep_is_measured_by_one_number(measure, values, expected):
    largest = np.array([1.0, 5.0, 3.0])
    draw = Draw(np.arange(3.0), np.array(values), largest, largest, largest)
    assert draw.measured(measure, "bulk") == pytest.approx(expected)


def test_nothing_is_beside_a_largest_eigenvalue_that_stands_still():
    draw = Draw(np.arange(3.0), *[np.ones(3)] * 4)
    assert draw.measured("range_beside_largest", "bulk") == math.inf


def test_the_share_of_the_draws_is_counted_in_both_ranges():
    """Five of 20 draws have a bulk that moves, two of them at small norms already."""
    sides = drawn(scale_sides(draws=1))
    bulk = np.ones((20, 10))
    bulk[:5, -1], bulk[:2, 2] = 2.0, 2.0
    reading = Reading(changed(sides, "closed_form", **{"draws/query_key/bulk": bulk}))
    entries = statements.entries(
        Study("s", {"paper": "singh2026cracking", "artifact": "Figure 2"}), reading
    )
    actual = {entry.id: entry.measure() for entry in entries if "a-bulk-constant" in entry.id}
    assert actual["s/a-bulk-constant"].value == 0.75
    assert actual["s/a-bulk-constant-small"].value == 0.9
    assert actual["s/a-bulk-constant-small"].low < 0.9 < actual["s/a-bulk-constant-small"].high


def test_draws_that_float64_does_not_resolve_are_left_out():
    sides = drawn(scale_sides(draws=1))
    bulk = np.ones((20, 10))
    bulk[:7, 3] = 0.0
    reading = Reading(changed(sides, "closed_form", **{"draws/sink/bulk": bulk}))
    assert len(reading.draws("sink")) == 13
    none = Reading(changed(sides, "closed_form", **{"draws/sink/bulk": 0 * bulk}))
    with pytest.raises(
        NothingToMeasure, match="the bulk vanishes within float64 along the sweep sink"
    ):
        none.draws("sink")
    with pytest.raises(NothingToMeasure, match=r"^this configuration has no two norms up to 0\.1$"):
        reading.draws("value", 0.1)
