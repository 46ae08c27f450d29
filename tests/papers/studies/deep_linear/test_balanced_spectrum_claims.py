"""The claims about the spectrum of balanced networks, on small ones and on wrong arrays of them."""

import numpy as np
import pytest
from balanced_spectrum_sides import RECTANGULAR, SQUARE, both
from claims_contract import Planted, changed, contract

from hessian_papers.ledger.evaluation import measure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.deep_linear.balanced_spectrum.claims import statements
from hessian_papers.studies.deep_linear.balanced_spectrum.reading import Reading

ABOUT = {"paper": "anon2026data", "artifact": "Figure 1a"}


@pytest.fixture(scope="module")
def sides():
    return both()


def wrong_numerics(sides):
    """One change for each claim: by a thousandth, or what stands in its place altogether."""
    for name in ("hessian_exact", "ggn", "hessian_least_squares", "top"):
        yield changed(sides, "numerics", **{f"1/{name}": lambda values: 1.001 * values})
    for name in ("hessian_exact", "top"):
        yield changed(sides, "numerics", **{f"0/{name}": lambda values: 1.001 * values})
    everywhere = {"1/hessian_exact": lambda values: np.maximum(values, 1e-3 * values[-1])}
    yield changed(sides, "numerics", **everywhere)
    yield changed(sides, "numerics", **{"0/trace_unfitted": np.array(0.0)})
    yield changed(sides, "numerics", **{"0/top_vectors": np.eye(27, 3)})
    unfitted = {
        f"{kind}/difference_{labels}": np.array(1e-3)
        for kind, labels in ((0, "least_squares"), (1, "unfitted"))
    }
    yield changed(sides, "numerics", **unfitted)


@pytest.fixture(scope="module")
def planted(sides):
    return [
        Planted(
            **ABOUT,
            holds=sides,
            fails=list(wrong_numerics(sides)),
            reduced=[both(architectures=[RECTANGULAR]), both(architectures=[SQUARE], top=1)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


def entries(sides, artifact="Figure 1a"):
    actual = statements.entries(Study("study", ABOUT | {"artifact": artifact}), Reading(sides))
    return {entry.id.removeprefix("study/"): entry for entry in actual}


def test_what_is_in_print_is_corrected(sides):
    measurements = {name: measure(entry, None) for name, entry in entries(sides).items()}
    corrected = {name for name, actual in measurements.items() if actual.in_print_fails}
    assert corrected == {
        "labels",
        "count",
        "least-squares-spectrum",
        "least-squares-sharpness",
    }
    assert {actual.record.outcome for actual in measurements.values()} == {"holds"}


def test_identities_hold_to_round_off_and_the_print_is_off_by_per_cents(sides):
    actual = entries(sides)
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
    wrong = changed(sides, "numerics", **{"1/ggn": lambda values: 1.001 * values})
    assert entries(wrong)["weights"].measure() == pytest.approx(1e-3, rel=0.01)
    assert entries(wrong)["bound"].measure() == pytest.approx(1e-3, rel=0.01)


@pytest.mark.parametrize("sizes", [[4, 3], [5, 1, 5], [1, 3, 2], [2, 2, 2]])
def test_one_layer_a_narrow_one_and_single_inputs(sizes):
    # A network of [5, 1, 5] has fewer parameters than there are pairs.
    sides = both(architectures=[sizes], top=2)
    actual = entries(sides)
    assert actual["labels"].measure() < 1e-12
    assert Reading(sides).error("solution_least_squares", "ggn") < 1e-12
    assert actual["count"].measure() == 0


def test_only_what_is_true_in_general_is_claimed_of_a_study_of_ones_own(sides):
    own = entries(sides, "my networks")
    assert set(entries(sides)) - set(own) == {"equal-widths", "correlated-residual"}
    assert own["labels"].heading.places["anon2026data"] == "Equation 13, Equation 9; my networks"
