"""The claims about the spectrum of balanced networks, on small ones and on wrong arrays of them."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from small_studies import RECTANGULAR, SPECTRUM, SQUARE

from hessian_papers.studies.deep_linear.balanced_spectrum.claims import _spectrum_error, statements
from hessian_papers.studies.deep_linear.balanced_spectrum.study import VARIABLES


@pytest.fixture(scope="module")
def sides():
    return SPECTRUM.both()


def at(factor, **labels):
    """A change: values at some labels times a factor, or what a function makes of them."""

    def planted(sides, name):
        values = sides["numerics"][name].copy(deep=True)
        old = values.sel(labels)
        values.loc[labels] = factor(old) if callable(factor) else factor * old
        return changed(sides, "numerics", **{name: values.values})

    return planted


def wrong_numerics(sides):
    """One change for each claim: by a thousandth, or what stands in its place altogether."""
    exact, least_squares, unfitted = (
        {"labels": labels} for labels in ("exact", "least_squares", "unfitted")
    )
    for name in ("gauss_newton", "top"):
        yield at(1.001, network=2)(sides, name)
    for network in (1, 2):
        yield at(1.001, network=network, **exact)(sides, "hessian")
    yield at(1.001, network=2, **least_squares)(sides, "hessian")
    yield at(1.001, network=1)(sides, "top")
    everywhere = at(lambda values: np.maximum(values, 1e-3 * values.max()), network=2, **exact)
    yield everywhere(sides, "hessian")
    yield at(0.0, network=1, **unfitted)(sides, "hessian_trace")
    yield at(lambda _: np.eye(33, 3), network=1)(sides, "top_vector")
    for labels in (exact, least_squares):
        yield at(lambda _: 1e-3, network=1, **labels)(sides, "difference")
    # No bulk of zeros: half of the eigenvalues and more are not.
    yield at(lambda values: np.maximum(values, 1e-3), network=1)(sides, "gauss_newton")


@pytest.fixture(scope="module")
def planted(sides):
    return [
        Planted(
            **SPECTRUM.about,
            holds=sides,
            fails=list(wrong_numerics(sides)),
            reduced=[
                SPECTRUM.both(architectures=[RECTANGULAR]),
                SPECTRUM.both(architectures=[SQUARE], top=1),
            ],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_errors_are_as_large_as_what_was_planted(sides):
    wrong = at(1.001, network=2)(sides, "gauss_newton")
    assert SPECTRUM.entries(wrong)["weights"].measure() == pytest.approx(1e-3, rel=0.01)
    assert SPECTRUM.entries(wrong)["bound"].measure() == pytest.approx(1e-3, rel=0.01)


@pytest.mark.parametrize("sizes", [[4, 3], [5, 1, 5], [1, 3, 2], [2, 2, 2]])
def test_one_layer_a_narrow_one_and_single_inputs(sizes):
    # A network of [5, 1, 5] has fewer parameters than there are pairs.
    sides = SPECTRUM.both(architectures=[sizes], top=2)
    actual = SPECTRUM.entries(sides)
    assert actual["labels"].measure() < 1e-12
    data = SPECTRUM.data(sides)
    assert _spectrum_error(data, "from_solution", "gauss_newton", "least_squares") < 1e-12
    assert actual["count"].measure() == 0


def test_the_bulk_of_zeros_is_counted_in_the_papers_network(sides):
    # Equal widths of 3: 9 of 27 eigenvalues are not zero.
    assert SPECTRUM.entries(sides)["bulk"].measure() == pytest.approx(18 / 27)


def test_wrong_indices_are_one_error(sides):
    """The count in print is wrong; Figure 1a's own network is as the paper has it."""
    printed = {n: e.heading for n, e in SPECTRUM.entries(sides).items() if e.heading.printed}
    assert {name: heading.id for name, heading in printed.items()} == {"count": "balanced-count"}
    assert SPECTRUM.entries(sides)["equal-widths"].measure() < 1e-8
