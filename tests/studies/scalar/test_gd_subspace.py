"""Which optimizers keep the bulk eigenspace, and that leaving it would be noticed."""

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra.studies.scalar.gd_subspace import claims
from hessian_spectra.studies.scalar.gd_subspace import figure as figures
from hessian_spectra.studies.scalar.gd_subspace import study as gd_subspace

STAYING = claims.PROVED + claims.EXTENDED
LEAVING = ("adam", "random_velocity")


def config(**changes):
    fields = {
        "kind": "gd_subspace",
        "paper": "singh2026cracking",
        "artifact": "Corollary 3.1",
        "title": "test",
        "data": "test",
        "seed": 0,
        "width": 4,
        "initial_scale": 1.0,
        "learning_rate": 0.05,
        "momentum": 0.9,
        "weight_decay": 0.02,
        "batch_size": 5,
        "adam_learning_rate": 0.02,
        "velocity_scale": 0.2,
        "steps": 40,
        "record_every": 2,
        "numeric_every": 5,
    }
    return gd_subspace.Config(**(fields | changes))


def sample(size=20):
    x, noise = np.random.default_rng(0).normal(size=(2, size))
    return {"x": x, "y": 0.8 * x + 0.3 * noise}


@pytest.fixture(scope="module")
def trained():
    return gd_subspace.train(config(), sample())


@pytest.fixture(scope="module")
def sides(trained):
    return gd_subspace.closed_form(config(), trained), gd_subspace.numerics(config(), trained)


def test_all_optimizers_start_alike_and_go_their_own_ways(trained):
    assert trained["optimizers"].tolist() == [*STAYING, *LEAVING]
    starts = {tuple(trained[f"{name}/v"][0]) for name in trained["optimizers"]}
    ends = {tuple(trained[f"{name}/v"][-1]) for name in trained["optimizers"]}
    assert len(starts) == 1
    assert len(ends) == len(trained["optimizers"])
    assert all(trained[f"{name}/diverged_at"] == -1 for name in trained["optimizers"])


def test_training_is_reproducible(trained):
    again = gd_subspace.train(config(), sample())
    for name, array in trained.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)


@pytest.mark.parametrize("name", STAYING)
@pytest.mark.parametrize("key", ["iterate", "rotation"])
def test_those_that_combine_linearly_stay(name, key, sides):
    exact, numeric = sides
    assert exact[f"{name}/{key}"].max() < 1e-13
    # Numerical eigenvectors are known to round-off over the gap, 1e-16 / 1e-5.
    assert numeric[f"{name}/{key}"].max() < 1e-10
    assert numeric[f"{name}/invariance"].max() < 1e-13


@pytest.mark.parametrize("name", LEAVING)
def test_the_others_leave_and_both_sides_see_the_same(name, sides):
    exact, numeric = sides
    rows = np.searchsorted(exact[f"{name}/step"], numeric[f"{name}/step"])
    assert exact[f"{name}/iterate"].max() > 0.01
    np.testing.assert_allclose(
        exact[f"{name}/iterate"][rows], numeric[f"{name}/iterate"], atol=1e-12
    )
    resolved = numeric[f"{name}/resolved"]
    assert resolved.sum() > 2
    np.testing.assert_allclose(
        exact[f"{name}/rotation"][rows][resolved],
        numeric[f"{name}/rotation"][resolved],
        atol=1e-9,
    )


def test_the_claims_hold_and_are_well_formed(sides):
    for claim in claims.claims("study"):
        assert claim.problems() == []
        value = claim.measure(*sides)
        assert holds(value, claim.relation, claim.expected, claim.tolerance), claim.id


@pytest.mark.parametrize(
    ("name", "side", "key"),
    [
        ("spectrum", 1, "sgd/eigenvalues"),
        ("iterates-orthogonal", 0, "gradient_descent/iterate"),
        ("bulk-constant", 0, "gradient_descent/rotation"),
        ("iterates-orthogonal-extended", 0, "nesterov/iterate"),
        ("bulk-constant-extended", 0, "heavy_ball/rotation"),
        ("bulk-invariant", 1, "weight_decay/invariance"),
        ("bulk-overlap", 1, "sgd/overlap"),
    ],
)
def test_a_departure_would_be_noticed(name, side, key, sides):
    changed = list(sides)
    shift = -1e-6 if key.endswith("overlap") else 1e-6
    changed[side] = changed[side] | {key: changed[side][key] + shift}
    (claim,) = [claim for claim in claims.claims("study") if claim.id == f"study/{name}"]
    assert not holds(claim.measure(*changed), claim.relation, claim.expected, claim.tolerance)


def test_nothing_resolved_is_not_a_success(sides):
    exact, numeric = sides
    unresolved = {name: np.zeros_like(a) for name, a in numeric.items() if "resolved" in name}
    (claim,) = [claim for claim in claims.claims("study") if claim.id == "study/bulk-overlap"]
    assert np.isnan(claim.measure(exact, numeric | unresolved))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 1}, "width: expected at least 2 .*, got 1"),
        ({"initial_scale": 0.0}, "initial_scale: expected a positive number"),
        ({"learning_rate": -0.1}, "learning_rate: expected a positive number"),
        ({"momentum": 0.0}, r"momentum: expected a number in \(0, 1\)"),
        ({"weight_decay": 0.0}, "weight_decay: expected a positive number"),
        ({"adam_learning_rate": 0.0}, "adam_learning_rate: expected a positive number"),
        ({"velocity_scale": 0.0}, "velocity_scale: expected a positive number"),
        ({"batch_size": 0}, "batch_size: expected at least 1"),
        ({"steps": 0}, "steps: expected at least 1"),
        ({"record_every": 0}, "record_every: expected at least 1"),
        ({"numeric_every": 0}, "numeric_every: expected at least 1"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_a_batch_larger_than_the_data_is_named():
    with pytest.raises(ValueError, match="batch_size: expected between 1 and 20, got 21"):
        gd_subspace.train(config(batch_size=21), sample())


def test_data_with_several_features_are_refused():
    with pytest.raises(ValueError, match="data: expected a data set with one feature per sample"):
        gd_subspace.train(config(), {"x": np.ones((20, 2)), "y": np.ones(20)})


def test_the_figure_shows_every_optimizer(sides):
    exact, numeric = sides
    iterate, rotation, invariance, error = figures.draw(exact, numeric).axes
    assert len(iterate.lines) == len(rotation.lines) == 2 * len(exact["optimizers"])
    assert len(invariance.lines) == len(exact["optimizers"])
    points = sum(len(line.get_xdata()) for line in error.lines[:-1])
    assert points == sum(len(numeric[f"{name}/step"]) for name in exact["optimizers"])
    assert f"{exact['adam/iterate'].max():.2g} and" in figures.caption(exact, numeric)
