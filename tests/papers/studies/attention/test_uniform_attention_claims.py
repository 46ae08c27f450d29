"""The claims about uniform attention, on planted arrays."""

import pytest
from claims_contract import Kind, Planted, changed, contract
from uniform_attention_arrays import powers, sides

from hessian_papers.studies.attention.uniform_attention.claims import statements
from hessian_papers.studies.attention.uniform_attention.study import VARIABLES


def of_one(initialisation):
    """The sides of a study of one initialisation."""
    return {side: data.sel(initialisation=[initialisation]) for side, data in sides().items()}


@pytest.fixture(scope="module")
def planted():
    holds = powers(-1.0)
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Section 3.3, growing key dimension",
            holds=holds,
            fails=[
                powers(0.0, of_bulk=0.0, largest_range=0.5),
                powers(0.5, of_bulk=-1.0),
                changed(holds, "numerics", numerical_bulk=lambda values: values + 1e-6),
            ],
            reduced=[of_one("sp"), of_one("xavier")],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def measured(arrays):
    """By the case's id, what is measured."""
    entries = Kind(statements, VARIABLES).entries(arrays, "singh2026cracking")
    return {name: entry.measure() for name, entry in entries.items()}


def test_the_exponent_is_that_of_the_draws():
    value, low, high = measured(powers(-0.75))["converges-unit"]
    assert value == pytest.approx(-0.75)
    assert low == pytest.approx(high)


def test_key_dimensions_may_stand_in_any_order():
    turned = {**sides(), "closed_form": sides()["closed_form"].sortby("key_dimension")}
    turned["closed_form"] = turned["closed_form"].isel(key_dimension=slice(None, None, -1))
    expected = measured(sides())
    for name, actual in measured(turned).items():
        assert actual == pytest.approx(expected[name], nan_ok=True)
