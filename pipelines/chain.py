"""The way from a configuration to a figure, one link per stage.

Under DVC each link reads the files of the one before it. Without DVC a link is computed on the spot
from the same configuration, so that ``python -m pipelines.figures only=<study> <overrides>`` never
meets a file that was made with other overrides.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import xarray as xr
from omegaconf import OmegaConf

from hessian_papers import labelled
from hessian_papers.drawing.record import Origin
from hessian_papers.ledger.evaluation import Measured
from hessian_papers.ledger.statements import Study as ClaimedStudy
from hessian_papers.networks.tools.divergence import noted
from hessian_papers.networks.tools.result import read as read_networks
from hessian_papers.results import SIDES, sides_of
from hessian_papers.studies.base import DataStudyConfig, EnsembleStudyConfig
from hessian_papers.work import FanOut, Live, cores, unseen
from pipelines import inputs, recorded, schema
from pipelines.stage import Context, Estimated, no_estimate

if TYPE_CHECKING:
    from hessian_papers.fan_out import Launcher

# Where W&B keeps its runs: of a queued experiment, which runs in a copy, in the repository itself.
WANDB = Path(os.environ.get("DVC_ROOT", "."))
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


def raw_study(context: Context) -> dict[str, Any]:
    """The configuration of the study that a stage works on, as plain values.

    Not checked by the study's kind, hence without torch: under DVC ``configure`` has done that.
    """
    studies = context.config.studies
    if context.name not in studies:
        schema.entry(context.config, "studies", context.name)  # raises, naming those that there are
    return schema.plain(studies[context.name])


def measured(
    configs: Mapping[str, Mapping[str, Any]],
    about: Mapping[str, Mapping[str, Any]],
    results: Path,
    artifacts: Mapping[str, Sequence[str]] | None = None,
) -> list[Measured]:
    """The runs of studies that claims are made of: today's, and the recorded one of each.

    Args:
        configs: the studies' configurations.
        about: what is said of the runs of each, see :func:`pipelines.inputs.about`.
        results: the folder that holds ``<study>/<side>.nc``.
        artifacts: paper and artifact of each study that texts may point to; if not given, of these.
    """
    listed = artifacts or {name: (c["paper"], c["artifact"]) for name, c in configs.items()}
    names = {(paper, artifact): name for name, (paper, artifact) in listed.items()}
    entries = []
    for name, config in configs.items():
        module = schema.module_of("studies", config["kind"], f"studies.{name}", "claims")
        runs = [(config, results / name, about[name])]
        known, damage = _recorded(name, about[name])
        if known:
            runs.append((known.config, known.folder, about[name]["recorded"]))
        entries += [
            Measured(
                statements=module.statements,
                study=ClaimedStudy(name, settings, names),
                folder=folder,
                scale=run["scale"],
                recorded=run is not about[name],
                departs=run["departs"],
                seconds=run["seconds"],
                damaged=damage,
            )
            for settings, folder, run in runs
        ]
    return entries


def damaged(context: Context) -> list[str]:
    """A line for each recorded run that does not count."""
    return [about["damaged"] for about in context.about.values() if about["damaged"]]


def _recorded(name: str, about: Mapping[str, Any]) -> tuple[recorded.Recorded | None, str]:
    """The recorded run of a study, if ``survey`` found it, or what is wrong with it."""
    known = recorded.read(name) if about["recorded"] else None
    damage = known.damage if known else about["damaged"]
    return None if damage else known, damage


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Args:
        module: draws it, or ``None`` for the statements themselves, as no figure of a paper.
        run: what it shows, with the statements that are measured on it.
        origin: where it comes from.
    """

    module: ModuleType | None
    run: Measured
    origin: Origin


def drawn(context: Context) -> list[Drawing]:
    """The figure of the study that a stage works on; under DVC that of its recorded run as well.

    Under DVC the study's module, and with it torch, is never imported.
    """
    name, config = context.name, raw_study(context)
    if not context.locked:
        compute(context)
    elif context.estimate:
        raise no_estimate("the drawing of a figure")
    about = about_of(context)
    runs = measured({name: config}, about, context.results)
    return [_drawing(name, run, about[name]) for run in runs]


def compute(context: Context) -> None:
    """Compute a study on the spot, without DVC, into the folder of the run."""
    study = study_of(context)
    for side, data in all_sides(context, study).items():
        labelled.write(context.results / study.name / f"{side}.nc", data)


