"""The claims about the ReLU network's cells, on small networks and on wrong spectra of them."""

import numpy as np
import pytest
from claims_contract import Kind, Planted, changed, contract
from relu_cells_sides import SIZES, both

from hessian_papers.studies.scalar.relu_cells.claims import statements
from hessian_papers.studies.scalar.relu_cells.study import VARIABLES


@pytest.fixture(scope="module")
def sides():
    return both()


@pytest.fixture(scope="module")
def smaller():
    return [both(width=width, positive_units=positive) for width, positive in SIZES[1:]]


@pytest.fixture(scope="module")
def planted(sides, smaller):
    unchanged = sides["numerics"]["numerical"].values
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Figure 1",
            holds=sides,
            fails=[
                changed(sides, "numerics", numerical=lambda values: 1.001 * values),
                changed(sides, "closed_form", cell=lambda cells: cells[::-1]),
                changed(sides, "numerics", doubled_numerical=unchanged),
            ],
            reduced=smaller,
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def measured(sides, artifact="Figure 1", paper="singh2026cracking"):
    return Kind(statements, VARIABLES).entries(sides, paper, artifact)


def test_errors_are_as_large_as_what_was_planted(sides):
    wrong = measured(changed(sides, "numerics", numerical=lambda values: 1.001 * values))
    assert wrong["spectrum"].measure() == pytest.approx(1e-3, rel=0.01)
    assert wrong["largest"].measure() == pytest.approx(1e-3, rel=0.01)
    assert wrong["multiplicities"].measure() == 6  # all that there are in both bulks
    swapped = measured(changed(sides, "closed_form", cell=lambda cells: cells[::-1]))
    assert swapped["decoupling"].measure() > 0.99
    assert not np.isnan(swapped["multiplicities"].measure())


def test_every_claim_holds_to_round_off_for_all_sizes_of_the_cells(sides, smaller):
    for instance in (sides, *smaller):
        assert max(entry.measure() for entry in measured(instance).values()) < 1e-12
