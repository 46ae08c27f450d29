"""The claims about the outlier pair in training, on runs with, without and beyond momentum."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from trainings import outlier_pair_sides

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.scalar.outlier_pair.claims import statements
from hessian_papers.studies.scalar.outlier_pair.reading import LAST

ARTIFACTS = {
    "singh2026cracking": "Figure 8",
    "singh2024closed": "Figure 3",
    "singh2024poster": "Evolution of the outlier pair",
}


def measured(name, sides, paper="singh2024closed", artifact=None):
    study = Study("study", {"paper": paper, "artifact": artifact or ARTIFACTS[paper]})
    (entry,) = [
        entry
        for entry in statements.entries(study, statements.reading(sides))
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


def ending(sides, ordinary=1.0, high=-1.0, seeds=20, share=1e-9, path=(1.0, 5.0)):
    """With seeds whose small outlier ends on these sides of zero, and so far from it.

    Its path there: whether it drops at first, and how often its sign changes.
    """
    ends = {
        f"seeds/{name}": np.tile([side, share], (1, seeds, 1))
        for name, side in (("ordinary", ordinary), ("high", high))
    }
    paths = np.tile([high, share, *path], (2, 1, seeds, 1))
    momenta = np.array([0.0, 0.9])
    return changed(sides, "closed_form", **ends, **{"seeds/path": paths, "seeds/momentum": momenta})


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
        Planted(
            paper=paper,
            artifact=artifact,
            holds=ending(beyond),
            fails=[ending(sides, ordinary=-1.0, high=1.0, path=(0.0, 1.0)) for sides in fails],
            reduced=reduced,
        )
        for paper, artifact in ARTIFACTS.items()
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements)


POSITIVE, NEGATIVE = (
    f"reaches-zero-from-the-{side}" for side in ("positive-side-1", "negative-side")
)


def test_with_momentum_it_reaches_zero_from_both_sides_from_all_initial_weights():
    heavy_ball = outlier_pair_sides(
        momentum=0.9, learning_rate=0.18, steps=300, numeric_every=50, seeds=5, seed_steps=600
    )
    entry, share = measured(POSITIVE, heavy_ball)
    assert share.value == 0
    assert "underdamped" in entry.explanation
    assert measured("ends-at-zero", heavy_ball)[1] < 1e-6
    assert measured("phases", heavy_ball)[1] == 0


def test_without_momentum_it_reaches_zero_from_above():
    assert measured(POSITIVE, outlier_pair_sides(seeds=5))[1].value == 1


def test_the_share_is_of_the_seeds_that_converge_and_reach_zero(beyond):
    ends = np.array([[1.0, 1e-9], [1.0, 1e-3], [0.9, 1e-9], [np.nan, np.nan], [-1.0, 1e-9]])
    of = {"seeds/ordinary": ends[None], "seeds/high": np.stack([ends, ends[[3, 3, 4, 3, 3]]])}
    sides = changed(beyond, "closed_form", **of)
    assert measured(POSITIVE, sides)[1].value == 1 / 4
    assert measured(NEGATIVE, sides)[1].value == 2 / 5
    nowhere = changed(beyond, "closed_form", **{"seeds/high": np.full((2, 5, 2), np.nan)})
    with pytest.raises(NothingToMeasure, match="no other initial weights from which training"):
        measured(NEGATIVE, nowhere)


def test_a_path_has_three_parts(beyond):
    """Four seeds have all; no drop; a single passage; an end from above. The last diverges."""
    paths = np.array([[-1, 0, 1, 2], [-1, 0, 0, 9], [-1, 0, 1, 1], [1, 0, 1, 2], [np.nan] * 4])
    of = {"seeds/path": paths[None, None], "seeds/momentum": np.array([0.5])}
    sides = changed(beyond, "closed_form", **of)
    shares = [
        measured(f"path-{part}-0.5", sides)[1].value for part in ("drops", "wiggles", "whole")
    ]
    assert shares == [0.75, 0.75, 0.25]


def test_a_path_is_that_of_a_training():
    """At the high run's rate, and with the ordinary momentum."""
    common = {"networks": ["linear"], "width": 3, "steps": 80, "seed_steps": 80, "seeds": 3}
    sides = outlier_pair_sides(
        **common, momentum=0.9, high_momentum=0.0, high_settings=[[0.4, 1.5]], numeric_every=80
    )
    assert sides["closed_form"]["seeds/momentum"].tolist() == [0.0, 0.9]
    actual = sides["closed_form"]["seeds/path"]
    np.testing.assert_array_equal(actual[0, ..., :2], sides["closed_form"]["seeds/high"])
    for place, momentum in enumerate([0.0, 0.9]):
        for seed in range(3):
            own = {"seed": seed, "initial_scale": 1.5, "momentum": momentum, "learning_rate": 0.4}
            alone = outlier_pair_sides(**common | own | {"seeds": 0}, numeric_every=80)
            run = statements.reading(alone).runs["linear"]
            assert actual[place, 0, seed, 2] == (run.small[1] < run.small[0])
            crossings = np.count_nonzero(np.diff(np.sign(run.resolved)))
            assert abs(actual[place, 0, seed, 3] - crossings) <= (run.share.min() < 1e-11)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("scale", [0.75, 2.0])
