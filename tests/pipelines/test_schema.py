"""The whole configuration is refused before anything runs."""

import re

import hydra
import pytest
from dvc.utils.hydra import compose_and_dump
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from pipelines.schema import ConfigError, at_scale, plain, validate
from pipelines.yaml_files import read_yaml

# Those that are changed here, and what they are changed to.
KEPT = (
    *(f"cracking-{name}" for name in ("d33", "fig2", "fig4", "fig7", "fig8", "fig9", "fig10")),
    *(f"data-{name}" for name in ("fig1a", "fig1b", "fig1c", "fig2", "fig3")),
    *("closed-form-identities", "cracking-fig17", "diabetes-multi-input", "diabetes-scalar"),
    *("dissecting-table10", "gd-subspace", "deep-relu", "digits", "gpt2", "reversal"),
    "two-layer-relu",
)


@pytest.fixture(scope="module")
def composed(settings):
    def call(*overrides):
        with hydra.initialize_config_dir(str(settings), version_base="1.3"):
            return hydra.compose("config", list(overrides))

    return call


@pytest.fixture(scope="module")
def changed(composed):
    """The configuration with a changed value, less the studies that it does not reach."""
    demo = composed()

    def change(text):
        override = OverridesParser.create().parse_override(text)
        name = override.key_or_group.split(".")[2 if text.startswith("data.sets") else 1]
        config = demo.copy()
        OmegaConf.set_struct(config, False)
        for study, settings in demo.studies.items():
            if name not in (study, settings.get("data"), settings.get("ensemble")):
                del config.studies[study]
        OmegaConf.update(config, override.key_or_group, override.value())
        return config

    return change


def refused(config, **settings):
    """The message, which is one line."""
    with pytest.raises(ConfigError) as caught:
        validate(config, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["scale=paper"], 100),
        (["scale=workstation", "networks.two-layer-linear.width=7"], 7),
        (["networks.two-layer-linear.by_scale.width.demo=9"], 9),
    ],
)
def test_the_scale_chooses_a_value_and_an_override_replaces_it(
    composed, settings, overrides, expected, tmp_path
):
    """On the command line, and as DVC composes an experiment; nothing but plain values is left."""
    file = tmp_path / "params.yaml"
    compose_and_dump(str(file), str(settings), None, "config", str(tmp_path), overrides)
    actual = plain(at_scale(OmegaConf.create(read_yaml(file))))
    assert actual == plain(at_scale(composed(*overrides)))
    assert actual["networks"]["two-layer-linear"]["width"] == expected
    for entries in (actual["studies"], actual["networks"], actual["data"]["sets"]):
        assert not any({"by_scale", "published"} & {*entry} for entry in entries.values())


def test_a_value_of_several_is_chosen_and_replaced_alone(composed):
    rates = composed("networks.two-layer-relu.large_learning_rates.mup=0.3", "scale=paper")
    chosen = at_scale(rates).networks["two-layer-relu"].large_learning_rates
    assert chosen == {"sp": 0.05, "mup": 0.3, "ntp": 5.0}


