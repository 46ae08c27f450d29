"""Any setting that the schema accepts goes through sides, figure and claims."""

from collections.abc import Iterator
from contextlib import closing

import hydra
import pytest

from hessian_spectra.report import commands
from pipelines import schema
from tests.pipelines.overrides import Override, Refused, Sampler, compose
from tests.pipelines.workspace import ROOT

# Overrides of each kind of studies. More and others: change the two numbers.
NUMBER, SEED = 3, 0
KINDS = list(schema.kinds("studies"))
# What users tried first.
NAMED = [
    Override("cracking-fig4", ("studies.cracking-fig4.parametrisations=[sp]",)),
    Override("cracking-fig15", ("studies.cracking-fig15.parametrisations=[mup]",)),
    Override("cracking-fig19", ("studies.cracking-fig19.parametrisations=[ntp]",)),
    Override("cracking-d33", ("studies.cracking-d33.parametrisations=[sp]",)),
    Override("cracking-fig26", ("networks.two-layer-linear.networks=20",)),
    Override("cracking-fig16", ("networks.two-layer-relu.sizes=[20,50]",)),
    Override("cracking-fig21", ("networks.deep-relu.depths=[4]",)),
    Override("cracking-fig14", ("studies.cracking-fig14.target=trace",)),
    Override("cracking-fig4", ("studies.cracking-fig4.norms=[spectral]",)),
    Override("cracking-fig4", ("studies.cracking-fig4.sizes=[1]",)),
    Override("cracking-fig12", ("studies.cracking-fig12.sizes=[4]",)),
]


@pytest.fixture(scope="module")
def sampler() -> Iterator[Sampler]:
    with closing(Sampler(compose())) as found:
        yield found


def unlawful(sampler: Sampler, overrides: list[Override]) -> list[str]:
    """What is wrong under some overrides, one line each; nothing is of those that are refused."""
    found = []
    for override in overrides:
        try:
            problems = sampler.run(*override)
        except Refused:
            continue
        found += [f"{' '.join(override.settings)}: {problem}" for problem in problems]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_sampled_setting_reaches_the_ledger(sampler, kind):
    overrides = list(sampler.sample(kind, NUMBER, SEED))
    assert len(overrides) == NUMBER
    found = unlawful(sampler, overrides)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("override", NAMED, ids=lambda override: override.settings[0])
def test_a_setting_that_users_tried_reaches_the_ledger(sampler, override):
    found = sampler.run(*override)  # and is not refused
    assert not found, "\n".join(found)


def composed(*overrides):
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return schema.validate(hydra.compose("config", overrides=list(overrides)))["studies"]


def test_what_the_page_gives_as_examples_is_valid():
    """One change of each study; those of networks are the same for all that study them."""
    studies = composed()
    changes = {commands.override(name, config)[0] for name, config in studies.items()}
    changed = composed(*sorted(changes))
    same = {name for name, config in studies.items() if changed[name] == config}
    assert same <= {name for name, config in studies.items() if "ensemble" in config}
    assert len(same) < len(studies) / 4


def test_there_are_sixty():
    assert NUMBER * len(KINDS) + len(NAMED) >= 60


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("studies.cracking-fig4.confidence=1.0", "confidence': expected a number between 0 and 1"),
        ("studies.cracking-fig4.sizes=[7]", "sizes: expected some of two-layer-linear's, 1, 2, 5"),
        ("studies.cracking-fig4.parametrisations=[spp]", "parametrisations: expected some of"),
    ],
)
def test_what_is_no_setting_is_refused(sampler, setting, message):
    with pytest.raises(Refused, match=message):
        sampler.run("cracking-fig4", [setting])
