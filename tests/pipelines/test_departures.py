"""The papers' own settings are complete and valid, and what departs from them is named."""

import dataclasses
import json
import re
from functools import cache, reduce
from operator import getitem

import hydra
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from hessian_papers.report.commands import assignment
from hessian_papers.results import SCALES
from hessian_spectra.files import read_json
from pipelines import inputs, recorded, schema
from pipelines.departures import (
    Settings,
    compared,
    departures,
    entry,
    ours_at,
    overrides,
    published,
    reached,
)
from pipelines.stage import CONF
from pipelines.yaml_files import read_yaml

PUBLISHED = published()
PLACES = {"studies": "studies", "networks": "networks", "data": "data.sets"}
ENTRIES = [(group, name) for group, entries in PUBLISHED.items() for name in entries]
FILES = sorted(file for group in PLACES for file in (CONF / group).rglob("*.yaml"))
# The schema refuses the width that no computation of ours can do.
REFUSED = {"cracking-fig13": "at most 3000 parameters"}
RECORDED = sorted((CONF.parent / "reports" / "evidence").glob("*/facts.json"))


@cache
def composed(scale):
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", overrides=[f"scale={scale}"])
    return schema.plain(schema.at_scale(config))


def changed(config, changes):
    """A configuration with other values at dotted keys."""
    for key, value in changes.items():
        first, _, rest = key.partition(".")
        config = config | {first: changed(config[first], {rest: value}) if rest else value}
    return config


@cache
def with_papers_values():
    """The composition at the papers' scale, with the papers' values put in."""
    values = {
        f"{PLACES[group]}.{name}.{key}": value
        for group, name in ENTRIES
        for key, value in PUBLISHED[group][name].items()
    }
    return changed(composed("paper"), values)


@cache
def papers_config():
    return OmegaConf.create(with_papers_values())


def settings_of(config, name):
    return Settings(name, config["studies"][name], config["networks"], config["data"]["sets"])


def departing(config, name):
    return departures(settings_of(config, name), PUBLISHED)


def leaves(tree, path=()):
    """The values by scale in an entry's ``by_scale``, by their keys."""
    for key, values in tree.items():
        if set(values) <= set(SCALES):
            yield (*path, key), values
        else:
            yield from leaves(values, (*path, key))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_setting_that_the_scale_decides_has_a_value_at_each_and_is_read_at_its_key(file):
    own, settings = read_yaml(file).get("by_scale", {}), entry(file)
    for path, _ in leaves(own):
        assert set(reduce(getitem, path, settings["by_scale"])) == set(SCALES), path
        levels = "." * len(path)
        read = f"${{{levels}by_scale.{'.'.join(path)}.${{scale}}}}"
        assert reduce(getitem, path, settings) == read


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_papers_setting_says_where_the_paper_has_it(file):
    """In brackets behind the value that is ours as well, else behind the paper's own."""
    entry, text = read_yaml(file), file.read_text()
    if "published" not in entry:
        return
    settings, _, papers = text.partition("\npublished:")
    for key in compared(entry):
        own = key in entry["published"]
        pattern = rf"^  {key}:.* # \S" if own else rf"^{key}:.* # .*\[.+\]$"
        assert re.search(pattern, papers if own else settings, re.MULTILINE), key


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_papers_setting_that_is_ours_as_well_stands_once(file):
    entry, group = read_yaml(file), file.relative_to(CONF).parts[0]
    ours = reduce(getitem, PLACES[group].split("."), composed("paper"))[file.stem]
    for key, value in entry.get("published", {}).items():
        assert ours[key] != value, key


def test_entries_over_others_are_the_composition():
    for group, place in PLACES.items():
        composition = reduce(getitem, place.split("."), composed("paper"))
        for name, settings in ours_at("paper")[group].items():
            without = {key: settings[key] for key in settings if key not in schema.NO_SETTINGS}
            assert composition[name] == without, name


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.parent.name)
def test_what_a_recorded_run_overrides_makes_its_settings(file):
    name, known = file.parent.name, recorded.read(file.parent.name)
    made_from, scale = known.settings, known.facts["scale"]
    actual = overrides(scale, made_from)
    text = [assignment(key, value) for key, value in actual.items()]
    parsed = OverridesParser.create().parse_overrides(text)
    assert [each.value() for each in parsed] == [*actual.values()]
    settings = changed(composed(scale), {each.key_or_group: each.value() for each in parsed})
    here = {
        "studies": {name: made_from.study},
        "networks": made_from.networks,
        "data": made_from.data,
    }
    for group, entries in here.items():
        now = reduce(getitem, PLACES[group].split("."), settings)
        for source in entries.keys() & now.keys():
            same = entries[source].keys() & now[source].keys() - {"title", "artifact"}
            assert {key: now[source][key] for key in same} == {
                key: entries[source][key] for key in same
            }