def about_of(context: Context) -> Mapping[str, Any]:
    """The facts of the runs of studies; without DVC of the run itself alone."""
    if not context.about:
        about = inputs.about(schema.plain(context.config), context.name)
        context.about[context.name] = about | {"recorded": None}
    return context.about


def _drawing(name: str, run: Measured, about: Mapping[str, Any]) -> Drawing:
    """The figure of one run of a study; ``about``: see :func:`pipelines.inputs.about`."""
    config = run.study.config
    known = recorded.read(name) if run.recorded else None
    origin = Origin(
        study=name,
        config=config,
        package=f"hessian_papers.{schema.kinds('studies')[config['kind']]}",
        arrays=_digests(run.folder, sides_of(config)),
        scale=run.scale,
        facts=known.facts if known else about["facts"],
        departs=run.departs,
        overrides=about["recorded"]["overrides"] if run.recorded else {},
        damaged=run.damaged,
        recorded=run.recorded,
    )
    return Drawing(schema.figure_of(config), run, origin)


def _digests(folder: Path, sides: Iterable[str]) -> dict[str, str]:
    files = labelled.files_of(folder, sides)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


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


def spread(context: Context, name: str, work: FanOut, config: Any, given: xr.Dataset) -> Any:
    """The result of a computation that fans out, through the launcher.

    Raises:
        Estimated: only an estimate of the time was asked for.
        ValueError: some items failed each time.
    """
    # submitit takes a while to load, and few stages fan out.
    from hessian_papers import fan_out

    arguments = (name, work, config, given)
    launcher = _launcher(context, *arguments)
    try:
        live = _live(context, name) if work.trains else unseen
        result = fan_out.run(*arguments, folder=SHARDS, launcher=launcher, live=live)
    except fan_out.FanOutError as error:
        raise ValueError(str(error)) from None
    context.count(name, fan_out.spent(*arguments, folder=SHARDS))
    return result


def _launcher(
    context: Context, name: str, work: FanOut, config: Any, given: xr.Dataset
) -> "Launcher":
    """Where a computation runs, unless only an estimate of its time was asked for.

    Raises:
        Estimated: it was, and the computation spreads.
    """
    from hessian_papers import fan_out

    launcher = fan_out.Launcher(**vars(context.launcher))
    if context.estimate:
        if not work.spreads:
            raise no_estimate(f"the training of {name}")
        estimate = fan_out.estimate(name, work, config, given, folder=SHARDS, launcher=launcher)
        raise Estimated(str(estimate))
    return launcher


def train(context: Context, name: str) -> xr.Dataset:
    """Train the networks of an entry of ``networks``, or those that a study trains for itself.

    They are kept in ``networks/<name>`` below the context's results.

    Raises:
        Estimated: only an estimate of the time was asked for.
        ValueError: there are no networks of that name, or some items failed each time.
    """
    from hessian_papers import fan_out

    config, work, data = _training(context, name)
    arguments = (name, work, config, data)
    launcher = _launcher(context, *arguments)
    try:
        networks = fan_out.train(
            *arguments,
            result=context.results / "networks" / name,
            folder=SHARDS,
            launcher=launcher,
            live=_live(context, name),
        )
    except fan_out.FanOutError as error:
        raise ValueError(str(error)) from None
    if work.spreads:
        context.count(name, fan_out.spent(*arguments, folder=SHARDS))
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
        data = data_set(context, config.data) if hasattr(config, "data") else xr.Dataset()
        return config, module.train, data
    if name not in context.config.studies:
        known = [*context.config.networks, *context.config.studies]
        raise ValueError(
            f"unknown networks or study {name!r}: expected one of {', '.join(sorted(known))}"
        )
    study = study_of(context)
    if not hasattr(study.module, "train"):
        raise ValueError(f"only: expected networks or a study that trains, got {name!r}")
    return study.config, study.module.train, data_set(context, study.config.data)


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
        named = isinstance(study.config, DataStudyConfig)
        return data_set(context, study.config.data) if named else xr.Dataset()
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
    given = networks_of(context, study) if given is None else given
    sides = [side for side in SIDES if hasattr(study.module, side)]
    if context.estimate:
        # Of what fans out, if there is any.
        sides.sort(key=lambda side: not isinstance(getattr(study.module, side), FanOut))
    return {side: evaluate(context, study, side, given) for side in sides}
