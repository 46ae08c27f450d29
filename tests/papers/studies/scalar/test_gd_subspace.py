"""Which optimizers keep the bulk eigenspace, by theory and by numerical eigenvectors."""

import numpy as np
import pytest
from samples import samples
from trainings import gd_subspace_config as config
from trainings import gd_subspace_sides, line

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.gd_subspace import study
from hessian_papers.studies.scalar.gd_subspace.claims import STAYING

# The proof says nothing of these.
LEAVING = ("adam", "random_velocity")


@pytest.fixture(scope="module")
def trained():
    return study.train(config(), line())


@pytest.fixture(scope="module")
def data():
    return joined([*gd_subspace_sides().values()])


def test_all_optimizers_start_alike_and_go_their_own_ways(trained):
    assert trained["optimizer"].values.tolist() == [*STAYING, *LEAVING]
    starts, ends = (
        {tuple(v) for v in trained["v"].isel(step=place).values.tolist()} for place in (0, -1)
    )
    assert len(starts) == 1
    assert len(ends) == trained.sizes["optimizer"]
    assert (trained["diverged_at"] == -1).all()


def test_training_is_reproducible(trained):
    assert trained.identical(study.train(config(), line()))


@pytest.mark.parametrize("name", STAYING)
@pytest.mark.parametrize("key", ["iterate", "rotation"])
def test_those_that_combine_linearly_stay(name, key, data):
    run = data.sel(optimizer=name)
    assert run[key].max() < 1e-13
    # Numerical eigenvectors are known to round-off over the gap, 1e-16 / 1e-5.
    assert run[f"numerical_{key}"].max() < 1e-10
    assert run["invariance"].max() < 1e-13


@pytest.mark.parametrize("name", LEAVING)
def test_the_others_leave_and_both_sides_see_the_same(name, data):
    run = data.sel(optimizer=name)
    assert run["iterate"].max() > 0.01
    for key, tolerance in (("iterate", 1e-12), ("rotation", 1e-9)):
        numerical = run[f"numerical_{key}"].dropna("step")
        assert len(numerical) > 2
        np.testing.assert_allclose(run[key].sel(step=numerical["step"]), numerical, atol=tolerance)


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
        study.train(config(batch_size=21), line())


def test_data_with_several_features_are_refused():
    with pytest.raises(ValueError, match="data: expected a data set with one feature per sample"):
        study.train(config(), samples(np.ones((20, 2)), np.ones(20)))
