"""The claims about the spectrum of balanced networks, on small ones and on wrong arrays of them."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from small_studies import RECTANGULAR, SPECTRUM, SQUARE

from hessian_papers.ledger.evaluation import measure
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
    fitted = at(lambda _: 1e-3, network=1, **least_squares)(sides, "difference")
    yield at(lambda _: 1e-3, network=2, **unfitted)(fitted, "difference")


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


def test_what_is_in_print_is_corrected(sides):
    measurements = {name: measure(entry, None) for name, entry in SPECTRUM.entries(sides).items()}
    corrected = {name for name, actual in measurements.items() if actual.in_print_fails}
    assert corrected == {"labels", "count", "least-squares-spectrum", "least-squares-sharpness"}
    assert {actual.record.outcome for actual in measurements.values()} == {"holds"}


def test_identities_hold_to_round_off_and_the_print_is_off_by_per_cents(sides):
    actual = SPECTRUM.entries(sides)
    for name in ("labels", "equal-widths", "weights", "trace", "bound", "lanczos", "sharpness"):
        assert actual[name].measure() < 1e-12
    assert actual["vectors"].measure() < 1e-9
    assert actual["gauss-newton"].measure() < 1e-14
    for name in ("least-squares-spectrum", "least-squares-sharpness"):
        assert actual[name].measure() < 1e-12
    for name in ("labels", "least-squares-spectrum"):
        assert actual[name].measure_printed() > 0.01
    assert actual["least-squares-sharpness"].measure_printed() > 1e-3
    assert actual["count"].measure_printed() == 6


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


def test_only_what_is_true_in_general_is_claimed_of_a_study_of_ones_own(sides):
    own = SPECTRUM.entries(sides, artifact="my networks")
    assert set(SPECTRUM.entries(sides)) - set(own) == {"equal-widths", "correlated-residual"}
    assert own["labels"].heading.places["anon2026data"] == "Equation 13, Equation 9; my networks"
