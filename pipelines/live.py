"""Live W&B runs beside computations that take a while."""

import os
from pathlib import Path

from hessian_spectra.work import Live
from pipelines.stage import Context


def folder() -> Path:
    """Where W&B keeps its runs: beside the repository's files, also for a queued experiment."""
    return Path(os.environ.get("DVC_ROOT", "."))


def runs(context: Context, stage: str) -> Live:
    """Runs of a stage's trainings, one each in the group of the configuration."""
    # wandb takes a second to load, and few stages train.
    from hessian_spectra import tracking

    return tracking.LiveRuns(
        project=context.tracking.project,
        entity=context.tracking.entity,
        group=context.group,
        job_type=stage,
        directory=folder().absolute(),
        mode=context.tracking.mode,
    )
