"""The way from a configuration to a figure, one link per stage.

Under DVC each link reads the files of the one before it. Without DVC a link is computed on the spot
from the same configuration, so that ``python -m pipelines.figures only=<study> <overrides>`` never
meets a file that was made with other overrides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from omegaconf import OmegaConf

from hessian_spectra.results import Arrays, read_arrays
from hessian_spectra.studies.base import Log, silent
from pipelines import schema
from pipelines.stage import Context


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
    """The sides that a figure is drawn from: both, unless its module has its own ``SIDES``."""
    return getattr(figure_module, "SIDES", ("closed_form", "numerics"))


def data_set(context: Context, name: str) -> Arrays:
    """The arrays of a data set."""
    if context.locked:
        return read_arrays(context.results / "data" / f"{name}.npz")
    config = schema.entry(context.config, "data", name)
    return schema.module_of("data", config.kind, f"data.sets.{name}").make(config)


def networks(context: Context, study: Study, log: Log = silent) -> Arrays:
    """The weights and data at which a study evaluates Hessians."""
    if not study.trains:
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
    """Train a study's networks.

    Raises:
        ValueError: the study does not train.
    """
    must_train(study)
    return study.module.train(study.config, data_set(context, study.config.data), log)


def evaluate(context: Context, study: Study, side: str) -> Arrays:
    """One side of a study: ``closed_form`` or ``numerics``.

    Raises:
        ValueError: the study has no such side.
    """
    function = getattr(study.module, side, None)
    if function is None:
        raise ValueError(f"only: expected a study with a {side} side, got {study.name!r}")
    return function(study.config, networks(context, study))


def both_sides(context: Context, name: str, sides: Sequence[str]) -> tuple[Arrays, Arrays]:
    """What a figure is made from: closed-form and numerics arrays, ``{}`` where there are none.

    Under DVC the study's module, and with it torch, is never imported.
    """
    if context.locked:
        found = {side: read_arrays(path_of(context, side, name)) for side in sides}
    else:
        study = study_of(context)
        found = {side: evaluate(context, study, side) for side in sides}
    return found.get("closed_form", {}), found.get("numerics", {})


def path_of(context: Context, stage: str, name: str) -> Path:
    """Where a stage's arrays for one study or data set are."""
    return context.results / stage / f"{name}.npz"
