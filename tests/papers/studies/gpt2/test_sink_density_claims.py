"""The claims about sinks and spectra, on planted ladders."""

import numpy as np
import pytest
import scipy.stats
from claims_contract import Planted, changed, contract
from planted_sinks import SEEDS, ladder, some

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.sink_density import claims as functions
from hessian_papers.studies.gpt2.sink_density.claims import statements
from hessian_papers.studies.gpt2.sink_density.reading import Reading


def off(**arrays):
    return changed(ladder(), "correlation", **arrays)


def beyond(nodes):
    """One Ritz value of the density beyond the largest eigenvalue."""
    nodes = nodes.copy()
    nodes[1, 2, 0, -1] = 90.0
    return nodes


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Figure 6",
            holds=ladder(),
            fails=[
                ladder(growth=-0.2, negative=-0.2),
                ladder(middle=0.7, weights=0.8),
                ladder(own=0.1),
                off(control_smallest=lambda smallest: 3 * smallest),
                ladder(near=0.2),
                off(nodes=beyond),
                off(mass=lambda mass: mass + 2e-3),
                off(training_largest=lambda largest: largest[:, ::-1]),
                off(released_largest=lambda largest: largest[:, ::-1]),
                off(released_weights=lambda weights: weights[..., ::-1] ** 2),
            ],
            reduced=[some(ladder(), slice(1)), some(ladder(), slice(2))],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def test_a_growth_is_that_of_each_network_with_students_interval():
    growths = np.array([0.5, 0.51, 0.52])
    actual = functions.outliers_grow(Reading(ladder(growth=0.5)), "largest")
    expected = scipy.stats.t(SEEDS - 1, growths.mean(), scipy.stats.sem(growths)).interval(0.95)
    np.testing.assert_allclose(actual, (0.51, *expected), rtol=1e-12)
    # Networks differ from each other, and from their controls by the same.
    paired = functions.more_than_a_control(
        Reading(ladder(growth=0.5, middle=0.2)), "largest", "middle-token"
    )
    np.testing.assert_allclose(paired, 0.3, rtol=1e-12)


def test_one_network_decides_nothing():
    actual = functions.outliers_grow(Reading(some(ladder(), slice(1))), "smallest")
    assert actual == pytest.approx((0.5, -np.inf, np.inf))


def test_a_step_back_is_not_steady():
    def fall(largest):
        largest = largest.copy()
        largest[:, 1] = 0.9 * largest[:, 0]
        return largest

    actual = functions.outliers_grow_steadily(Reading(off(largest=fall)), "largest")
    assert actual.value == pytest.approx(0.8)
    assert functions.outliers_grow(Reading(off(largest=fall)), "largest").value > 0.5


def test_the_share_near_zero_is_that_of_the_weights():
    assert functions.many_near_zero(Reading(ladder(near=0.7))).value == pytest.approx(0.7)


def test_the_error_of_the_released_product_is_the_larger_one():
    actual = functions.released_edges(
        Reading(off(released_smallest=lambda smallest: smallest * [1.0, 1.02]))
    )
    assert actual.value == pytest.approx(1.02 * 0.999 - 1)


def test_the_share_that_the_released_product_moves():
    """A tenth of the eigenvalues far from where they are, in one network of the three."""

    def move(nodes):
        nodes = nodes.copy()
        nodes[1, :, 2] = 30.0  # each of the inner nodes has the weight 0.9 / 4
        return nodes

    actual = functions.released_density(Reading(off(released_nodes=move)))
    assert actual.value == pytest.approx(0.225 / 3, rel=1e-3)


def test_an_eigenvalue_of_another_sign_has_no_growth():
    turned = Reading(off(smallest=lambda smallest: smallest * [1, -1, 1, 1]))
    with pytest.raises(NothingToMeasure, match="the smallest eigenvalue is zero or changes its"):
        functions.outliers_grow(turned, "smallest")
    with pytest.raises(NothingToMeasure, match="few steps of training were measured"):
        functions.sinks_of_training(Reading(off(training_largest=lambda a: a * np.nan)))
