"""The runs of studies, today's and recorded ones, as figures and claims are made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hessian_papers import labelled
from hessian_papers.ledger.evaluation import Measured
from hessian_papers.memory import sha256
from hessian_papers.results import Provenance, folder_of, sides_of
from pipelines import computing, inputs, schema
from pipelines.folders import EVIDENCE
from pipelines.stage import Context

# Studies by paper and artifact, for texts that point to another one.
Names = Mapping[tuple[str, str], str]


def raw_study(context: Context) -> dict[str, Any]:
    """The configuration of the study that a stage works on, as plain values.

    Not checked by the study's kind, hence without torch: under DVC ``configure`` has done that.
    """
    studies = context.config.studies
    if context.name not in studies:
        schema.entry(context.config, "studies", context.name)  # raises, naming those that there are
    return schema.plain(studies[context.name])


def names_of(studies: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Studies by paper and artifact."""
    return {(config["paper"], config["artifact"]): name for name, config in studies.items()}


def measured(provenances: Sequence[Provenance], results: Path, names: Names) -> list[Measured]:
    """The runs of a study that its figure and its claims are made of.

    Args:
        provenances: of the runs, see :func:`pipelines.inputs.provenances`.
        results: the folder that holds ``<paper>/<study>/<side>.nc``.
        names: the studies that texts may point to.
    """
    config = provenances[0].config
    claims = schema.module_of("studies", config["kind"], provenances[0].study, "claims")
    return [
        Measured(
            statements=claims.statements,
            provenance=_with_arrays(each, folder),
            folder=folder,
            names=names,
        )
        for each in provenances
        for folder in [_folder(each, results)]
    ]


def _folder(run: Provenance, results: Path) -> Path:
    if run.recorded:
        return EVIDENCE / run.study
    return folder_of(results, run.config["paper"], run.study)


def _with_arrays(run: Provenance, folder: Path) -> Provenance:
    """Today's run with the digests of its arrays, where they are there; a recorded one has them."""
    files = [] if run.recorded else labelled.files_of(folder, sides_of(run.config))
    arrays = {path.name: sha256(path) for path in files if path.is_file()}
    return run if run.recorded else replace(run, arrays=arrays)


def computed(context: Context) -> list[Measured]:
    """Today's run of the study that a command works on, computed on the spot."""
    config = raw_study(context)
    computing.compute(context)
    today, *_ = inputs.provenances(schema.plain(context.config), context.name)
    return measured([today], context.results, names_of({context.name: config}))
