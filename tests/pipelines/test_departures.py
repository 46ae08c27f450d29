"""The papers' own settings are complete and valid, and what departs from them is named."""

import copy
import dataclasses
import json
from functools import cache, reduce
from operator import getitem

import hydra
import pytest
import yaml
from omegaconf import OmegaConf

from pipelines import schema
from pipelines.departures import departures
from pipelines.stage import CONF

PUBLISHED = yaml.safe_load((CONF / "published.yaml").read_text())
PLACES = {"studies": "studies", "networks": "networks", "data": "data.sets"}
ENTRIES = [(group, name) for group, entries in PUBLISHED.items() for name in entries]
# No settings of an experiment: what it is called and made from, ...
LEFT_OUT = {"kind", "paper", "artifact", "title", "seed", "data", "ensemble"}
# ... and what only decides how finely, exactly or often something is computed and shown.
LEFT_OUT |= {"points", "numeric_points", "dense_points", "contour_points", "scales", "recorded"}
LEFT_OUT |= {"record_every", "numeric_every", "networks_per_item", "precision", "tolerance"}
LEFT_OUT |= {"kept", "memory", "compile"}
LEFT_OUT |= {"jitters", "resamples", "confidence", "instances", "without_signal"}
# The same, by a name that another kind gives to a setting.
LEFT_OUT_OF = {"identities": {"width"}, "balanced_spectrum": {"top"}}
# How far the axis of dimensions goes.
LEFT_OUT_OF["model_overlaps"] = {"reach", "top"}
LEFT_OUT_OF["full_output"] = {"top"}
# ... and what of it is drawn.
LEFT_OUT_OF["decoupling"] = {"top", "probes", "shown"}
# A twin that the paper does not have is one more, no other.
LEFT_OUT_OF["gpt2"] = {"variants"}
# The schema refuses the width that no computation of ours can do.
REFUSED = {"cracking-fig13": "at most 3000 parameters"}
RECORDED = sorted((CONF.parent / "reports" / "evidence").glob("*/facts.json"))


@cache
def composed(scale):
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return schema.plain(hydra.compose("config", overrides=[f"scale={scale}"]))


def changed(config, changes):
    """A copy with other values at dotted keys."""
    config = copy.deepcopy(config)
    for key, value in changes.items():
        *path, last = key.split(".")
        reduce(getitem, path, config)[last] = copy.deepcopy(value)
    return config


def with_papers_values(changes):
    """The composition at the papers' scale, with the papers' values put in, then changed."""
    values = {
        f"{PLACES[group]}.{name}.{key}": value
        for group, name in ENTRIES
        for key, value in PUBLISHED[group][name].items()
    }
    return changed(composed("paper"), values | changes)


@cache
def papers_config():
    return OmegaConf.create(with_papers_values({}))


def departing(config, name):
    study, networks, data = config["studies"][name], config["networks"], config["data"]["sets"]
    return departures(name, study, networks, data, PUBLISHED)


@pytest.mark.parametrize("group", PLACES)
def test_the_papers_settings_are_those_of_what_there_is(group):
    """What has no entry is nobody's but the user's own."""
    there = reduce(getitem, PLACES[group].split("."), composed("paper"))
    assert {*PUBLISHED[group]} <= {*there}, "conf/published.yaml"
    assert sorted(PUBLISHED) == sorted(PLACES)


@pytest.mark.parametrize(("group", "name"), ENTRIES)
def test_every_setting_is_there_and_no_key_but_settings(group, name):
    kind = reduce(getitem, PLACES[group].split("."), composed("paper"))[name]["kind"]
    keys = {field.name for field in dataclasses.fields(schema.module_of(group, kind, "").Config)}
    left_out = LEFT_OUT | LEFT_OUT_OF.get(kind, set())
    assert set(PUBLISHED[group][name]) == keys - left_out


@pytest.mark.parametrize(("group", "name"), ENTRIES)
def test_the_papers_settings_are_valid(group, name):
    if name in REFUSED:
        with pytest.raises(schema.ConfigError, match=REFUSED[name]):
            schema.entry(papers_config(), group, name)
    else:
        valid = dataclasses.asdict(schema.entry(papers_config(), group, name))
        assert {key: valid[key] for key in PUBLISHED[group][name]} == PUBLISHED[group][name]


