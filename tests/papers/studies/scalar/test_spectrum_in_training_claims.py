"""The claims about the spectrum in training, and that departures from them would be noticed."""

from functools import partial

import numpy as np
import pytest
from claims_contract import Kind, Planted, changed, contract
from spectrum_in_training_sides import (
    COORDINATES,
    EIGENSPACE,
    PAIR,
    linear,
    pair_sides,
    sides,
    three_features,
)

from hessian_papers.labelled import data_set
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.scalar.spectrum_in_training.claims import EXTENDED, statements
from hessian_papers.studies.scalar.spectrum_in_training.derived import (
    LAST,
    RESOLVED,
    pair,
    small_share,
)
from hessian_papers.studies.scalar.spectrum_in_training.paths import ENDS
from hessian_papers.studies.scalar.spectrum_in_training.study import VARIABLES

ARTIFACTS = {
    "singh2026cracking": "Figure 8",
    "singh2024closed": "Figure 3",
    "singh2024poster": "Evolution of the outlier pair",
}
ABOUT_SPACES = {"paper": "singh2026cracking", "artifact": "Corollary 3.1"}
ABOUT_COORDINATES = {"paper": "singh2026cracking", "artifact": "Corollary B.1 on real data"}


KIND = Kind(statements, VARIABLES)


def measured(name, made, paper="singh2024closed", artifact=None):
    entry = KIND.entries(made, paper, artifact or ARTIFACTS[paper])[name]
    return entry, entry.measure()


@pytest.fixture(scope="module")
def beyond():
    """The third run starts at ⟨w, v⟩ > θ*, with steps too small to jump back over θ*."""
    high = {"learning_rate": 0.1, "initial_scale": 2.0}
    return pair_sides(seed=4, high=high, numeric_every=30)


@pytest.fixture(scope="module")
def early():
    """A few steps from the start: no run is near the solution."""
    return pair_sides(steps=3, high={"learning_rate": 0.1})


@pytest.fixture(scope="module")
def from_above():
    """The second run is like the first, which reaches zero from above."""
    return sides(PAIR, runs=linear(learning_rate=0.5), steps=60, numeric_every=30)


def with_ends(made, ordinary, high, momenta=(0.0,)):
    """With other initial weights that end so: side and share of λ₁, at high rates the path too."""
    columns = np.moveaxis(np.array(high, dtype=float), -1, 0)
    ends = {f"high_{name}": column for name, column in zip(ENDS, columns, strict=True)}
    ends |= {f"ordinary_{name}": np.array(ordinary)[..., k] for k, name in enumerate(ENDS[:3])}
    exact = made["closed_form"].drop_dims(["input_scale", "high_momentum", "high_setting", "seed"])
    settings = np.array(["0.1, 1", "0.2, 1"][: np.shape(high)[1]], np.str_)
    labels = {"input_scale": np.array([1.0]), "high_momentum": np.array(momenta)}
    labels |= {"high_setting": settings, "seed": np.arange(np.shape(ordinary)[1])}
    planted = data_set(labels | ends, VARIABLES)
    return {**made, "closed_form": exact.merge(planted)}


