"""Studies refuse settings that make no sense, and ensembles that lack what they take."""

import math
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_origin, get_type_hints

import pytest
import yaml

from hessian_papers.constraints import constraints
from hessian_papers.studies.base import DataStudyConfig, EnsembleStudyConfig
from hessian_spectra.pac_bayes import BoundSettings
from pipelines.schema import module_of

ROOT = Path(__file__).resolve().parents[3]
# Of studies at the scale of the demo: values that are refused, each by itself, by a check that the
# study makes of its own. All other checks are constraints of their fields.
OWN_CHECKS = {
    "closed2024-fig2": {"positive_units": [11, -1]},
    "cracking-fig8": {
        "runs": [{}],
        "runs.a": [{"rate": 1}],
        "runs.a.network": ["multi_input", "tanh"],
        "runs.a.momentum": [1.0],
        "runs.a.batch_size": [-1],
        "runs.a.nesterov": [True],
        "runs.a.velocity_scale": [0.1],
    },
    "gd-subspace": {"width": [1]},
    "cracking-fig2": {
        "key_dimension": [2500],
        "largest_norm": [0.1],
        "numeric_points": [50, 1],
        "dense_points": [10, -1],
    },
    "cracking-fig9": {"draw_norms": [[[1.0, 2.0], [3.0, 2.0]]]},
    "functional-part": {"checked": [101]},
    "uniform-attention": {"key_dimensions": [[8]], "checked": [401], "checked_dimension": [3]},
    "data-fig1a": {
        "residual": [1e5],
        "architectures": [[], [[3]], [[3, 0, 3]], [[20, 300, 20]]],
        "top": [0, 10**4],
    },
    "data-fig1b": {
        "norms": [[1.0], [1.0, 0.5], [0.0, 0.5], [0.5, 1e9], [0.5, 0.504], [0.5, 1.0, 1.0]],
        "largest_width": [1],
    },
    "cracking-fig10": {
        "activation": ["tanh"],
        "sizes": [[1], [11, 30]],
        "samples": [[20], [11, 102], [102, 31]],
    },
    "cracking-fig14": {
        "quantities": [["matrices", "products", "alignments"]],
        "highlighted": ["operator"],
        "parametrisations": [[]],
        "depths": [[2, 3]],
    },
    "cracking-d33": {"depths": [[2, 3]]},
    "data-fig2": {
        "depth": [1],
        "initial_range": [[0.7, 0.3], [0.0, 0.0], [0.1, 2e6]],
        "precision": ["float16"],
    },
    "data-fig2-raw": {"depth": [1], "initial_range": [[0.7, 0.3]], "precision": ["float16"]},
    "data-fig3": {
        "depth": [1],
        "initial_range": [[0.7, 0.3]],
        "precision": ["float16"],
        "probes": [1],
    },
    "data-fig4": {"depth": [3], "top": [0]},
    "cracking-fig6": {"products": [1]},
    "dissecting-fig2": {"shown": [[], ["fc1:F-6"] * 2, ["fc1"]]},
    "dissecting-table10": {"draws_delta": [0.0, 0.98], "delta": [0.0]},
    "dissecting-theory": {
        "widths": [[7], [16, 16]],
        "alpha": [[0.5, 900.0]],
        "layer_samples": [15],
        "samples": [511],
    },
}
# Those of bounds that the library's settings refuse, and a logarithm of any size.
ELSEWHERE = {field.name for field in fields(BoundSettings)} | {"half_log_variance"}
# What no study has to itself.
COMMON = {field.name for base in (DataStudyConfig, EnsembleStudyConfig) for field in fields(base)}
# Numbers and names of which each constraint refuses one.
BAD = {int: [0, -1, 10**9], float: [0.0, -1.0, 1e9, math.nan], str: ["other"]}
# Settings that are refused beside others: what is changed, the last of which is blamed.
TOGETHER = [
    ("closed2024-fig2", {"width": 0, "positive_units": 0}, "width"),
    ("cracking-fig10", {"activation": "relu", "depth": 4, "widths": [40, 41]}, "widths"),
    ("dissecting-theory", {"classes": [4, 16], "widths": [16]}, "widths"),
    ("cracking-fig14", {"along": "depth", "sizes": []}, "sizes"),
    ("cracking-fig14", {"depths": [3], "quantities": ["alignments"]}, "quantities"),
    ("cracking-fig14", {"along": "depth", "sizes": [1, 3, 5]}, "sizes"),
    ("cracking-fig14", {"along": "depth", "sizes": [1, 3]}, "sizes"),
    (
        "cracking-fig14",
        {"along": "depth", "quantities": ["products"], "target": "trace", "sizes": [1, 3]},
        "sizes",
    ),
]
SINGLE = [
    (study, name, value)
    for study, settings in OWN_CHECKS.items()
    for name, values in settings.items()
    for value in values
]


@cache
def settings():
    return yaml.safe_load((ROOT / "params.yaml").read_text("utf-8"))["studies"]


def configured(study, **changes):
    """A study's configuration, with some settings of its own."""
    own = settings()[study] | changes
    return module_of("studies", own["kind"], f"studies.{study}").Config(**own)


def of_each_kind():
    """A study of each kind."""
    return list({own["kind"]: name for name, own in settings().items()}.values())


