"""What studies refuse: settings that make no sense, and ensembles that lack what they take."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from hessian_papers.studies.base import EnsembleStudyConfig
from pipelines.schema import module_of

ROOT = Path(__file__).resolve().parents[3]
INF, NAN = float("inf"), float("nan")

# Of studies at the scale of the demo: values of a setting, each of which is refused by itself.
OF_NUMBERS = {
    "closed-form-identities": {"instances": [5], "width": [1, 51], "points": [1]},
    "closed2024-fig1": {
        "width": [1],
        "second_width": [-3],
        "variance_times_fan_in": [0.0, NAN],
        "largest_second_moment": [-1.0],
        "scales": [1],
    },
    "closed2024-fig2": {
        "width": [0],
        "positive_units": [11, -1],
        "variance_times_fan_in": [-1.0, INF],
    },
    "cracking-fig8": {
        "follows": ["bulk"],
        "runs": [{}],
        "runs.a": [{"rate": 1}],
        "runs.a.network": ["multi_input", "tanh"],
        "runs.a.momentum": [1.0],
        "runs.a.learning_rate": [-1.0],
        "runs.a.initial_scale": [0.0],
        "runs.a.weight_decay": [-0.1],
        "runs.a.batch_size": [-1],
        "runs.a.nesterov": [True],
        "runs.a.velocity_scale": [0.1],
        "width": [-3, 3000],
        "initial_scale": [0.0],
        "learning_rate": [-0.1],
        "input_scales": [[2.0, 0.5, 2.0], [0.0]],
        "high_settings": [[[1.0, 2.0]] * 2, [[1.0]]],
        "high_momenta": [[1.0]],
        "steps": [0],
        "record_every": [0],
        "numeric_every": [0],
    },
    "gd-subspace": {"width": [1]},
    "learning-phases": {
        "instances": [0],
        "without_signal": [-1],
        "width": [-2],
        "solution": [[2.0, 0.5], [0.0, 0.5], [1.0, 2e6]],
        "ratio": [[-2e6, 1.0], [0.5]],
        "weight_scale": [[-1.0, 1.0], [1.0, INF]],
        "head_scales": [[1.0, 1.0]],
    },
    "cracking-fig27": {
        "key_dimension": [0],
        "initial_scale": [0.0],
        "learning_rate": [-1.0],
        "steps": [0],
        "numeric_every": [0],
        "rates": [[1.0, 1.0], [], [0.0]],
    },
    "cracking-fig2": {
        "key_dimension": [2, 2500],
        "weight_norm": [0.0],
        "smallest_norm": [-1.0],
        "largest_norm": [2e6, 0.1],
        "largest_sink_bias": [0.0],
        "massive_activation": [1e-7, 0.0],
        "points": [1],
        "numeric_points": [50],
        "dense_points": [10],
    },
    "cracking-fig9": {
        "key_dimension": [0],
        "value_norm": [0.0, 1e3],
        "query_key_norm": [-1.0, 1e-3, 30.0],
        "sink_biases": [[0.0], [1.0, 0.0], [0.0, 1.0, 1.0], [0.0, INF]],
        "points": [1],
        "outlier_share": [0.0, 1.5],
        "replicates": [0],
        "draws": [0],
        "draw_norms": [[], [[1.0]], [[1.0, 30.0]], [[1.0, 2.0], [3.0, 2.0]]],
    },
    "functional-part": {
        "width": [1],
        "norms": [[1.0, 1.0], [0.0]],
        "length": [1],
        "draws": [1],
        "checked": [101],
    },
    "uniform-attention": {
        "initialisations": [["other"], ["sp", "sp"]],
        "key_dimensions": [[8], [2, 8], [8, 8]],
        "factors": [[1.0], [0.0, 1.0], [1.0, 1.0]],
        "checked": [401],
        "checked_dimension": [3],
        "draws": [1],
    },
    "data-fig1a": {
        "input_scale": [0.0, 1e7],
        "residual": [NAN, 1e5],
        "architectures": [[], [[3]], [[3, 0, 3]], [[3, 3], [3, 3]], [[20, 300, 20]]],
        "top": [0, 10**4],
    },
    "data-fig1b": {
        "input_scale": [-1.0, 2e6],
        "largest_depth": [1],
        "norms": [
            *([1.0], [1.0, 0.5], [0.0, 0.5], [0.5, INF]),
            *([0.5, 0.504], [0.5, 1.0, 1.0], [0.5, 2e6]),
        ],
        "contour_points": [1],
        "smallest_width": [0],
        "largest_width": [1],
    },
    "output-scale": {"depths": [[1], [2, 2]], "widths": [[1, 8], [8, 8]], "draws": [1]},
    "cracking-fig10": {
        "activation": ["tanh"],
        "depth": [1],
        "cases": [[], ["sp-whitened"], ["sp-normalised"] * 2],
        "widths": [[], [5, 5]],
        "sizes": [[0, 2], [2, 2], [1], [11, 30]],
        "samples": [[20], [11, 102], [102, 31]],
        "networks": [0],
        "jitters": [18],
        "networks_per_item": [0],
    },
    "cracking-fig14": {
        "target": ["loss"],
        "quantities": [*([], ["matrices", "matrices"], ["matrices", "products", "alignments"])],
        "norms": [["operator"]],
        "highlighted": ["operator"],
        "parametrisations": [[], ["sp", "sp"]],
        "sizes": [[1, 1]],
        "along": ["width"],
        "depths": [[2, 3]],
        "confidence": [1.0, 0.0],
    },
}
OF_TRAININGS = {
    "data-fig2": {
        "cases": [[], ["white-balanced-linear"], ["raw-balanced-linear"] * 2],
        "shares": [[], [0.5, 1.5], [0.0], [0.5, 0.5]],
        "other_samples": [[40, 40], [0]],
        "samples": [0],
        "depth": [1],
        "initial_range": [[0.7, 0.3], [0.0, 0.0], [0.1, 2e6]],
        "input_scale": [2e6, 0.0],
        "learning_rate": [0.0],
        "epochs": [0],
        "width": [0],
        "replicates": [0],
        "further_replicates": [-1],
        "precision": ["float16"],
    },
    "data-fig3": {"probes": [1], "recorded": [0], "initialisation": ["xavier"], "depth": [1]},
    "data-fig4": {"depth": [3], "narrow": [-1], "top": [-1, 0], "tolerance": [0.0, 1e-3]},
    "data-courses": {
        "depth": [1],
        "replicates": [0],
        "beyond": [0.0],
        "initial_range": [[0.5, 0.1]],
    },
    "cracking-fig5": {"along": [[], ["loss", "loss"], ["time"]], "shown": ["all"], "points": [1]},
    "gauss-newton-parts": {"tolerance": [0.5], "memory": [0]},
    "cracking-fig6": {
        "masses": [[], [0.8, 0.5], [0.5, 0.5], [0.5, 1.0]],
        "tolerance": [0.0],
        "probes": [1],
        "products": [1],
        "kappa": [1.0],
    },
    "dissecting-fig2": {
        "top": [1],
        "probes": [1],
        "images": [-1],
        "tolerance": [0.5],
        "networks": [["F-6", "F-6"]],
        "shown": [[], ["fc1:F-6"] * 2, ["fc1"]],
    },
    "dissecting-fig4": {
        "networks": [["F-6", "F-6"]],
        "top": [1],
        "reach": [0.0, INF],
        "images": [-1],
        "tolerance": [1.0],
    },
    "dissecting-fig5": {"top": [0], "images": [-1], "tolerance": [1.0]},
    "dissecting-fig29": {"images": [-1]},
    "dissecting-table8": {"images": [-1]},
    "dissecting-table10": {
        "methods": [[], ["base", "base"], ["bayes"]],
        "draws": [0],
        "paper_seeds": [0],
        "local_epochs": [0],
        "local_objective": ["best"],
        "refresh": [0],
        "draws_delta": [0.98],
        "delta": [0.0],
    },
    "dissecting-theory": {
        "laws": [[], ["uniform"], ["gaussian", "gaussian"]],
        "widths": [[7], [16, 16]],
        "classes": [[1], [3, 3]],
        "draws": [1],
        "alpha": [[], [0.0], [0.5, 0.5], [0.5, 900.0]],
        "layer_samples": [15],
        "samples": [511],
    },
    "kronecker-factors": {"top": [0], "probes": [1], "dampings": [[], [0.1, 0.1], [0.0]]},
}
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
    for study, settings in (OF_NUMBERS | OF_TRAININGS).items()
    for name, values in settings.items()
    for value in values
]


@cache
def settings():
    return yaml.safe_load((ROOT / "params.yaml").read_text("utf-8"))["studies"]


def configured(study, **changes):
    """A study's configuration, with some settings of its own."""
    fields = settings()[study] | changes
    return module_of("studies", fields["kind"], f"studies.{study}").Config(**fields)


def kinds(names):
    return {settings()[name]["kind"] for name in names}


def test_every_configuration_is_valid_and_every_kind_is_tried():
    ensembles = {
        settings()[name]["kind"]
        for name in settings()
        if isinstance(configured(name), EnsembleStudyConfig)
    }
    assert kinds([*OF_NUMBERS, *OF_TRAININGS, *LACKING]) == kinds(settings())
    assert kinds(LACKING) == ensembles


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
    **dict.fromkeys(
        ("cracking-d33", "predicted-correlations"),
        (MATRICES, {"ensemble": [{"activation": "relu"}], "depths": [{"depths": [3]}]}),
    ),
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
            fields = {key: of for key, of in (given | changes).items() if of is not None}
            with pytest.raises(ValueError, match=f"^{name}: expected .*, got .*$"):
                configured(study).require_networks(SimpleNamespace(**fields))
