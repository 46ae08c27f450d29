"""The claims about the outlier pair in training, on runs with, without and beyond momentum."""

import numpy as np
import pytest
from claims_contract import Planted, bears_a_missing_case, changed, holds_and_fails, names
from trainings import outlier_pair_sides

from hessian_spectra.ledger.claims import Study
from hessian_spectra.studies.scalar.outlier_pair.claims import claims

ARTIFACTS = {
    "singh2026cracking": "Figure 8",
    "singh2024closed": "Figure 3",
    "singh2024poster": "Evolution of the outlier pair",
}


def measured(name, sides, paper="singh2024closed", artifact=None):
    study = Study("study", {"paper": paper, "artifact": artifact or ARTIFACTS[paper]})
    (entry,) = [
        entry
        for entry in claims.entries(study, claims.reading(sides))
        if entry.id == f"study/{name}"
    ]
    return entry, entry.measure()


@pytest.fixture(scope="module")
def beyond():
    """The third run starts at ⟨w, v⟩ > θ*, with steps too small to jump back over θ*."""
    return outlier_pair_sides(
        seed=4, high_learning_rate=0.1, high_initial_scale=2.0, numeric_every=30
    )


@pytest.fixture(scope="module")
def early():
    """A few steps from the start: no run is near the solution."""
    return outlier_pair_sides(steps=3, high_learning_rate=0.1, high_initial_scale=0.75)


@pytest.fixture(scope="module")
def from_above():
    """The third run is like the first, which reaches zero from above."""
    return outlier_pair_sides(
        networks=["linear"], steps=60, high_learning_rate=0.5, numeric_every=30
    )


@pytest.fixture(scope="module")
def planted(beyond, early, from_above):
    def only(*runs):
        return outlier_pair_sides(networks=[*runs], steps=2)

    fails = [
        early,
        from_above,
        changed(beyond, "numerics", **{"relu/eigenvalues": lambda values: 1.001 * values}),
        changed(beyond, "closed_form", **{"linear/phase": lambda phase: np.full_like(phase, "")}),
        changed(beyond, "closed_form", **{"linear/squared_norm": lambda squares: 1.001 * squares}),
    ]
    reduced = [
        only("linear"),
        only("relu"),
        outlier_pair_sides(width=1, steps=1, networks=["linear"]),
    ]
    return [
        Planted(paper=paper, artifact=artifact, holds=beyond, fails=fails, reduced=reduced)
        for paper, artifact in ARTIFACTS.items()
    ]


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_holds_and_fails(name, planted):
    holds_and_fails(claims, planted, name)


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_bears_a_missing_case(name, planted):
    bears_a_missing_case(claims, planted, name)


def test_with_momentum_it_reaches_zero_from_both_sides():
    heavy_ball = outlier_pair_sides(momentum=0.9, learning_rate=0.18, steps=300, numeric_every=50)
    entry, value = measured("reaches-zero-from-the-positive-side", heavy_ball)
    assert abs(value) < 0.5
    assert "underdamped" in entry.explanation
    assert measured("ends-at-zero", heavy_ball)[1] < 1e-6
    assert measured("phases", heavy_ball)[1] == 0


def test_beyond_the_solution_the_phase_is_divergent(beyond):
    run = claims.reading(beyond).high
    assert set(run["phase"][run.small < -1e-12]) == {"divergent"}
    assert (run.small < -1e-12).sum() > 20


def test_the_poster_formula_needs_the_second_moment(beyond):
    entry, value = measured("outlier-formula", beyond, "singh2024poster")
    assert value < 1e-10
    assert entry.measure_printed() > 0.1


def test_a_study_of_ones_own_inherits_no_statement_of_a_figure(early):
    study = Study("study", {"paper": "singh2024closed", "artifact": "my own"})
    own = [entry.id for entry in claims.entries(study, claims.reading(early))]
    assert own == [f"study/{name}" for name in ("spectrum", "pair-sum", "pair-product", "phases")]


def test_the_claims_stand_where_each_paper_has_them(early):
    places = {
        paper: (entry.paper, entry.location)
        for paper in ARTIFACTS
        for entry, _ in [measured("pair-sum", early, paper)]
    }
    assert places == {
        "singh2026cracking": ("singh2026cracking", "appendix C, equation (122)"),
        "singh2024closed": ("singh2024closed", "section 1, equation (2)"),
        "singh2024poster": ("singh2024poster", "Outlier eigenvalues exist as pairs"),
    }
    side, _ = measured("reaches-zero-from-the-positive-side", early, "singh2024poster")
    assert (side.paper, side.location) == ("singh2024closed", "section 2, text on Figure 3")


@pytest.mark.parametrize("changes", [{"width": 1}, {"learning_rate": 30.0}])
def test_the_spectrum_is_exact_at_width_one_and_where_a_run_diverges(changes):
    sides = outlier_pair_sides(networks=["linear"], steps=5, **changes)
    assert measured("spectrum", sides)[1] < 1e-10