# An override, and words of the line that refuses it.
REFUSED = [
    # A number that is none is refused wherever it stands.
    ("networks.two-layer-linear.learning_rates.sp=inf", "': expected a finite number, got inf"),
    ("networks.two-layer-linear.threshold=nan", "': expected a finite number, got nan"),
    ("studies.data-fig1b.norms=[0.5,-inf]", "norms[1]': expected a finite number, got -inf"),
    ("data.sets.reversal.sequences=[[1.0,inf]]", "sequences[0][1]': expected a finite number, got"),
    ("studies.cracking-fig8.steps=9223372036854775808", "': expected at most 9223372036854775807,"),
    ("studies.cracking-fig8.learning_rate='inf'", "': expected a finite number, got inf"),
    # Networks are held against their data.
    ("networks.gpt2.data=wedge", "expected a data set with text as tokens, got 'wedge'"),
    ("networks.gpt2.data=novel", "expected one of diabetes, "),
    # Nothing is there twice.
    ("networks.two-layer-linear.sizes=[2,2]", "': expected different numbers"),
    ("networks.deep-linear.depths=[2,3,2]", "': expected different numbers"),
    ("networks.deep-relu.parametrisations=[sp,sp]", "': expected different ones of"),
    ("studies.cracking-fig4.parametrisations=[sp,sp]", "': expected each of them once"),
    ("studies.cracking-fig4.norms=[spectral,spectral]", "': expected different ones of"),
    ("studies.cracking-fig17.depths=[3,3]", "': expected each of them once"),
    ("studies.cracking-fig10.sizes=[2,2]", "': expected different numbers"),
    ("studies.data-fig1c.shares=[0.3,0.3]", "': expected each of them once"),
    ("studies.data-fig1c.other_samples=[30,30]", "': expected each of them once"),
    ("studies.data-fig1a.architectures=[[3,3],[3,3]]", "': expected each of them once"),
    ("studies.data-fig1b.norms=[0.5,0.5]", "': expected two or more positive numbers, ascending"),
    ("studies.cracking-fig9.sink_biases=[0,0]", "': expected at least two finite numbers, ascendi"),
    # An ensemble has what a study takes of it.
    ("studies.cracking-fig4.parametrisations=[spp]", "parametrisations': expected some of two-lay"),
    ("studies.cracking-fig4.sizes=[3]", "sizes': expected some of two-layer-linear's, 1, "),
    ("studies.cracking-fig4.depths=[4]", "depths': expected some of two-layer-linear's, 2, "),
    ("networks.two-layer-linear.parametrisations=[mup]", "parametrisations': expected some "),
    ("studies.cracking-d33.ensemble=two-layer-relu", "ensemble': expected linear networks"),
    ("studies.cracking-fig4.ensemble=nothing", "ensemble': expected one of deep-linear, "),
    # Data have the form that a study takes.
    ("studies.cracking-fig7.data=gaussian-features", "expected a data set with one feature per sa"),
    ("studies.cracking-fig7.data=images", "expected a data set with one feature per sample, got '"),
    ("studies.cracking-fig8.data=sequences", "expected a data set with one feature per sample, go"),
    ("studies.diabetes-multi-input.data=wedge", "expected a data set with several features per sa"),
    ("studies.cracking-fig2.data=vector-sequences", "expected a data set with numbers as tokens, "),
    ("studies.cracking-fig9.data=sequences", "expected a data set with vectors as tokens, got 'se"),
    ("studies.data-fig2.data=wedge", "expected a data set with images, got 'wedge'"),
    ("data.sets.diabetes-bmi.columns=[]", "expected a data set with one feature per sample, got "),
    (
        "data.sets.diabetes.target=[bmi,target]",
        "expected a data set with one target per sample, go",
    ),
    (
        "networks.two-layer-relu.data=digits",
        "expected a data set with one feature per sample or se",
    ),
    # And are not too small for it.
    ("networks.two-layer-relu.data=diabetes", "sizes': expected at most 10, the input columns of"),
    ("studies.cracking-fig9.key_dimension=6", "key_dimension': expected at least"),
    ("data.sets.gaussian-features.size=20", "data': expected at least "),
    ("data.sets.gaussian-inputs.features=2", "architectures': expected at most 2 inputs"),
    ("studies.data-fig1b.largest_width=3000", "largest_width': expected at most the "),
    ("data.sets.wedge.size=10", "gd-subspace.runs.sgd.batch_size': expected at most the 10 sa"),
    ("studies.diabetes-multi-input.width=251", "width': expected at most 5000 parameters for"),
    ("studies.cracking-fig9.key_dimension=300", "key_dimension': expected at most 5000 param"),
    ("studies.data-fig3.samples=1798", "samples': expected at most 1797, all images, got 1798"),
    ("studies.data-fig2.samples=1798", "samples': expected at most 1797, all images, got 1798"),
    ("data.sets.gaussian-regression.size=34", "data': expected at least 35 samples in gaussian"),
]


@pytest.mark.parametrize(("override", "words"), REFUSED)
def test_what_does_not_fit_is_refused(changed, override, words):
    line = refused(changed(override))
    assert line.startswith("invalid config at '")
    assert words in line


@pytest.mark.parametrize(
    ("overrides", "missing", "data"),
    [
        (["scale=paper"], "mnist", "digits"),
        (["data.sets.images.sources=[mnist,cifar10]"], "mnist, cifar10", "images"),
        (["data.sets.images.sources=[digits,own/leaves.npz]"], "own/leaves.npz", "images"),
    ],
)
def test_data_that_are_kept_somewhere_need_a_root(composed, overrides, missing, data):
    config = composed(*overrides)
    assert refused(config, stored=True) == (
        f"invalid config at 'data.root': expected the folder of {missing} for the data set {data}, "
        "got null; add data.root=<folder>"
    )
    # What reads no such data needs none.
    validate(config)
    OmegaConf.update(config, "data.root", "/somewhere")
    validate(config, stored=True)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "paper",
            "nosuchpaper",
            "expected one of singh2024closed, singh2024poster, singh2026cracking, anon2026data, "
            "wu2022dissecting, got 'nosuchpaper'",
        ),
        (
            "artifact",
            "Figure 99",
            "expected one of Figure 9, .* more, see .*, got 'Figure 99'",
        ),
        # Claims about Figure 8 would be measured on a study of Figure 7.
        (
            "artifact",
            "Figure 8",
            "expected one of its own, got 'Figure 8', which cracking-fig\\d is",
        ),
    ],
)
def test_a_study_is_of_one_listed_artifact_which_no_other_is_of(composed, field, value, message):
    config = composed()
    config.studies["cracking-fig7"][field] = value
    config.studies["cracking-fig8"].seed = 1
    line = refused(config)
    assert re.match(rf"invalid config at 'studies\.cracking-fig\d\.{field}': {message}", line), line


def test_whether_labels_are_random_is_a_setting_of_the_data_alone(composed):
    """A study that is told so as well could be told otherwise."""
    with pytest.raises(Exception, match="random_labels"):
        composed("studies.dissecting-table10.random_labels=true")
    config = composed()
    OmegaConf.set_struct(config, False)
    for study in config.studies.values():
        assert "random_labels" not in study
    config.studies["dissecting-table10"].random_labels = True
    line = refused(config)
    assert line.startswith("invalid config at 'studies.dissecting-table10.random_labels': Key 'ran")