@pytest.mark.parametrize(("group", "name"), ENTRIES)
def test_the_papers_settings_are_valid(group, name):
    if name in REFUSED:
        with pytest.raises(schema.ConfigError, match=REFUSED[name]):
            schema.entry(papers_config(), group, name)
    else:
        valid = dataclasses.asdict(schema.entry(papers_config(), group, name))
        assert {key: valid[key] for key in PUBLISHED[group][name]} == PUBLISHED[group][name]


@pytest.mark.parametrize(
    ("name", "key", "value", "paper"),
    [
        ("cracking-fig7", "studies.cracking-fig7.width", 50, 10),
        ("cracking-fig4", "networks.two-layer-linear.networks", 20, 200),
        ("cracking-fig4", "networks.two-layer-linear.learning_rates.mup", 0.1, 0.01),
        ("cracking-fig2", "data.sets.sequences.length", 7, 10),
        ("cracking-fig10", "studies.cracking-fig10.widths", [8], [10, 150]),
        # Another ensemble, a seed, or what is only shown finer, is no setting of this study.
        ("cracking-fig16", "networks.two-layer-linear.networks", 20, None),
        ("cracking-fig7", "studies.cracking-fig7.seed", 7, None),
        ("cracking-fig7", "studies.cracking-fig7.scales", 7, None),
    ],
)
def test_one_override_is_what_departs(name, key, value, paper):
    expected = {} if paper is None else {key.removeprefix(f"studies.{name}."): [value, paper]}
    assert departing(changed(with_papers_values(), {key: value}), name) == expected


@pytest.mark.parametrize(
    ("change", "departs", "scale"),
    [
        ("~{}.relu", {"runs.relu": [None, {"network": "relu", "momentum": 0.9}]}, "demo"),
        ("~{}.linear.momentum", {"runs.linear.momentum": [None, 0.9]}, "paper"),
        ("+{}.linear.batch_size=5", {"runs.linear.batch_size": [5, None]}, "paper"),
        ("+{}.more={{momentum:0.5}}", {"runs.more": [{"momentum": 0.5}, None]}, "paper"),
    ],
)
def test_what_is_put_in_or_taken_out_departs(change, departs, scale):
    override = change.format("studies.closed2024-fig3.runs")
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", overrides=["scale=paper", override])
    run = settings_of(schema.plain(schema.at_scale(config)), "closed2024-fig3")
    assert departures(run, PUBLISHED) == departs
    assert reached("paper", run) == scale
    (item,) = overrides("paper", run).items()
    assert assignment(*item) == override


@pytest.mark.parametrize(
    ("study", "scale", "key", "value", "expected"),
    [
        ("cracking-fig4", "paper", "two-layer-linear.networks", 20, "workstation"),
        ("cracking-fig4", "paper", "two-layer-linear.networks", 60, "paper"),
        ("cracking-fig4", "paper", "two-layer-linear.learning_rates.mup", 0.01, "paper"),
        ("cracking-fig4", "paper", "two-layer-relu.networks", 20, "paper"),
        ("cracking-fig4", "paper", "two-layer-linear.networks", 2, "demo"),
        ("cracking-fig4", "paper", "two-layer-linear.sizes", [1, 2, 5, 10, 20, 50], "workstation"),
        ("cracking-fig4", "workstation", "two-layer-linear.networks", 9, "demo"),
        ("cracking-fig4", "workstation", "two-layer-linear.networks", 10, "workstation"),
        ("cracking-fig4", "demo", "two-layer-linear.networks", 3, "demo"),
        # The workstation's rates change from a larger size on.
        ("cracking-fig16", "paper", "two-layer-relu.networks", 10, "workstation"),
        ("cracking-fig16", "paper", "two-layer-relu.large_size", 1, "paper"),
        # The study names those that it takes of the ensemble.
        ("dissecting-fig2", "workstation", "digit-classifiers.networks", ["F"], "workstation"),
        ("dissecting-fig2", "workstation", "digit-classifiers.seeds", 3, "demo"),
    ],
)
def test_a_run_of_smaller_sizes_has_not_reached_the_papers_scale(
    study, scale, key, value, expected
):
    config = changed(composed(scale), {f"networks.{key}": value})
    assert reached(scale, settings_of(config, study)) == expected


