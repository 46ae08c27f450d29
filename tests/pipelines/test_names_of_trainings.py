"""Names of trainings: each in words that people read, and no two alike."""

import re
from functools import cache

import hydra
import numpy as np
import pytest
import xarray as xr
from omegaconf import OmegaConf

from hessian_papers.compute.items import names
from hessian_papers.data.images import name_of
from hessian_papers.studies.pac_bayes.bounds import study as bounds
from hessian_papers.work import FanOut
from pipelines import schema
from pipelines.folders import CONF

# A name is read in a narrow column.
LONGEST = 80
IMAGES = 60_000


@cache
def composed(scale):
    """The settings of a scale."""
    with hydra.initialize_config_dir(str(CONF.absolute()), version_base="1.3"):
        return schema.at_scale(hydra.compose("config", [f"scale={scale}"]))


def given(config, name):
    """A data set, as far as it tells what is trained on it: images of no size, a text of a word."""
    sets = config.data.sets[name]
    if sets.kind == "text":
        return xr.Dataset({"vocabulary": 300, "train": ("token", np.zeros(1000, np.uint16))})
    if sets.kind != "images":
        samples = np.zeros((4, 1))
        return xr.Dataset(
            {"x": (("sample", "input"), samples), "y": (("sample", "output"), samples)}
        )
    classes = np.arange(IMAGES) % 10
    own = OmegaConf.to_container(sets).get("classes") or range(10)
    return xr.Dataset(
        {
            "source": ("source", [*map(name_of, sets.sources)]),
            "random_labels": ("source", [False] * len(sets.sources)),
            "images": (
                ("source", "image", "row", "column", "channel"),
                np.zeros((len(sets.sources), IMAGES, 1, 1, 1), np.uint8),
            ),
            "labels": (
                ("source", "image"),
                np.stack([np.array(own)[classes]] * len(sets.sources)),
            ),
        }
    )


def ensemble(networks):
    """Trained networks, as much of them as tells which there are."""
    seeds = [*range(networks.seed, networks.seed + networks.seeds)]
    grid = np.zeros((len(networks.networks), len(seeds)), bool)
    return xr.Dataset(
        {"diverged": (("network", "seed"), grid)},
        {"network": [*networks.networks], "seed": seeds, "kept": sorted(networks.kept)},
    )


def trainings(config):
    """All that trains: its name, how, its settings and what it is given."""
    for group, path in (("networks", "networks"), ("studies", "studies")):
        for name, entry in config[group].items():
            module = schema.module_of(group, entry.kind, path)
            settings = schema.entry(config, group, name)
            if hasattr(module, "train"):
                data = given(config, entry.data) if entry.get("data") else xr.Dataset()
                yield name, module.train, settings, data
            for side in ("pac_bayes",) if group == "studies" else ():
                if isinstance(work := getattr(module, side, None), FanOut):
                    assert work.trains
                    networks = schema.entry(config, "networks", entry.ensemble)
                    yield name, work, settings, ensemble(networks)


@pytest.mark.parametrize("scale", ["demo", "workstation", "paper"])
def test_trainings_have_names_that_people_read(scale, monkeypatch):
    monkeypatch.setattr(bounds, "kept_classifier", lambda *which: str(which))
    called = {}
    for name, work, settings, data in trainings(composed(scale)):
        items = {str(place): item for place, item in enumerate(work.items(settings, data))}
        made = names(items, data, work.words)
        for text in made.values():
            title = f"train {text} ({name})" if text else f"train {name}"
            assert title not in called, "each is another's in the group as well"
            called[title] = name
            assert text or not work.spreads
    assert len({*called.values()}) > 30
    for title in called:
        assert len(title) <= LONGEST, title
        # Parentheses hold the networks or the study, and those of an architecture.
        assert not re.search(r"[\[\]{}'\"/\\_]|[0-9a-f]{12}", title), title
    first = {name: title for title, name in reversed(called.items())}
    images = {"demo": "digits", "workstation": "CIFAR-10", "paper": "CIFAR-10"}[scale]
    assert (
        first["photograph-classifiers"] == f"train LeNet5 {images}, seed 0 (photograph-classifiers)"
    )
    assert first["gpt2"] == "train GPT-2 attention, seed 0 (gpt2)"
    assert re.fullmatch(
        r"train 2-layer linear, sp, D = 1, teacher 0(, part 1)? \(two-layer-linear\)",
        first["two-layer-linear"],
    )