def ending(made, ordinary=1.0, high=-1.0, path=(5.0, 1.0)):
    """With seeds whose small outlier ends on these sides of zero, and very near to it.

    Its path there: how often its sign changes, and whether it drops at first.
    """
    return with_ends(
        made,
        np.tile([ordinary, 1e-9, 1.0], (1, 20, 1)),
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
def of_the_pair(beyond, early, from_above):
    fails = [
        early,
        from_above,
        changed(beyond, "numerics", **of_run(1, numerical=lambda values: 1.001 * values)),
        changed(beyond, "numerics", numerical=lambda values: values + 1e-3),
        changed(beyond, "closed_form", **of_run(0, phase=np.zeros_like)),
        changed(beyond, "closed_form", predicted_small=lambda values: values + 1e-6),
        changed(beyond, "closed_form", **of_run(0, flow_sharpness=lambda ends: 0.99 * ends)),
        changed(beyond, "closed_form", **of_run(0, squared_norm=lambda squares: 1.001 * squares)),
    ]
    relu = {"relu": {"network": "relu"}}
    reduced = [
        sides(PAIR, runs=linear(), steps=2),
        sides(PAIR, runs=relu, steps=2),
        sides(PAIR, runs=linear(), width=1, steps=1),
    ]
    return [
        Planted(
            paper=paper,
            artifact=artifact,
            holds=ending(beyond),
            fails=[ending(wrong, ordinary=-1.0, high=1.0, path=(1.0, 0.0)) for wrong in fails],
            reduced=reduced,
        )
        for paper, artifact in ARTIFACTS.items()
    ]


# For each case a variable of an optimizer, and what a small departure of it looks like.
DEPARTURES = {
    "spectrum": ("numerics", "numerical", "sgd", 1e-6),
    "iterates-orthogonal": ("closed_form", "iterate", "gradient_descent", 1e-6),
    "bulk-constant": ("closed_form", "rotation", "gradient_descent", 1e-6),
    "iterates-orthogonal-extended": ("closed_form", "iterate", "nesterov", 1e-6),
    "bulk-constant-extended": ("closed_form", "rotation", "heavy_ball", 1e-6),
    "bulk-invariant": ("numerics", "invariance", "weight_decay", 1e-6),
    "bulk-overlap": ("numerics", "overlap", "sgd", -1e-6),
    "adam-leaves": ("numerics", "numerical_iterate", "adam", -1.0),
    "random-velocity-leaves": ("numerics", "numerical_iterate", "random_velocity", -1.0),
}
# Both stand on the side of the closed form, and optimizers that are not covered violate them.
TRAINED = {
    f"{name}{extended}": "the weights of each step of a training against the first one's directions"
    for name in ("iterates-orthogonal", "bulk-constant")
    for extended in ("", "-extended")
}


@pytest.fixture(scope="module")
def spaces():
    return sides(EIGENSPACE)


def departed(made, side, variable, optimizer, shift):
    run = [*EIGENSPACE["runs"]].index(optimizer)
    return changed(made, side, **of_run(run, **{variable: lambda values: values + shift}))


@pytest.fixture(scope="module")
def of_eigenspaces(spaces):
    return Planted(
        **ABOUT_SPACES,
        of_theory=TRAINED,
        holds=spaces,
        fails=[departed(spaces, *departure) for departure in DEPARTURES.values()],
        reduced=[sides(EIGENSPACE, width=2, steps=1), sides(EIGENSPACE, runs={"sgd": {}})],
    )


@pytest.fixture(scope="module")
def of_coordinates():
    holds = sides(COORDINATES)
    return Planted(
        **ABOUT_COORDINATES,
        holds=holds,
        fails=[
            changed(holds, "numerics", numerical=lambda values: 1.001 * values),
            sides(COORDINATES, three_features(correlated=False)),
        ],
        reduced=[sides(COORDINATES, width=1), sides(COORDINATES, steps=1)],
    )


@pytest.fixture(scope="module")
def planted(of_the_pair, of_eigenspaces, of_coordinates):
    return [*of_the_pair, of_eigenspaces, of_coordinates]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_a_departure_of_one_optimizer_breaks_its_own_case_alone(spaces):
    for name, departure in DEPARTURES.items():
        entries = KIND.entries(departed(spaces, *departure), **ABOUT_SPACES)
        broken = [case for case, e in entries.items() if not e.bound.holds(e.measure())]
        assert broken == [name]


@pytest.mark.parametrize("optimizer", EXTENDED)
@pytest.mark.parametrize(
    ("name", "array"),
    [("iterates-orthogonal-extended", "iterate"), ("bulk-constant-extended", "rotation")],
)
def test_the_extension_is_about_each_of_its_optimizers(optimizer, name, array, spaces):
    far = departed(spaces, "closed_form", array, optimizer, 1e-6)
    assert measured(name, far, **ABOUT_SPACES)[1] == pytest.approx(1e-6)


def test_nothing_resolved_is_not_a_success(spaces):
    nowhere = changed(spaces, "numerics", overlap=lambda values: np.full_like(values, np.nan))
    with pytest.raises(NothingToMeasure, match="a step at which the bulk can be told"):
        measured("bulk-overlap", nowhere, **ABOUT_SPACES)


def test_width_one_has_no_bulk_to_measure():
    with pytest.raises(NothingToMeasure, match="this configuration has width 1"):
        measured("bulk", sides(COORDINATES, width=1), **ABOUT_COORDINATES)


POSITIVE = "reaches-zero-from-the-positive-side-1"


def test_with_momentum_it_reaches_zero_from_both_sides_from_all_initial_weights():
    often = {"learning_rate": 0.18, "steps": 300, "numeric_every": 50}
    heavy_ball = sides(PAIR, runs=linear(0.9), **often, seeds=5, seed_steps=600)
    entry, share = measured(POSITIVE, heavy_ball)
    assert share.value == 0
    assert "underdamped" in entry.explanation
    assert measured("changes-sign", heavy_ball)[1] == 1
    assert measured("phases", heavy_ball)[1] == 0


def test_the_share_is_of_the_seeds_that_converge_and_reach_zero(beyond):
    """One does all of it: others start positive, are not there yet, end below, or diverge."""
    ends = [[1, 1e-9, 1], [1, 1e-9, 2], [1, 1e-3, 1], [-1, 1e-9, 1], [np.nan] * 3]
    made = with_ends(beyond, [ends], np.full((1, 1, 5, 4), np.nan))
    assert measured(POSITIVE, made)[1].value == 1 / 4
    with pytest.raises(NothingToMeasure, match="no other initial weights from which training"):
        measured("path-0-0.1-1", made)


def test_only_the_whole_path_counts(beyond):
    """One seed has all; no drop; a single passage; an end from above. The last diverges."""
    paths = [[-1, 0, 2, 1], [-1, 0, 9, 0], [-1, 0, 1, 1], [1, 0, 2, 1], [np.nan] * 4]
    made = with_ends(beyond, [[each[:3] for each in paths]], [[paths]], [0.5])
    entry, share = measured("path-0.5-0.1-1", made)
    assert share.value == 1 / 4
    assert entry.labels == {"momentum": "0.5", "rate": "0.1", "scale": "1"}


def test_a_path_is_that_of_a_training():
    """At the high run's rate, and with the ordinary momentum."""
    common = {"width": 3, "steps": 80, "seed_steps": 80, "numeric_every": 80}
    highs = {"high_momenta": [0.0, 0.9], "high_settings": [[0.4, 1.5]]}
    made = sides(PAIR, runs=linear(0.9), **common, **highs, seeds=2)
    actual = made["closed_form"].isel(high_setting=0)
    for momentum in (0.0, 0.9):
        for seed in range(2):
            own = {"seed": seed, "initial_scale": 1.5, "learning_rate": 0.4}
            run, small = run_of(momentum, **common, **own)
            end = actual.sel(high_momentum=momentum, seed=seed)
            assert end["high_drops"] == (small[1] < small[0])
            crossings = np.count_nonzero(np.diff(np.sign(resolved(run))))
            assert abs(end["high_crossings"] - crossings) <= (small_share(run).min() < 1e-11)


def run_of(momentum, **changes):
    """The run of a linear network, and its λ₂."""
    run = sides(PAIR, runs=linear(momentum), **changes)["closed_form"].sel(run="linear")
    return run, pair(run)[1].values


def resolved(run):
    """λ₂ at those recorded steps at which it is more than round-off."""
    return pair(run)[1].values[small_share(run) > RESOLVED]


@pytest.mark.parametrize(("scale", "momentum"), [(0.75, 0.9), (2.0, 0.0)])
def test_what_is_kept_of_a_seed_is_that_of_its_training(scale, momentum):
    settings = {"initial_scale": scale, "learning_rate": 0.18, "steps": 150, "numeric_every": 150}
    made = sides(PAIR, runs=linear(momentum), **settings, seed_steps=150, seeds=2)
    actual = made["closed_form"].isel(input_scale=0)
    for seed in range(2):
        run, _ = run_of(momentum, **settings, seed=seed)
        end, share = actual.sel(seed=seed), small_share(run)[-1]
        assert end["ordinary_share"] == pytest.approx(float(share), rel=1e-6, abs=1e-13)
        # Where the spectrum's own rounding does not decide the sign of the small outlier.
        if share > 1e-11:
            assert end["ordinary_side"] == np.sign(resolved(run)[-LAST:]).mean()


def test_a_training_that_diverges_has_no_end():
    made = sides(PAIR, runs=linear(), steps=2, seeds=3, high_settings=[[50.0, 5.0]])
    assert made["closed_form"]["high_side"].isnull().all()


def test_beyond_the_solution_the_phase_is_divergent(beyond):
    run = beyond["closed_form"].sel(run="linear_high")
    negative = (pair(run)[1] < -1e-12).values
    assert {*run["phase"].values[negative]} == {"divergent"}
    assert negative.sum() > 20


def test_the_claims_stand_where_each_paper_has_them(early):
    entry, _ = measured("pair-sum", early, "singh2024poster")
    assert entry.heading.id == "linear-trace-form"
    assert entry.heading.places == {
        "singh2026cracking": "appendix C, equation (122)",
        "singh2024closed": "section 1, equation (2)",
        "singh2024poster": "Outlier eigenvalues exist as pairs",
    }
    side, _ = measured(POSITIVE, ending(early), "singh2024poster")
    assert side.heading.places == {"singh2024closed": "section 2, text on Figure 3"}


@pytest.mark.parametrize("changes", [{"width": 1}, {"learning_rate": 30.0}])
def test_the_spectrum_is_exact_at_width_one_and_where_a_run_diverges(changes):
    assert measured("spectrum", sides(PAIR, runs=linear(), steps=5, **changes))[1] < 1e-10


@pytest.mark.parametrize("each", ["large", "small", "bulk", "loss"])
def test_the_course_is_predicted_in_each_of_its_parts(each, beyond):
    name = "course-from-its-start"
    assert measured(name, beyond)[1] < 1e-12
    shifted = {f"predicted_{each}": lambda values: values * (1 + 1e-6) + 1e-7}
    assert measured(name, changed(beyond, "closed_form", **shifted))[1] > 1e-9


def test_with_momentum_nothing_is_said_of_the_end_of_the_flow():
    made = sides(PAIR, runs=linear(momentum=0.9), steps=5)
    assert not {"descent-ends-no-sharper-than-flow"} & {
        *KIND.entries(made, "singh2026cracking", ARTIFACTS["singh2026cracking"])
    }
    assert measured("course-from-its-start", made)[1] < 1e-12
