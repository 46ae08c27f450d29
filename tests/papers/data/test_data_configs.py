"""Every data set of conf/data builds, the same one each time, and bad settings are refused."""

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest
import yaml

CONFIGS = sorted((Path(__file__).parents[3] / "conf" / "data").glob("*.yaml"))
# As they are composed, at the scale that is the default.
SETTINGS = yaml.safe_load((Path(__file__).parents[3] / "params.yaml").read_text("utf-8"))["data"][
    "sets"
]
# Images and text have arrays of their own: tests/papers/data/test_images.py and test_text.py.
REGRESSIONS = [path for path in CONFIGS if SETTINGS[path.stem]["kind"] not in ("images", "text")]


def build(path):
    fields = SETTINGS[path.stem]
    module = importlib.import_module(f"hessian_papers.data.{fields['kind']}")
    return module.make(module.Config(**fields))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_file_names_its_place(path):
    assert path.read_text().startswith(f"# @package data.sets.{path.stem}\n")


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_config_file_builds_finite_float64_data(path):
    arrays = build(path)
    assert set(arrays) == {"x", "y"}
    for array in arrays.values():
        assert array.dtype == np.float64
        assert np.isfinite(array).all()
    assert len(arrays["x"]) == len(arrays["y"]) > 0
    again = build(path)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("gaussian_regression", {"size": 0}),
        ("gaussian_regression", {"input_variance": -1.0}),
        ("gaussian_regression", {"input_variance": float("nan")}),
        ("gaussian_regression", {"input_variance": 1e-7}),
        ("listed_sequences", {"sequences": [[0.0, 0.0], [0.0, 0.0]]}),
        ("listed_sequences", {"sequences": [[1.0, 2e6]]}),
        ("wedge", {"size": -1}),
        ("wedge", {"half_width": 0.0}),
        ("wedge", {"slope_plus": float("inf")}),
        ("wedge", {"slope_minus": -2.0}),
        ("wedge", {"half_width": 2e6}),
        ("wedge", {"slope_minus": -2e6}),
        ("wedge", {"noise": -0.1}),
        ("wedge", {"noise": 2e6}),
        ("diabetes", {"feature": "glucose"}),
        ("sequences", {"batch": 0}),
        ("sequences", {"length": 0}),
        ("sequences", {"embedding_dimension": 0}),
        ("sequences", {"target": "sorted"}),
        ("text", {"sources": []}),
        ("text", {"sources": ["own.md"]}),
        ("text", {"sources": ["own.txt", "own.txt"]}),
        ("text", {"sources": ["own.txt", "openwebtext"]}),
        ("text", {"tokenizer": "  "}),
        ("text", {"tokenizer": "bpe", "sources": ["openwebtext"]}),
        ("text", {"vocabulary": 256}),
        ("text", {"validation": 0.0}),
        ("text", {"validation": 1.0}),
        ("text", {"validation": float("nan")}),
    ],
)
def test_bad_settings_are_refused_in_one_line(kind, change):
    module = importlib.import_module(f"hessian_papers.data.{kind}")
    good = next(
        module.Config(**fields)
        for fields in (SETTINGS[path.stem] for path in CONFIGS)
        if fields["kind"] == kind
    )
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$") as error:
        dataclasses.replace(good, **change)
    assert "\n" not in str(error.value)
