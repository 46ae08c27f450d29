"""Any setting that the schema accepts goes through sides, figure and claims."""

from collections.abc import Iterator
from contextlib import closing

import hydra
import pytest

from hessian_papers.report import commands
from pipelines import schema
from pipelines.yaml_files import read_yaml
from tests.pipelines.overrides import Override, Refused, Sampler, compose
from tests.pipelines.workspace import ROOT

# Overrides of each kind of studies. More and others: change the two numbers.
NUMBER, SEED = 2, 0
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
    Override("inputs-and-teacher", ("networks.linear-by-inputs.parametrisations=[mup]",)),
]
# Learning rates at which trainings diverge, of each kind of networks and of what trains for itself.
RATES = {
    "cracking-d33": "networks.two-layer-linear.learning_rates.mup",
    "cracking-fig4": "networks.two-layer-linear.large_learning_rates.sp",
    "cracking-fig16": "networks.two-layer-relu.large_learning_rates.sp",
    "low-dimension": "networks.deep-linear.learning_rates.sp",
    "cracking-fig5": "networks.gpt2.learning_rate",
    "cracking-fig6": "networks.gpt2.learning_rate",
    "gauss-newton-parts": "networks.gpt2.learning_rate",
    "dissecting-fig2": "networks.digit-classifiers.learning_rate",
    "dissecting-fig3": "networks.random-label-classifiers.learning_rate",
    "dissecting-fig4": "networks.digit-classifiers.learning_rate",
    "dissecting-fig5": "networks.digit-classifiers.learning_rate",
    "dissecting-fig6-varied": "networks.varied-classifiers.learning_rate",
    "dissecting-fig11": "networks.photograph-classifiers.learning_rate",
    "dissecting-fig29": "networks.digit-classifiers.learning_rate",
    "dissecting-fig31": "networks.ten-class-classifiers.learning_rate",
    "dissecting-table8": "networks.digit-classifiers.learning_rate",
    "dissecting-table10": "networks.two-class-classifiers.learning_rate",
    "kronecker-factors": "networks.converged-photograph-classifiers.learning_rate",
    "pac-bayes-bases": "studies.pac-bayes-bases.learning_rate",
    "closed2024-fig3": "studies.closed2024-fig3.learning_rate",
    "cracking-fig27": "studies.cracking-fig27.learning_rate",
    "diabetes-multi-input": "studies.diabetes-multi-input.learning_rate",
    "gd-subspace": "studies.gd-subspace.learning_rate",
    "learning-phases": "studies.learning-phases.head_rate",
    "data-courses": "studies.data-courses.learning_rate",
    "data-fig1c": "studies.data-fig1c.learning_rate",
    "data-fig2-raw": "studies.data-fig2-raw.learning_rate",
    "data-fig3": "studies.data-fig3.learning_rate",
    "data-fig4": "studies.data-fig4.learning_rate",
}
# From rates at which some of them do, or losses alone grow, over those at which products overflow,
# then losses, to those at which weights do. Where one ends and the next begins depends on the
# processor's rounding: language models, which are measured on their way, get them all.
FIRST_RATE, *LATER_RATES = ("10", "1e2", "150", "200", "1e3", "1500", "1e6")
KEYS = list(dict.fromkeys(RATES.values()))
DIVERGING = [
    Override(study, (f"{key}={rate}",))
    for study, key in RATES.items()
    for own in (LATER_RATES[KEYS.index(key) % len(LATER_RATES)],)
    for rate in (FIRST_RATE, *(LATER_RATES if "gpt2" in key else [own]))
]


@pytest.fixture(scope="module")
def sampler() -> Iterator[Sampler]:
    with closing(Sampler(compose())) as actual:
        yield actual


def unlawful(sampler: Sampler, overrides: list[Override]) -> list[str]:
    """The problems under some overrides, one line each; those that are refused have none."""
    actual = []
    for override in overrides:
        try:
            problems = sampler.run(*override)
        except Refused:
            continue
        actual += [f"{' '.join(override.settings)}: {problem}" for problem in problems]
    return actual


