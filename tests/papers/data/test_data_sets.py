"""Data sets are as their settings say."""

import numpy as np
import pytest

from hessian_papers.data import diabetes, gaussian_regression, sequences, wedge


def test_gaussian_inputs_have_the_variance_and_targets_do_not_depend_on_it():
    narrow, wide = (
        gaussian_regression.make(
            gaussian_regression.Config(
                kind="gaussian_regression", seed=1, size=20000, input_variance=variance
            )
        )
        for variance in (1.0, 9.0)
    )
    # Three standard errors of a sample variance: 3 sqrt(2 / 20000).
    assert np.mean(wide["x"] ** 2) == pytest.approx(9.0, rel=0.03)
    assert np.mean(wide["y"] ** 2) == pytest.approx(1.0, rel=0.03)
    np.testing.assert_allclose(wide["x"], 3 * narrow["x"], rtol=1e-15)
    assert np.array_equal(wide["y"], narrow["y"])
    # Three standard errors of a correlation: 3 / sqrt(20000).
    assert abs(np.corrcoef(wide["x"], wide["y"])[0, 1]) < 0.022


def test_a_seed_changes_the_draw():
    first, second = (
        gaussian_regression.make(
            gaussian_regression.Config(
                kind="gaussian_regression", seed=seed, size=5, input_variance=1.0
            )
        )
        for seed in (0, 1)
    )
    assert not np.isclose(first["x"], second["x"]).any()
    assert not np.isclose(first["y"], second["y"]).any()


def test_wedge_has_its_slopes_and_both_sides():
    config = wedge.Config(
        kind="wedge", seed=0, size=50, half_width=2.0, slope_plus=3.0, slope_minus=-0.5, noise=0.0
    )
    data = wedge.make(config)
    x, y = data["x"].values, data["y"].values
    assert np.abs(x).max() < 2.0
    assert 0 < (x > 0).sum() < 50
    np.testing.assert_allclose(y[x > 0], 3.0 * x[x > 0], rtol=1e-15)
    np.testing.assert_allclose(y[x <= 0], -0.5 * x[x <= 0], rtol=1e-15)
    assert np.mean(y * x) > 0


def test_diabetes_is_standardised_and_keeps_the_correlation_of_its_features():
    everything = diabetes.make(diabetes.Config(kind="diabetes", seed=0, feature="all"))
    assert everything["feature"].values.tolist() == [*diabetes.FEATURES]
    x, y = everything["x"].values, everything["y"].values
    assert x.shape == (442, 10)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose((x**2).mean(axis=0), 1, rtol=1e-13)
    assert y.mean() == pytest.approx(0, abs=1e-13)
    assert np.mean(y**2) == pytest.approx(1, rel=1e-13)
    assert abs(np.corrcoef(x.T) - np.eye(10)).max() > 0.5


@pytest.mark.parametrize("feature", diabetes.FEATURES)
def test_a_diabetes_feature_is_a_column_of_all(feature):
    single = diabetes.make(diabetes.Config(kind="diabetes", seed=0, feature=feature))
    everything = diabetes.make(diabetes.Config(kind="diabetes", seed=0, feature="all"))
    column = everything["x"].sel(feature=feature)
    assert np.array_equal(single["x"], column)
    assert np.array_equal(single["y"], everything["y"])


def test_the_names_of_the_diabetes_features_are_those_of_the_files():
    from sklearn.datasets import load_diabetes

    assert tuple(load_diabetes()["feature_names"]) == diabetes.FEATURES


def test_sequences_have_an_axis_for_embeddings_only_if_asked():
    def make(dimension, target):
        return sequences.make(
            sequences.Config(
                kind="sequences",
                seed=0,
                batch=4,
                length=3,
                embedding_dimension=dimension,
                target=target,
            )
        )

    assert make(1, "gaussian")["x"].shape == (4, 3)
    assert make(2, "gaussian")["y"].shape == (4, 3, 2)
    scalar, vector = make(1, "reversal"), make(2, "reversal")
    assert np.array_equal(scalar["y"], scalar["x"][:, ::-1])
    assert np.array_equal(vector["y"], vector["x"][:, ::-1])
