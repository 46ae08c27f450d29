"""Several correlated inputs in training: what is recorded, and what is refused."""

import numpy as np
import pytest
from samples import samples
from trainings import multi_input_config as config
from trainings import multi_input_sides, three_features

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.multi_input_training import study
from hessian_papers.studies.spectra import error, group
from hessian_papers.studies.trainings import compared


def data_of(*correlated, **changes):
    return joined([*multi_input_sides(*correlated, **changes).values()])


@pytest.fixture(scope="module")
def data():
    return data_of()


def test_arrays_have_one_row_a_step(data):
    assert data["step"].values.tolist() == [0, 4, 8, 12, 16, 20]
    assert compared(data)["step"].values.tolist() == [0, 8, 16]
    assert data["exact"].shape == data["decorrelated"].shape == (6, 18)
    assert data["kind"].shape == data["cell"].shape == (6, 18)


def test_recorded_weights_are_the_networks():
    trained = study.train(config(), three_features())
    x, y = trained["x"].values, trained["y"].values
    outputs = np.einsum("nd,rdm,rdm->rn", x, trained["v"].values, trained["w"].values)
    np.testing.assert_allclose(np.mean((outputs - y) ** 2, axis=1) / 2, trained["loss"])
    assert (np.diff(trained["loss"]) < 0).all()


def test_outliers_and_bulk_make_up_the_spectrum(data):
    outliers, bulk = group(data, "outlier"), group(data, "bulk")
    assert outliers.shape == (6, 6)
    assert bulk.shape == (6, 12)
    together = np.concatenate([outliers, bulk], axis=1)
    np.testing.assert_array_equal(np.sort(together, axis=1), data["exact"])


def test_without_correlations_both_forms_agree():
    data = compared(data_of(False))
    for form in ("decorrelated", "exact"):
        assert error(data.assign(exact=data[form])).max() < 1e-12


def test_width_one_is_the_diagonal_network_without_bulk():
    data = data_of(width=1)
    assert group(data, "bulk").shape == (6, 0)
    assert error(compared(data)).max() < 1e-12


def test_a_run_that_diverges_keeps_what_it_had():
    exact = multi_input_sides(learning_rate=20.0)["closed_form"]
    assert 0 < exact["diverged_at"] <= 20
    for name, array in exact.variables.items():
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
        study.train(config(), samples(np.ones(5), np.ones(5)))