@pytest.mark.parametrize("kind", KINDS)
def test_a_sampled_setting_reaches_the_ledger(sampler, kind):
    overrides = list(sampler.sample(kind, NUMBER, SEED))
    assert len(overrides) == NUMBER
    actual = unlawful(sampler, overrides)
    assert not actual, "\n".join(actual)


@pytest.mark.parametrize("override", NAMED, ids=lambda override: override.settings[0])
def test_a_setting_that_users_tried_reaches_the_ledger(sampler, override):
    actual = sampler.run(*override)  # and is not refused
    assert not actual, "\n".join(actual)


@pytest.mark.parametrize("override", DIVERGING, ids=lambda override: override.settings[0])
def test_a_rate_at_which_training_diverges_reaches_the_ledger(sampler, override):
    actual = sampler.run(*override)
    assert not actual, "\n".join(actual)


@pytest.mark.parametrize(
    ("study", "setting", "count"),
    [
        ("dissecting-fig2", "networks.digit-classifiers.learning_rate=50", 4),
        ("dissecting-fig5", "networks.digit-classifiers.learning_rate=50", 4),
        ("cracking-fig5", "networks.gpt2.learning_rate=50", 6),
        ("cracking-fig6", "networks.gpt2.learning_rate=50", 6),
        ("dissecting-fig31", "networks.ten-class-classifiers.learning_rate=50", 4),
    ],
)
def test_where_all_diverged_figure_and_ledger_say_so(sampler, study, setting, count):
    caption, cases = sampler.said(study, [setting])
    words = f"nothing is left: all {count} trainings diverged; choose a smaller learning rate"
    assert caption == f"{words}."
    assert [case.explanation for case in cases] == [words]


@pytest.mark.parametrize(
    ("study", "setting", "count"),
    [
        # One of three groups of networks has a rate and a momentum of its own.
        ("dissecting-fig6-varied", "networks.varied-classifiers.learning_rate=50", 8),
        ("dissecting-fig4", "networks.digit-classifiers.learning_rate=4", 1),
    ],
)
def test_where_some_diverged_figure_and_ledger_say_how_many(sampler, study, setting, count):
    caption, cases = sampler.said(study, [setting])
    words = "1 training diverged and is" if count == 1 else f"{count} trainings diverged and are"
    assert caption.endswith(f" {words} left out.")
    measured = [case for case in cases if case.measured is not None]
    assert measured
    assert all(case.explanation.endswith(f"{words} left out.") for case in measured)


def test_where_every_posterior_diverged_figure_and_ledger_say_so(sampler):
    rates = ("learning_rate=50", "local_learning_rate=1e9")
    settings = [f"studies.dissecting-fig31.{rate}" for rate in rates]
    caption, cases = sampler.said("dissecting-fig31", settings)
    assert caption == "the training of every posterior diverged."
    assert len(cases) > 1
    assert all("diverged" in case.explanation for case in cases)


def test_a_posterior_that_is_sure_of_its_classes_reaches_the_ledger(sampler):
    actual = sampler.run("dissecting-fig31", ["studies.dissecting-fig31.learning_rate=1.5"])
    assert not actual, "\n".join(actual)


def test_what_the_page_gives_as_examples_is_valid():
    """One change of each study; those of networks are the same for all that study them."""
    studies = read_yaml(ROOT / "params.yaml")["studies"]
    changes = {commands.override(name, config)[0] for name, config in studies.items()}
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        composed = hydra.compose("config", overrides=sorted(changes))
    changed = schema.validate(composed)["studies"]
    same = {name for name, config in studies.items() if changed[name] == config}
    assert same <= {name for name, config in studies.items() if "ensemble" in config}
    assert len(same) < len(studies) / 4
