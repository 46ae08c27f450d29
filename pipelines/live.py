"""Live W&B runs beside a computation that takes a while."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from hessian_spectra.studies.base import Log
from pipelines.chain import Study
from pipelines.stage import Context


def folder() -> Path:
    """Where W&B keeps its runs: beside the repository's files, also for a queued experiment."""
    return Path(os.environ.get("DVC_ROOT", "."))


@contextlib.contextmanager
def run(context: Context, stage: str, study: Study) -> Iterator[Log]:
    """A run for one stage of one study; the block is given the function that logs to it."""
    # wandb takes a second to load, and only here is it needed.
    from hessian_spectra import tracking

    with tracking.start_run(
        project=context.tracking.project,
        entity=context.tracking.entity,
        group=context.group,
        job_type=stage,
        name=f"{stage} {study.name}",
        config=asdict(study.config),
        directory=folder(),
        mode=context.tracking.mode,
        # A repeated stage replaces the offline run of its killed predecessor.
        run_id=f"{stage}-{study.name}-{context.group}",
    ) as started:
        yield started.log
