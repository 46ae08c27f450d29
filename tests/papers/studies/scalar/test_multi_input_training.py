"""Several correlated inputs in training: what is recorded, and what is refused."""

import numpy as np
import pytest
from trainings import multi_input_config as config
from trainings import multi_input_sides, three_features

from hessian_papers.studies.scalar.multi_input_training import study
from hessian_papers.studies.scalar.multi_input_training.reading import Reading


@pytest.fixture(scope="module")
def sides():
    return multi_input_sides()


def test_arrays_have_one_row_a_step(sides):
    exact, numeric = sides["closed_form"], sides["numerics"]
    assert exact["step"].tolist() == [0, 4, 8, 12, 16, 20]
    assert numeric["step"].tolist() == [0, 8, 16]
    assert exact["eigenvalues"].shape == exact["decorrelated"].shape == (6, 18)
    assert exact["kind"].shape == exact["cell"].shape == (6, 18)


def test_recorded_weights_are_the_networks():
    trained = study.train(config(), three_features())
    x, y = trained["x"], trained["y"]
    outputs = np.einsum("nd,rdm,rdm->rn", x, trained["v"], trained["w"])
    np.testing.assert_allclose(np.mean((outputs - y) ** 2, axis=1) / 2, trained["loss"])
    assert (np.diff(trained["loss"]) < 0).all()


def test_outliers_and_bulk_make_up_the_spectrum(sides):
    reading = Reading(sides)
    assert reading.select("outlier").shape == (6, 6)
    assert reading.select("bulk").shape == (6, 12)
    together = np.concatenate([reading.select("outlier"), reading.select("bulk")], axis=1)
    np.testing.assert_array_equal(np.sort(together, axis=1), sides["closed_form"]["eigenvalues"])


def test_without_correlations_both_forms_agree():
    reading = Reading(multi_input_sides(correlated=False))
    assert reading.errors("decorrelated").max() < 1e-12
    assert reading.errors().max() < 1e-12


def test_width_one_is_the_diagonal_network_without_bulk():
    reading = Reading(multi_input_sides(width=1))
    assert reading.select("bulk").shape == (6, 0)
    assert reading.errors().max() < 1e-12


def test_a_run_that_diverges_keeps_what_it_had():
    sides = multi_input_sides(learning_rate=20.0)
    assert 0 < Reading(sides).diverged_at <= 20
    for name, array in sides["closed_form"].items():
        assert array.dtype.kind == "U" or np.isfinite(array).all(), name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"steps": 0}, "steps: expected at least 1"),
        ({"record_every": 0}, "record_every: expected at least 1"),
        ({"numeric_every": 0}, "numeric_every: expected at least 1"),
        ({"initial_scale": -1.0}, "initial_scale: expected a positive number from 1e-06"),
        ({"learning_rate": 0.0}, "learning_rate: expected a positive number"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_data_with_a_single_feature_are_refused():
    with pytest.raises(
        ValueError, match="data: expected a data set with several features per sample"
    ):
        study.train(config(), {"x": np.ones(5), "y": np.ones(5)})
