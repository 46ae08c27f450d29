"""The claims about the outlier pair in training, on runs with, without and beyond momentum."""

from functools import partial

import numpy as np
import pytest
from claims_contract import Planted, changed, contract, planted_data
from trainings import outlier_pair_sides

from hessian_papers.labelled import data_set
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.scalar.outlier_pair.claims import statements
from hessian_papers.studies.scalar.outlier_pair.derived import LAST, RESOLVED, pair, small_share
from hessian_papers.studies.scalar.outlier_pair.many import ENDS
from hessian_papers.studies.scalar.outlier_pair.study import VARIABLES

ARTIFACTS = {
    "singh2026cracking": "Figure 8",
    "singh2024closed": "Figure 3",
    "singh2024poster": "Evolution of the outlier pair",
}


def entries_of(study, sides):
    return statements.entries(study, planted_data(sides, VARIABLES))


def measured(name, sides, paper="singh2024closed", artifact=None):
    study = Study("study", {"paper": paper, "artifact": artifact or ARTIFACTS[paper]})
    (entry,) = [entry for entry in entries_of(study, sides) if entry.id == f"study/{name}"]
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


def with_ends(sides, ordinary, high, momenta=(0.0,)):
    """With other initial weights that end so: side and share of λ₁, at high rates the path too."""
    columns = np.moveaxis(np.array(high, dtype=float), -1, 0)
    ends = {f"high_{name}": column for name, column in zip(ENDS, columns, strict=True)}
    ends |= {f"ordinary_{name}": np.array(ordinary)[..., k] for k, name in enumerate(ENDS[:2])}
    exact = sides["closed_form"].drop_dims(["input_scale", "high_momentum", "high_setting", "seed"])
    labels = {"input_scale": np.array([1.0]), "high_momentum": np.array(momenta)}
    planted = data_set(labels | ends, VARIABLES)
    return {**sides, "closed_form": exact.merge(planted)}


def ending(sides, ordinary=1.0, high=-1.0, path=(1.0, 5.0)):
    """With seeds whose small outlier ends on these sides of zero, and very near to it.

    Its path there: whether it drops at first, and how often its sign changes.
    """
    return with_ends(
        sides,
        np.tile([ordinary, 1e-9], (1, 20, 1)),
        np.tile([high, 1e-9, *path], (2, 1, 20, 1)),
        [0.0, 0.9],
    )


def of_run(run, **changes):
    """Changes of variables in one run alone, as ``changed`` takes them."""

    def at_run(change, values):
        values = values.copy()
        values[run] = change(values[run])
        return values

    return {name: partial(at_run, change) for name, change in changes.items()}


@pytest.fixture(scope="module")
def planted(beyond, early, from_above):
    def only(*runs):
        return outlier_pair_sides(networks=[*runs], steps=2)

    fails = [
        early,
        from_above,
        changed(beyond, "numerics", **of_run(1, numerical=lambda values: 1.001 * values)),
        changed(beyond, "closed_form", **of_run(0, phase=np.zeros_like)),
        changed(beyond, "closed_form", **of_run(0, squared_norm=lambda squares: 1.001 * squares)),
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


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


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
    high = np.stack([ends, ends[[3, 3, 4, 3, 3]]])
    high = np.concatenate([high, np.zeros_like(high)], axis=-1)[None]
    sides = with_ends(beyond, ends[None], high)
    assert measured(POSITIVE, sides)[1].value == 1 / 4
    assert measured(NEGATIVE, sides)[1].value == 2 / 5
    with pytest.raises(NothingToMeasure, match="no other initial weights from which training"):
        measured(NEGATIVE, with_ends(beyond, ends[None], np.full_like(high, np.nan)))


def test_a_path_has_three_parts(beyond):
    """Four seeds have all; no drop; a single passage; an end from above. The last diverges."""
    paths = np.array([[-1, 0, 1, 2], [-1, 0, 0, 9], [-1, 0, 1, 1], [1, 0, 1, 2], [np.nan] * 4])
    sides = with_ends(beyond, paths[None, :, :2], paths[None, None], [0.5])
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
    actual = sides["closed_form"].isel(high_setting=0)
    assert actual["high_momentum"].values.tolist() == [0.0, 0.9]
    for momentum in (0.0, 0.9):
        for seed in range(3):
            own = {"seed": seed, "initial_scale": 1.5, "momentum": momentum, "learning_rate": 0.4}
            run, small = run_of(**common | own | {"seeds": 0}, numeric_every=80)
            end = actual.sel(high_momentum=momentum, seed=seed)
            assert end["high_drops"] == (small[1] < small[0])
            crossings = np.count_nonzero(np.diff(np.sign(resolved(run))))
            assert abs(end["high_crossings"] - crossings) <= (small_share(run).min() < 1e-11)


def run_of(**changes):
    """The run of a linear network, and its λ₂."""
    run = outlier_pair_sides(**changes)["closed_form"].sel(run="linear")
    return run, pair(run)[1].values


def resolved(run):
    """λ₂ at those recorded steps at which it is more than round-off."""
    return pair(run)[1].values[small_share(run) > RESOLVED]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("scale", [0.75, 2.0])
def test_what_is_kept_of_a_seed_is_that_of_its_training(scale, momentum):
    settings = {"initial_scale": scale, "momentum": momentum, "learning_rate": 0.18}
    sides = outlier_pair_sides(
        networks=["linear"], **settings, steps=150, seed_steps=150, seeds=4, numeric_every=150
    )
    actual = sides["closed_form"].isel(input_scale=0)
    for seed in range(4):
        run, _ = run_of(networks=["linear"], **settings, steps=150, seed=seed, numeric_every=150)
        end, share = actual.sel(seed=seed), small_share(run)[-1]
        assert end["ordinary_share"] == pytest.approx(float(share), rel=1e-6, abs=1e-13)
        # Where the spectrum's own rounding does not decide the sign of the small outlier.
        if share > 1e-11:
            assert end["ordinary_side"] == np.sign(resolved(run)[-LAST:]).mean()


def test_a_training_that_diverges_has_no_end():
    sides = outlier_pair_sides(networks=["linear"], steps=2, seeds=3, high_settings=[[50.0, 5.0]])
    assert sides["closed_form"]["high_side"].isnull().all()


def test_beyond_the_solution_the_phase_is_divergent(beyond):
    run = beyond["closed_form"].sel(run="linear_high")
    negative = (pair(run)[1] < -1e-12).values
    assert {*run["phase"].values[negative]} == {"divergent"}
    assert negative.sum() > 20


def test_the_poster_formula_needs_the_second_moment(beyond):
    entry, value = measured("outlier-formula", beyond, "singh2024poster")
    assert value < 1e-10
    assert entry.measure_printed() > 0.1


def test_a_study_of_ones_own_inherits_no_statement_of_a_figure(early):
    study = Study("study", {"paper": "singh2024closed", "artifact": "my own"})
    own = [entry.id for entry in entries_of(study, early)]
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