@pytest.mark.parametrize("scale", SCALES)
def test_what_conf_has_at_a_scale_reaches_it(scale):
    config = composed(scale)
    for name in config["studies"]:
        assert reached(scale, settings_of(config, name)) == scale, name


@pytest.mark.parametrize(("width", "expected"), [(3, "demo"), (10, "paper")])
def test_the_scale_of_today_is_the_one_that_its_sizes_reach(width, expected):
    config = changed(composed("paper"), {"studies.cracking-fig7.width": width})
    assert inputs.provenances(config, "cracking-fig7")[0].scale == expected


def test_a_study_may_have_a_number_of_networks_of_its_own():
    config = composed("paper")
    assert reached("paper", settings_of(config, "cracking-fig11")) == "paper"
    fewer = changed(config, {"studies.cracking-fig11.networks": 5})
    assert reached("paper", settings_of(fewer, "cracking-fig11")) != "paper"


def test_the_data_of_the_networks_depart_as_well():
    papers = {
        "studies": {"mine": {}},
        "networks": {"few": {"width": 2}},
        "data": {"text": {"v": 3}},
    }
    networks, data = {"few": {"data": "text", "width": 2}}, {"text": {"v": 4}}
    actual = departures(Settings("mine", {"ensemble": "few"}, networks, data), papers)
    assert actual == {"data.sets.text.v": [4, 3]}


def test_a_papers_value_changes_what_is_said_and_nothing_that_is_computed(monkeypatch, tmp_path):
    # Whose digests are no settings, and take a while.
    monkeypatch.setattr(inputs, "made_by", lambda *_: {"code": {"names": ""}, "versions": {}})

    def written(width):
        papers = changed(PUBLISHED, {"studies.cracking-fig1.width": width})
        monkeypatch.setattr(inputs, "published", lambda: papers)
        inputs.write(tmp_path, composed("demo"))
        return {
            file.relative_to(tmp_path).as_posix(): read_json(file, "")
            for file in tmp_path.rglob("*.json")
        }

    before, after = written(10), written(12)
    differing = {name for name in before if after[name] != before[name]}
    assert differing == {"singh2026cracking/paper.json"}
    today, *_ = inputs.provenances_in(after["singh2026cracking/paper.json"])["cracking-fig1"]
    assert today.departs == {"width": [10, 12]}
    made = [each["singh2026cracking/paper.json"]["settings"]["made"] for each in (before, after)]
    assert {name for name in made[0] if made[0][name] != made[1][name]} == {"cracking-fig1"}


@pytest.mark.parametrize("name", PUBLISHED["studies"])
def test_what_departs_is_what_would_have_to_be_overridden(name):
    """Each key with the paper's value, as an override: then nothing departs."""
    actual = departing(composed("demo"), name)
    assert json.loads(json.dumps(actual)) == actual
    full = {
        key if key.startswith(("networks.", "data.sets.")) else f"studies.{name}.{key}": values
        for key, values in actual.items()
    }
    for key, (here, _) in full.items():
        assert reduce(getitem, key.split("."), composed("demo")) == here
    papers = {key: paper for key, (_, paper) in full.items()}
    assert departing(changed(composed("demo"), papers), name) == {}


def test_numbers_are_compared_as_numbers():
    published = {"studies": {"mine": {"norm": 1.0, "sizes": [1, 2]}}, "networks": {}, "data": {}}
    same = {"norm": 1, "sizes": [1.0, 2.0]}
    assert departures(Settings("mine", same, {}, {}), published) == {}


def test_a_study_of_ones_own_departs_in_nothing():
    mine = Settings("mine", {"width": 3, "data": "wedge"}, {}, {})
    assert departures(mine, PUBLISHED) == {}


def test_what_was_not_kept_of_a_run_is_not_compared():
    study = dict(composed("paper")["studies"]["cracking-fig10"])
    assert departures(Settings("cracking-fig10", study, {}, {}), PUBLISHED) == {}
    del study["depth"]  # a key that there was not yet
    study["activation"] = "relu"
    differing = departures(Settings("cracking-fig10", study, {}, {}), PUBLISHED)
    assert differing == {"activation": ["relu", "linear"]}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.parent.name)
def test_a_recorded_run_has_the_configuration_of_its_digest(file):
    facts = json.loads(file.read_text())
    for key, digest in facts["configuration"].items():
        assert schema.digest(facts[key]) == digest, key