def test_every_kind_of_ensembles_is_tried():
    studies = map(configured, settings())
    kinds = {study.kind for study in studies if isinstance(study, EnsembleStudyConfig)}
    assert kinds == {settings()[name]["kind"] for name in LACKING}


@pytest.mark.parametrize("study", of_each_kind())
def test_every_setting_is_constrained_or_checked(study):
    config = configured(study)
    declared = {name for name, _ in constraints(type(config))}
    kind = [own for name, own in OWN_CHECKS.items() if settings()[name]["kind"] == config.kind]
    tried = {name.partition(".")[0] for own in kind for name in own}
    assert {field.name for field in fields(config)} <= declared | tried | COMMON | ELSEWHERE


def candidates(hint):
    """Values of a type, of which each constraint refuses one."""
    inner = get_args(hint)
    if get_origin(hint) is list:
        entries = candidates(inner[0])
        return [[], *([entry] for entry in entries), *([entry] * 2 for entry in entries)]
    return BAD[inner[0] if inner else hint]


@pytest.mark.parametrize("study", of_each_kind())
def test_what_a_constraint_does_not_take_is_named_in_one_line(study):
    schema = type(configured(study))
    for name, constraint in constraints(schema):
        values = candidates(get_type_hints(schema)[name])
        value = next(value for value in values if not constraint.fits(value))
        with pytest.raises(ValueError, match=f"^{name}: expected .*, got .*$"):
            configured(study, **{name: value})


@pytest.mark.parametrize(("study", "name", "value"), SINGLE)
def test_a_bad_setting_is_named_in_one_line(study, name, value):
    field, *path = name.split(".")
    for key in reversed(path):
        value = {key: value}
    with pytest.raises(ValueError, match=f"^{name}: expected .*, got .*$"):
        configured(study, **{field: value})


@pytest.mark.parametrize(("study", "changes", "blamed"), TOGETHER)
def test_settings_that_do_not_go_together_are_named(study, changes, blamed):
    with pytest.raises(ValueError, match=f"^{blamed}: expected .*, got .*$"):
        configured(study, **changes)


LANGUAGE = {"variants": ["attention"], "kept": [4]}
CLASSIFIERS = {"networks": ["F-6", "F-5^2"], "kept": [0, 9], "trainings": [0, 1]}
UNIT = CLASSIFIERS | {"inputs": "unit interval", "held_out": 5}
MATRICES = {"activation": "linear", "parametrisations": ["sp", "mup", "ntp"]}
MATRICES |= {"depths": [2, 3], "sizes": [1, 3]}
NO_MATRICES = {"ensemble": [{"activation": "relu"}], "depths": [{"depths": [3]}]}
# What a study takes, and changes of it that are refused by a name; None leaves a setting out.
LACKING = {
    "cracking-fig5": (LANGUAGE, {"ensemble": [{"variants": None}]}),
    "gauss-newton-parts": (LANGUAGE, {"ensemble": [{"variants": None}, {"kept": []}]}),
    "cracking-fig6": (
        LANGUAGE,
        {"ensemble": [{"variants": ["no attention"]}, {"kept": []}, {"variants": None}]},
    ),
    "dissecting-fig2": (
        CLASSIFIERS | {"networks": ["F-100^2", "F-100^4"]},
        {"ensemble": [{"networks": None}, {"kept": []}], "networks": [{"networks": ["F-6"]}]},
    ),
    "dissecting-fig4": (
        CLASSIFIERS | {"networks": ["F-100^2", "F-50^2-BN"]},
        {
            "ensemble": [{"networks": None}, {"kept": []}, {"trainings": [0]}],
            "networks": [{"networks": ["F-100^2"]}],
        },
    ),
    **dict.fromkeys(
        ("dissecting-fig5", "dissecting-fig29", "dissecting-table8", "kronecker-factors"),
        (CLASSIFIERS, {"ensemble": [{"networks": None}, {"kept": []}]}),
    ),
    "dissecting-table10": (
        UNIT,
        {
            "ensemble": [
                *({"kept": [9]}, {"inputs": "standardised"}),
                *({"networks": [name]} for name in ("F-5-BN", "LeNet5")),
            ],
            "held_out": [{"held_out": 0}],
        },
    ),
    "inputs-and-teacher": (
        {"kind": "inputs_and_teacher", "teachers": 2},
        {"ensemble": [{"kind": "multilayer"}, {"teachers": 1}]},
    ),
    "cracking-d33": (MATRICES, NO_MATRICES),
    "predicted-correlations": (MATRICES | {"seed": 0}, NO_MATRICES | {"seed": [{"seed": 1001}]}),
    "cracking-fig14": (
        MATRICES,
        {"parametrisations": [{"parametrisations": ["sp"]}], "depths": [{"depths": [3]}]},
    ),
}


@pytest.mark.parametrize("study", LACKING)
def test_an_ensemble_that_lacks_what_a_study_takes_is_named(study):
    given, refused = LACKING[study]
    configured(study).require_networks(SimpleNamespace(**given))
    for name, cases in refused.items():
        for changes in cases:
            other = {key: of for key, of in (given | changes).items() if of is not None}
            with pytest.raises(ValueError, match=f"^{name}: expected .*, got .*$"):
                configured(study).require_networks(SimpleNamespace(**other))
