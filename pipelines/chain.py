"""The runs of studies, today's and recorded ones, as figures and claims are made of them."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from hessian_papers import labelled
from hessian_papers.drawing.record import Origin
from hessian_papers.ledger.evaluation import Measured
from hessian_papers.ledger.statements import Study as ClaimedStudy
from hessian_papers.results import sides_of
from pipelines import computing, inputs, recorded, schema
from pipelines.stage import Context, no_estimate


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
        computing.compute(context)
    elif context.estimate:
        raise no_estimate("the drawing of a figure")
    about = about_of(context)
    runs = measured({name: config}, about, context.results)
    return [_drawing(name, run, about[name]) for run in runs]


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
