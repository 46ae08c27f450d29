"""Every data set of conf/data is as its settings say, the same each time; bad ones are refused."""

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[3]
CONFIGS = sorted((ROOT / "conf" / "data").glob("*.yaml"))
# As they are composed, at the scale that is the default.
SETTINGS = yaml.safe_load((ROOT / "params.yaml").read_text("utf-8"))["data"]["sets"]
# Images and text have arrays of their own: tests/papers/data/test_images.py and test_text.py.
REGRESSIONS = [path for path in CONFIGS if SETTINGS[path.stem]["kind"] not in ("images", "text")]


def config_of(kind, **changes):
    """The settings of a data set of a kind, with changes."""
    module = importlib.import_module(f"hessian_papers.data.{kind}")
    fields = next(fields for fields in SETTINGS.values() if fields["kind"] == kind)
    return dataclasses.replace(module.Config(**fields), **changes)


def made(kind, **changes):
    """The data set of these settings."""
    config = config_of(kind, **changes)
    return importlib.import_module(f"hessian_papers.data.{kind}").make(config)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_file_names_its_place(path):
    assert path.read_text().startswith(f"# @package data.sets.{path.stem}\n")


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_config_file_builds_finite_float64_data(path):
    fields = SETTINGS[path.stem]
    arrays = made(**fields)
    assert set(arrays) == {"x", "y"}
    for array in arrays.values():
        assert array.dtype == np.float64
        assert np.isfinite(array).all()
    assert len(arrays["x"]) == len(arrays["y"]) > 0
    again = made(**fields)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)
    if fields.get("size"):
        other = made(**fields | {"seed": fields["seed"] + 1})
        assert np.isclose(arrays["x"], other["x"]).mean() < 0.01


def test_gaussian_inputs_have_the_variance_and_targets_do_not_depend_on_it():
    narrow, wide = (
        made("gaussian_regression", size=20000, input_variance=variance) for variance in (1.0, 9.0)
    )
    # Three standard errors of a sample variance: 3 sqrt(2 / 20000).
    assert np.mean(wide["x"] ** 2) == pytest.approx(9.0, rel=0.03)
    assert np.mean(wide["y"] ** 2) == pytest.approx(1.0, rel=0.03)
    np.testing.assert_allclose(wide["x"], 3 * narrow["x"], rtol=1e-15)
    assert np.array_equal(wide["y"], narrow["y"])
    # Three standard errors of a correlation: 3 / sqrt(20000).
    assert abs(np.corrcoef(wide["x"], wide["y"])[0, 1]) < 0.022


def test_features_and_target_are_standard_and_independent():
    arrays = made("gaussian_features", seed=1, size=4000, features=3)
    table = np.column_stack([arrays["x"], arrays["y"]])
    assert table.shape == (4000, 4)
    # Four standard errors of a second moment.
    np.testing.assert_allclose(table.T @ table / 4000, np.eye(4), atol=4 * np.sqrt(2 / 4000))


def test_wedge_has_its_slopes_and_both_sides():
    slopes = {"slope_plus": 3.0, "slope_minus": -0.5, "noise": 0.0}
    data = made("wedge", seed=0, size=50, half_width=2.0, **slopes)
    x, y = data["x"].values, data["y"].values
    assert np.abs(x).max() < 2.0
    assert 0 < (x > 0).sum() < 50
    np.testing.assert_allclose(y, np.where(x > 0, 3.0, -0.5) * x, rtol=1e-15)
    assert np.mean(y * x) > 0


def test_diabetes_is_standardised_keeps_its_correlations_and_has_each_feature_alone():
    from sklearn.datasets import load_diabetes

    everything = made("table")
    x, y = everything["x"].values, everything["y"].values
    assert x.shape == (442, 10)
    for columns in (x, y[:, None]):
        np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose((columns**2).mean(axis=0), 1, rtol=1e-13)
    assert abs(np.corrcoef(x.T) - np.eye(10)).max() > 0.5
    assert everything["feature"].values.tolist() == load_diabetes()["feature_names"]
    for feature in everything["feature"].values.tolist():
        single = made("table", columns=[feature])
        assert np.array_equal(single["x"], everything["x"].sel(feature=feature))
        assert np.array_equal(single["y"], y)


@pytest.mark.parametrize(("dimension", "shape"), [(1, (4, 3)), (2, (4, 3, 2))])
def test_sequences_have_an_axis_for_embeddings_only_if_asked(dimension, shape):
    settings = {"batch": 4, "length": 3, "embedding_dimension": dimension}
    assert made("sequences", target="gaussian", **settings)["y"].shape == shape
    reversal = made("sequences", target="reversal", **settings)
    assert np.array_equal(reversal["y"], reversal["x"][:, ::-1])


def test_listed_sequences_are_those_and_their_targets_are_these_backwards():
    arrays = made("listed_sequences", sequences=[[1, -2, 3.5], [4, 5, 6]])
    assert arrays["x"].dtype == np.float64
    np.testing.assert_array_equal(arrays["x"], [[1, -2, 3.5], [4, 5, 6]])
    np.testing.assert_array_equal(arrays["y"], [[3.5, -2, 1], [6, 5, 4]])


NO_SEQUENCES = ([], [[]], [[1.0], [1.0, 2.0]], [[1.0, float("nan")]], [[1.0, "a"]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        *(("listed_sequences", {"sequences": sequences}) for sequences in NO_SEQUENCES),
        ("listed_sequences", {"sequences": [[0.0, 0.0], [0.0, 0.0]]}),
        ("listed_sequences", {"sequences": [[1.0, 2e6]]}),
        ("wedge", {"slope_plus": float("inf")}),
        ("wedge", {"slope_minus": -2.0}),
        ("wedge", {"slope_minus": -2e6}),
        ("wedge", {"noise": -0.1}),
        ("wedge", {"noise": 2e6}),
        ("table", {"file": "houses.xlsx"}),
        ("table", {"target": []}),
        ("table", {"target": ["bmi", "bmi"]}),
        ("table", {"columns": ["bmi", "target"]}),
        ("table", {"columns": ["bmi", "bmi"]}),
        ("table", {"inputs": "normalised"}),
        ("table", {"targets": "whitened"}),
        ("table", {"size": -1}),
        ("table", {"delimiter": "::"}),
        ("text", {"sources": []}),
        ("text", {"sources": ["own.md"]}),
        ("text", {"sources": ["own.txt", "openwebtext"]}),
        ("text", {"tokenizer": "  "}),
        ("text", {"tokenizer": "bpe", "sources": ["openwebtext"]}),
    ],
)
def test_bad_settings_are_refused_in_one_line(kind, change):
    expected = f"^{next(iter(change))}: expected .*, got .*$"
    with pytest.raises(ValueError, match=expected) as error:
        config_of(kind, **change)
    assert "\n" not in str(error.value)
