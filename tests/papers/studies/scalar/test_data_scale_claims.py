"""The claims about the data scale, on small networks and on wrong spectra of them."""

import pytest
from claims_contract import Kind, Planted, changed, contract
from data_scale_sides import both, sample

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.scalar.data_scale.claims import statements
from hessian_papers.studies.scalar.data_scale.study import VARIABLES

# Targets that hardly correlate with the inputs: the spectrum is nearly proportional to σ_x².
WEAK = sample(correlation=0.0, size=4000)
LARGE = {"variance_times_fan_in": 10.0}


def factors(network, targets, factor):
    """The numerical spectra of one network with one way to treat the targets, times a factor."""

    def changed(values):
        values = values.copy()
        values[["first", "second"].index(network), ["fixed", "scaled"].index(targets)] *= factor
        return values

    return {"numerical": changed}


@pytest.fixture(scope="module")
def correlated():
    return both()


@pytest.fixture(scope="module")
def planted(correlated):
    # Targets that dominate small weights: λ_1 is about |E[yx]|, which grows with σ_x.
    strong = both(sample(correlation=50.0), variance_times_fan_in=1e-2)
    about = {"paper": "singh2026cracking", "artifact": "Figure 7"}
    spectra = factors("second", "scaled", 1.001)
    shifted = {"numerical": lambda values: values + 1.0}
    uneven = factors("first", "scaled", [[1.0], [1.001], [1.0], [1.0]])
    return [
        Planted(
            **about,
            holds=both(WEAK, **LARGE),
            fails=[changed(correlated, "numerics", **wrong) for wrong in (spectra, shifted, uneven)]
            + [
                strong,
                changed(correlated, "numerics", numerical=lambda values: values[..., ::-1, :]),
            ],
            reduced=[both(WEAK, **LARGE, scales=2)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def measured(sides, artifact="Figure 7", paper="singh2026cracking"):
    return Kind(statements, VARIABLES).entries(sides, paper, artifact)


def test_errors_are_as_large_as_what_was_planted(correlated):
    actual = measured(changed(correlated, "numerics", **factors("second", "scaled", 1.001)))
    assert actual["spectrum"].measure() > 1e-4
    assert actual["trace"].measure() == pytest.approx(1e-3, rel=1e-6)


def test_a_trace_that_is_rounding_is_not_measured(correlated):
    """Beside E[yx] of small weights the trace is the difference of large eigenvalues."""
    small = both(sample(correlation=50.0), variance_times_fan_in=1e-6)
    with pytest.raises(NothingToMeasure, match="no network whose trace stands out"):
        measured(small)["trace"].measure()
    # A network of which it can be told is measured all the same.
    mixed = changed(correlated, "closed_form", squared_norm=lambda norms: norms * [1, 1e-12])
    assert measured(mixed)["trace"].measure() < 1e-12


def test_a_bulk_that_is_rounding_is_not_measured(correlated):
    bulk = factors("first", "scaled", [[1e-9, 1, 1e-9, 1] + [1] * 4])
    with pytest.raises(NothingToMeasure, match=r"bulk below 1e-6 of \$λ_1\$"):
        measured(changed(correlated, "numerics", **bulk))["proportional"].measure()


def test_the_exponent_is_that_of_the_scale_or_of_its_root(planted):
    (plant,) = planted
    for sides, exponent in ((plant.holds, 1.0), (plant.fails[3], 0.5)):
        each = [entry for name, entry in measured(sides).items() if name.startswith("sharpening")]
        assert [entry.measure() for entry in each] == pytest.approx([exponent] * 2, abs=0.05)