@pytest.mark.parametrize("name", PUBLISHED["studies"])
def test_with_the_papers_settings_nothing_departs(name):
    assert departing(with_papers_values({}), name) == {}


@pytest.mark.parametrize(
    ("name", "key", "value", "expected"),
    [
        ("cracking-fig7", "studies.cracking-fig7.width", 50, {"width": [50, 10]}),
        (
            "cracking-fig4",
            "networks.two-layer-linear.networks",
            20,
            {"networks.two-layer-linear.networks": [20, 200]},
        ),
        (
            "cracking-fig4",
            "networks.two-layer-linear.learning_rates.mup",
            0.1,
            {"networks.two-layer-linear.learning_rates.mup": [0.1, 0.01]},
        ),
        (
            "cracking-fig2",
            "data.sets.sequences.length",
            7,
            {"data.sets.sequences.length": [7, 10]},
        ),
        ("cracking-fig3", "studies.cracking-fig3.widths", [8], {"widths": [[8], [10, 150]]}),
        # Another ensemble, a seed, or what is only shown finer, is no setting of this study.
        ("cracking-fig16", "networks.two-layer-linear.networks", 20, {}),
        ("cracking-fig7", "studies.cracking-fig7.seed", 7, {}),
        ("cracking-fig7", "studies.cracking-fig7.scales", 7, {}),
    ],
)
def test_one_override_is_what_departs(name, key, value, expected):
    assert departing(with_papers_values({key: value}), name) == expected


def test_the_data_of_the_networks_depart_as_well():
    published = {
        "studies": {"mine": {}},
        "networks": {"few": {"width": 2}},
        "data": {"text": {"v": 3}},
    }
    networks, data = {"few": {"data": "text", "width": 2}}, {"text": {"v": 4}}
    found = departures("mine", {"ensemble": "few"}, networks, data, published)
    assert found == {"data.sets.text.v": [4, 3]}


@pytest.mark.parametrize("name", PUBLISHED["studies"])
def test_what_departs_is_what_would_have_to_be_overridden(name):
    """Each key with the paper's value, as an override: then nothing departs."""
    found = departing(composed("demo"), name)
    assert json.loads(json.dumps(found)) == found
    full = {
        key if key.startswith(("networks.", "data.sets.")) else f"studies.{name}.{key}": values
        for key, values in found.items()
    }
    for key, (here, _) in full.items():
        assert reduce(getitem, key.split("."), composed("demo")) == here
    papers = {key: paper for key, (_, paper) in full.items()}
    assert departing(changed(composed("demo"), papers), name) == {}


def test_the_demo_departs_where_it_is_smaller():
    found = departing(composed("demo"), "cracking-fig4")
    assert found["networks.two-layer-linear.networks"] == [10, 200]
    assert found["networks.two-layer-linear.teachers"] == [5, 1]
    assert found["networks.two-layer-linear.sizes"][1] == list(range(1, 101))
    assert departing(composed("demo"), "closed2024-fig3") == {}


def test_numbers_are_compared_as_numbers():
    published = {"studies": {"mine": {"norm": 1.0, "sizes": [1, 2]}}, "networks": {}, "data": {}}
    same = {"norm": 1, "sizes": [1.0, 2.0]}
    assert departures("mine", same, {}, {}, published) == {}


def test_a_study_of_ones_own_departs_in_nothing():
    assert departures("mine", {"width": 3, "data": "wedge"}, {}, {}, PUBLISHED) == {}


def test_what_was_not_kept_of_a_run_is_not_compared():
    study = composed("paper")["studies"]["cracking-fig10"]
    assert departures("cracking-fig10", study, {}, {}, PUBLISHED) == {}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.parent.name)
def test_a_recorded_run_has_the_configuration_of_its_digest(file):
    facts = json.loads(file.read_text())
    for key, digest in facts["configuration"].items():
        assert schema.digest(facts[key]) == digest, key