def test_what_is_kept_of_a_seed_is_that_of_its_training(scale, momentum):
    settings = {"initial_scale": scale, "momentum": momentum, "learning_rate": 0.18}
    sides = outlier_pair_sides(
        networks=["linear"], **settings, steps=150, seed_steps=150, seeds=4, numeric_every=150
    )
    actual = sides["closed_form"]["seeds/ordinary"]
    assert actual.shape == (1, 4, 2)
    for seed in range(4):
        own = outlier_pair_sides(
            networks=["linear"], **settings, steps=150, seed=seed, numeric_every=150
        )
        run = statements.reading(own).runs["linear"]
        # Where the spectrum's own rounding does not decide the sign of the small outlier.
        side = np.sign(run.resolved[-LAST:]).mean()
        assert actual[0, seed, 1] == pytest.approx(run.share[-1], rel=1e-6, abs=1e-13)
        if run.share[-1] > 1e-11:
            assert actual[0, seed, 0] == side


def test_a_training_that_diverges_has_no_end():
    sides = outlier_pair_sides(networks=["linear"], steps=2, seeds=3, high_settings=[[50.0, 5.0]])
    assert np.isnan(sides["closed_form"]["seeds/high"]).all()


def test_beyond_the_solution_the_phase_is_divergent(beyond):
    run = statements.reading(beyond).runs["linear_high"]
    assert set(run["phase"][run.small < -1e-12]) == {"divergent"}
    assert (run.small < -1e-12).sum() > 20


def test_the_poster_formula_needs_the_second_moment(beyond):
    entry, value = measured("outlier-formula", beyond, "singh2024poster")
    assert value < 1e-10
    assert entry.measure_printed() > 0.1


def test_a_study_of_ones_own_inherits_no_statement_of_a_figure(early):
    study = Study("study", {"paper": "singh2024closed", "artifact": "my own"})
    own = [entry.id for entry in statements.entries(study, statements.reading(early))]
    assert own == [f"study/{name}" for name in ("spectrum", "pair-sum", "pair-product", "phases")]


def test_the_claims_stand_where_each_paper_has_them(early):
    entry, _ = measured("pair-sum", early, "singh2024poster")
    assert entry.heading.places == {
        "singh2026cracking": "appendix C, equation (122)",
        "singh2024closed": "section 1, equation (2)",
        "singh2024poster": "Outlier eigenvalues exist as pairs",
    }
    side, _ = measured(POSITIVE, ending(early), "singh2024poster")
    assert side.heading.places == {"singh2024closed": "section 2, text on Figure 3"}


@pytest.mark.parametrize("changes", [{"width": 1}, {"learning_rate": 30.0}])
def test_the_spectrum_is_exact_at_width_one_and_where_a_run_diverges(changes):
    sides = outlier_pair_sides(networks=["linear"], steps=5, **changes)
    assert measured("spectrum", sides)[1] < 1e-10
