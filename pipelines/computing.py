"""From a configuration to data sets: samples, networks, and each side of a study.

Under DVC each is read from the file of the stage that makes it. Without DVC it is computed on the
spot from the same configuration, so that a run with overrides never meets a file that was made with
others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import xarray as xr
from omegaconf import OmegaConf

from hessian_papers import labelled
from hessian_papers.compute import Computation
from hessian_papers.data.base import Form
from hessian_papers.networks.tools.divergence import noted
from hessian_papers.networks.tools.result import read as read_networks
from hessian_papers.processes import cores
from hessian_papers.progress import say
from hessian_papers.results import SCALES, SIDES, folder_of
from hessian_papers.studies.base import EnsembleStudyConfig
from hessian_papers.work import FanOut, Live, unseen
from hessian_spectra.progress import duration
from hessian_spectra.validation import one_of
from pipelines import schema
from pipelines.folders import MAP, WANDB
from pipelines.inputs import stage_times
from pipelines.stage import ESTIMATE, Context, Estimated, no_estimate

# Finished items of computations that fan out, and unfinished trainings. They are named by their
# content, so every run with the same code and configuration finds them, and no other run does.
SHARDS = WANDB / "results" / "shards"


@dataclass(frozen=True)
class Study:
    """A study with its typed configuration and its module."""

    name: str
    config: Any
    module: ModuleType


def study_of(context: Context) -> Study:
    """The study that a stage works on."""
    config = schema.entry(context.config, "studies", context.name)
    module = schema.module_of("studies", config.kind, f"studies.{context.name}")
    return Study(context.name, config, module)


def data_set(context: Context, name: str) -> xr.Dataset:
    """The samples of a data set."""
    if context.locked:
        return labelled.read(context.results / "data" / f"{name}.nc")
    config = schema.entry(context.config, "data", name)
    storage = schema.storage_of(context.config)
    made: xr.Dataset = schema.module_of("data", config.kind, f"data.sets.{name}").make(
        config, storage
    )
    return made


def _samples(context: Context, config: Any, path: str) -> xr.Dataset:
    """The samples that a study, or networks, are made from; nothing if they name no data set.

    Args:
        context: of the stage.
        config: of the study or the networks.
        path: where they stand in the configuration, for the message.

    Raises:
        ConfigError: a file, which the settings say little of, holds others than they take.
    """
    if (name := getattr(config, "data", None)) is None:
        return xr.Dataset()
    data = data_set(context, name)
    if (form := Form.of(data)) and hasattr(config, "require_data"):
        try:
            config.require_data(form)
        except ValueError as error:
            raise schema.refused(error, path) from None
    return data


def spread(context: Context, name: str, work: FanOut, config: Any, given: xr.Dataset) -> Any:
    """The result of a computation that fans out, through the launcher.

    Raises:
        Estimated: only an estimate of the time was asked for.
        FanOutError: some items failed each time.
    """
    computation = _computation(context, name, work, config, given)
    result = computation.run(context.launcher)
    context.count(name, computation.spent())
    return result


def _computation(
    context: Context, name: str, work: FanOut, config: Any, given: xr.Dataset
) -> Computation:
    """A computation, unless only an estimate of its time was asked for.

    Raises:
        Estimated: it was, and the computation spreads.
    """
    live = unseen if context.estimate or not work.trains else _live(context, name)
    computation = Computation(
        name=name, work=work, config=config, given=given, folder=SHARDS, live=live
    )
    if context.estimate:
        if not work.spreads:
            raise no_estimate(f"the training of {name}")
        raise Estimated(computation.estimate(context.launcher))
    return computation


def train(context: Context, name: str) -> xr.Dataset:
    """Train the networks of an entry of ``networks``, or those that a study trains for itself.

    They are kept in ``networks/<name>`` below the context's results.

    Raises:
        Estimated: only an estimate of the time was asked for.
        FanOutError: some items failed each time.
        ValueError: there are no networks of that name.
    """
    config, work, data = _training(context, name)
    computation = _computation(context, name, work, config, data)
    networks = computation.train(context.launcher, context.results / "networks" / name)
    if work.spreads:
        context.count(name, computation.spent())
    return networks


def _live(context: Context, name: str) -> Live:
    """Runs of trainings on W&B, one each in the group of the configuration."""
    # wandb takes a second to load, and few stages train.
    from hessian_papers import tracking
    from pipelines import described

    settings = vars(context.tracking) | {"group": context.group, "job_type": "train"}
    about = described.training(name, schema.plain(context.whole))
    return tracking.LiveRuns(**settings, directory=WANDB.absolute(), about=about)


def _training(context: Context, name: str) -> tuple[Any, FanOut, xr.Dataset]:
    """The configuration of networks, how they are trained, and on what data.

    Raises:
        Estimated: only an estimate was asked for, and the networks have one of their own.
    """
    if name in (OmegaConf.select(context.config, "networks") or {}):
        config = schema.entry(context.config, "networks", name)
        module = schema.module_of("networks", config.kind, f"networks.{name}")
        if context.estimate and hasattr(module, "forecast"):
            raise Estimated(module.forecast(config, name=name, **_trial(context, config)))
        return config, module.train, _samples(context, config, f"networks.{name}")
    if name not in context.config.studies:
        known = [*context.config.networks, *context.config.studies]
        raise ValueError(
            f"unknown networks or study {name!r}: expected {one_of(sorted(known), name, MAP)}"
        )
    study = study_of(context)
    if not hasattr(study.module, "train"):
        raise ValueError(f"only: expected networks or a study that trains, got {name!r}")
    return (
        study.config,
        study.module.train,
        _samples(context, study.config, f"studies.{study.name}"),
    )


def _trial(context: Context, config: Any) -> dict[str, int]:
    """The settings of a forecast of language models, without their text."""
    if context.locked:
        vocabulary = int(data_set(context, config.data)["vocabulary"])
    else:
        vocabulary = schema.entry(context.config, "data", config.data).known_vocabulary
    # A job of a cluster has a machine, or what it may use of one, for itself.
    launcher = context.launcher
    alone = launcher.cluster != "local"
    return {"vocabulary": vocabulary, "workers": 1 if alone else launcher.workers or cores()}


def networks_of(context: Context, study: Study) -> xr.Dataset:
    """The networks that a study evaluates, several studies' or its own, or else its samples.

    Nothing, if it has no data set either.
    """
    shared = isinstance(study.config, EnsembleStudyConfig)
    name = study.config.ensemble if shared else study.name
    if not shared and not hasattr(study.module, "train"):
        return _samples(context, study.config, f"studies.{study.name}")
    if context.locked:
        return read_networks(context.results / "networks" / name)
    return train(context, name)


def evaluate(
    context: Context, study: Study, side: str, given: xr.Dataset | None = None
) -> xr.Dataset:
    """One side of a study.

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
    if context.estimate and not isinstance(work, FanOut):
        raise no_estimate(f"the {side} side of {study.name}")
    start = networks_of(context, study) if given is None else given
    spreads = isinstance(work, FanOut)
    settings = study.config, start
    result = spread(context, study.name, work, *settings) if spreads else work(*settings)
    return noted(result, start)


