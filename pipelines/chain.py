"""The way from a configuration to a figure, one link per stage.

Under DVC each link reads the files of the one before it. Without DVC a link is computed on the spot
from the same configuration, so that ``python -m pipelines.figures only=<study> <overrides>`` never
meets a file that was made with other overrides.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from omegaconf import OmegaConf

from hessian_spectra.results import Arrays, read_arrays
from hessian_spectra.studies.base import DataStudyConfig, EnsembleStudyConfig, Log, silent
from hessian_spectra.work import FanOut
from pipelines import schema
from pipelines.stage import Context, Estimated

# Finished items of computations that fan out. They are named by their content, so every run with
# the same code and configuration finds them, and no other run does: a queued experiment, which
# runs in a copy of the repository, shares them.
SHARDS = Path(os.environ.get("DVC_ROOT", "."), "results", "shards")


@dataclass(frozen=True)
class Study:
    """A study with its typed configuration and its module."""

    name: str
    config: Any
    module: ModuleType

    @property
    def trains(self) -> bool:
        """Whether its networks come from the stage ``train``."""
        return hasattr(self.module, "train")

    @property
    def fans_out(self) -> bool:
        """Whether its training is many independent items."""
        return isinstance(self.module.train, FanOut)


def study_of(context: Context) -> Study:
    """The study that a stage works on."""
    config = schema.entry(context.config, "studies", context.name)
    module = schema.module_of("studies", config.kind, f"studies.{context.name}")
    return Study(context.name, config, module)


def raw_study(context: Context) -> dict[str, Any]:
    """The configuration of the study that a stage works on, as plain values.

    Not checked by the study's kind, hence without torch: under DVC ``configure`` has done that.
    """
    studies = context.config.studies
    if context.name not in studies:
        schema.entry(context.config, "studies", context.name)  # raises, naming those that there are
    plain = OmegaConf.to_container(studies[context.name], resolve=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def sides(figure_module: ModuleType) -> Sequence[str]:
    """The sides that a figure is drawn from, in the order in which ``draw`` takes them."""
    return getattr(figure_module, "SIDES", ("closed_form", "numerics"))


def data_set(context: Context, name: str) -> Arrays:
    """The arrays of a data set."""
    if context.locked:
        return read_arrays(context.results / "data" / f"{name}.npz")
    config = schema.entry(context.config, "data", name)
    storage = schema.storage_of(context.config)
    return schema.module_of("data", config.kind, f"data.sets.{name}").make(config, storage)


def spread(context: Context, name: str, work: Any, config: Any, networks: Arrays) -> Arrays:
    """Call ``work(config, networks)``; if it fans out, through the launcher.

    Raises:
        Estimated: only an estimate of the time was asked for.
        ValueError: some items failed each time.
    """
    if not isinstance(work, FanOut):
        return work(config, networks)
    # submitit takes a while to load, and few stages fan out.
    from hessian_spectra import fan_out

    launcher = fan_out.Launcher(**vars(context.launcher))
    arguments = (name, work, config, networks)
    if context.estimate:
        raise Estimated(str(fan_out.estimate(*arguments, folder=SHARDS, launcher=launcher)))
    try:
        arrays = fan_out.run(*arguments, folder=SHARDS, launcher=launcher)
    except fan_out.FanOutError as error:
        raise ValueError(str(error)) from None
    context.spent[name] = fan_out.seconds(*arguments, folder=SHARDS)
    return arrays


def ensemble(context: Context, name: str) -> Arrays:
    """The arrays of an ensemble."""
    if context.locked:
        return read_arrays(context.results / "ensembles" / f"{name}.npz")
    return make_ensemble(context, name)


def make_ensemble(context: Context, name: str) -> Arrays:
    """Draw, train and measure the networks of an ensemble."""
    config = schema.entry(context.config, "networks", name)
    module = schema.module_of("networks", config.kind, f"ensembles.{name}")
    return spread(context, name, module.networks, config, {})


def networks(context: Context, study: Study, log: Log = silent) -> Arrays:
    """What a study evaluates: its data set, its trained networks, or its ensemble."""
    if isinstance(study.config, EnsembleStudyConfig):
        return ensemble(context, study.config.ensemble)
    if not study.trains:
        assert isinstance(study.config, DataStudyConfig)
        return data_set(context, study.config.data)
    if context.locked:
        return read_arrays(context.results / "train" / f"{study.name}.npz")
    return train(context, study, log)


def must_train(study: Study) -> None:
    """Refuse a study without networks to train.

    Raises:
        ValueError: the study does not train.
    """
    if not study.trains:
        raise ValueError(f"only: expected a study that trains, got {study.name!r}")


def train(context: Context, study: Study, log: Log = silent) -> Arrays:
    """Train a study's networks; if that fans out, nothing is logged.

    Raises:
        ValueError: the study does not train.
    """
    must_train(study)
    work, data = study.module.train, data_set(context, study.config.data)
    if study.fans_out:
        return spread(context, f"{study.name}-training", work, study.config, data)
    return work(study.config, data, log)


def evaluate(context: Context, study: Study, side: str, given: Arrays | None = None) -> Arrays:
    """One side of a study: ``closed_form``, ``numerics`` or ``correlation``.

    Args:
        context: of the stage.
        study: the study.
        side: which.
        given: what the study evaluates, if it is at hand.

    Raises:
        ValueError: the study has no such side.
    """
    work = getattr(study.module, side, None)
    if work is None:
        raise ValueError(f"only: expected a study with a {side} side, got {study.name!r}")
    arrays = networks(context, study) if given is None else given
    return spread(context, study.name, work, study.config, arrays)


def all_sides(context: Context, name: str, sides: Sequence[str]) -> list[Arrays]:
    """What a figure is made from: the arrays of its sides.

    Under DVC the study's module, and with it torch, is never imported.
    """
    if context.locked:
        return [read_arrays(path_of(context, side, name)) for side in sides]
    study = study_of(context)
    given = networks(context, study)
    return [evaluate(context, study, side, given) for side in sides]


def path_of(context: Context, stage: str, name: str) -> Path:
    """Where a stage's arrays for one study or data set are."""
    return context.results / stage / f"{name}.npz"
