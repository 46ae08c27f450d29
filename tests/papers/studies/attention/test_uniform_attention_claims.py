"""The claims about uniform attention, their reading and their figure, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from uniform_attention_arrays import powers, sides

from hessian_papers.studies.attention.uniform_attention.claims import statements
from hessian_papers.studies.attention.uniform_attention.figure import caption, draw
from hessian_papers.studies.attention.uniform_attention.reading import Reading


def of_one(initialisation):
    """The sides of a study of one initialisation."""
    place = list(sides()["closed_form"]["initialisation"]).index(initialisation)

    def first(side):
        return {
            name: array[place : place + 1] if np.ndim(array) > 2 else array
            for name, array in sides()[side].items()
        }

    closed = first("closed_form") | {"initialisation": np.array([initialisation])}
    return {"closed_form": closed, "numerics": first("numerics")}


@pytest.fixture(scope="module")
def planted():
    holds = powers(-1.0)
    off = {name: (lambda values: values + 1e-6) for name in ("bulk", "distance")}
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Section 3.3, growing key dimension",
            holds=holds,
            fails=[
                powers(0.0, of_bulk=0.0, largest_range=0.5),
                powers(0.5, of_bulk=-1.0),
                changed(holds, "numerics", **off),
            ],
            reduced=[of_one("sp"), of_one("xavier")],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_the_exponent_is_that_of_the_draws():
    value, low, high = Reading(powers(-0.75)).exponent("distance", "unit")
    assert value == pytest.approx(-0.75)
    assert low == pytest.approx(high)


def test_key_dimensions_may_stand_in_any_order():
    closed = sides()["closed_form"]
    turned = {
        name: array[:, ::-1] if np.ndim(array) > 2 else array for name, array in closed.items()
    } | {
        "key_dimension": closed["key_dimension"][::-1],
        "uniform_bulk": closed["uniform_bulk"][::-1],
    }
    first, other = Reading(sides()), Reading({**sides(), "closed_form": turned})
    assert first.exponent("bulk", "sp") == pytest.approx(other.exponent("bulk", "sp"))
    for mine, peer in zip(first.checked("bulk"), other.checked("bulk"), strict=True):
        np.testing.assert_array_equal(mine, peer)


@pytest.mark.parametrize("arrays", [sides(), of_one("sp")])
def test_the_figure_says_what_is_seen(arrays):
    reading = Reading(arrays)
    figure = draw(reading)
    labels = {text.get_text() for axes in figure.axes for text in axes.get_legend().get_texts()}
    assert len(labels) == len(reading.initialisations) + 3
    assert "40 draws" in caption(reading)