def all_sides(
    context: Context, study: Study, given: xr.Dataset | None = None
) -> dict[str, xr.Dataset]:
    """The data sets of all sides of a study, computed on the spot.

    Args:
        context: of the stage.
        study: the study.
        given: what the study evaluates, if it is at hand.
    """
    sides = [side for side in SIDES if hasattr(study.module, side)]
    if context.estimate:
        # Of what fans out, if there is any.
        sides.sort(key=lambda side: not isinstance(getattr(study.module, side), FanOut))
    else:
        say(study.name, _foreseen(context, study, sides, given is None))
    given = networks_of(context, study) if given is None else given
    results = {}
    for side in sides:
        if not context.estimate:
            say(study.name, f"{side.replace('_', ' ')} ...")
        results[side] = evaluate(context, study, side, given)
    return results


def _foreseen(context: Context, study: Study, sides: Sequence[str], begins: bool) -> str:
    """The steps of a study in words, and how long they took on the machine of `conf`.

    Args:
        context: of the stage.
        study: the study.
        sides: those that are computed.
        begins: whether what they evaluate is computed before them.
    """
    config, own = study.config, hasattr(study.module, "train")
    name = getattr(config, "ensemble", study.name if own else "")
    steps = {f"train@{name}": "its trainings" if own else f"the networks {name}"}
    steps = steps if begins and name else {}
    steps |= {f"{side}@{study.name}": side.replace("_", " ") for side in sides}
    times = stage_times()
    known = times.get("stages", {}) if context.config.scale == SCALES[-1] else {}
    words = [
        f"{step} ({duration(known[stage])})" if stage in known else step
        for stage, step in steps.items()
    ]
    data = f"on the data {config.data}, " if begins and hasattr(config, "data") else ""
    text = f"{data}{', '.join(words)}"
    if known:
        text += f"; times of conf's own settings, one core of {times['processor']}"
    works = [getattr(study.module, side, None) for side in (*sides, "train")]
    spread = (name and not own) or any(isinstance(w, FanOut) and w.spreads for w in works)
    return f"{text}; {ESTIMATE} tells those of yours" if spread else text


def compute(context: Context) -> None:
    """Compute a study on the spot, without DVC, into the folder of the run."""
    study = study_of(context)
    folder = folder_of(context.results, study.config.paper, study.name)
    for side, data in all_sides(context, study).items():
        labelled.write(folder / f"{side}.nc", data)
