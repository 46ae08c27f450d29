"""Uploading runs that were recorded offline."""

import os
import re
import subprocess
import sys
from pathlib import Path

from hessian_papers.tracking.server import why_not_online
from hessian_papers.tracking.settings import Timeouts, resolve_mode, say

# Where the client copies the files of a run's artifacts, below the run's folder.
STAGING = "staging"
# What a run leaves in its folder that came to its end: the names of the metrics that it logged.
ENDED = "ended"
PATIENCE = Timeouts()


def runs_of(directory: Path, run_id: str = "*") -> list[Path]:
    """The folders of the offline runs below a directory, or of those with an id."""
    return sorted((directory / "wandb").glob(f"offline-run-*-{run_id}"))


def is_whole(folder: Path) -> bool:
    """Whether a run came to its end, so that nothing of it has to be logged again."""
    return (folder / ENDED).is_file() or is_uploaded(folder)


def logged(directory: Path, job_type: str) -> set[str]:
    """The names of the metrics that runs of a stage logged here, of those that came to their end.

    Args:
        directory: below it the client keeps its folder ``wandb``.
        job_type: the stage, with which the ids of its runs begin.
    """
    ended = (directory / "wandb").glob(f"*run-*-{job_type}-*/{ENDED}")
    return {name for file in ended for name in file.read_text("utf-8").splitlines()}


def is_uploaded(folder: Path) -> bool:
    """Whether a run's folder bears the mark that ``wandb sync`` leaves."""
    return any(folder.glob("*.wandb.synced"))


def _moved(folder: Path) -> str | None:
    """The link without which a run that was moved is not whole; ``None`` if it is where it was.

    It names its artifacts, tables among them, by their whole paths; the client uploads the others,
    and says nothing.
    """
    paths = rb"(/[^\x00-\x1f]*/%b)/%b/" % (re.escape(os.fsencode(folder.name)), STAGING.encode())
    content = b"".join(file.read_bytes() for file in folder.glob("*.wandb"))
    named = re.findall(paths, content)
    # Before some of them stand bytes that are no part of the path.
    before = max(named, key=named.count, default=b"")
    if not before or os.path.isdir(before):
        return None
    old = Path(os.fsdecode(before))
    lead = f"mkdir -p {old.parent}; ln -s {folder.absolute()} {old}"
    return f"its artifacts are sought in {old}: {lead}"


def _sync(folder: Path, limit: float) -> str | None:
    """Why a run could not be uploaded, in a few words, or ``None``: then its address was told."""
    command = [sys.executable, "-m", "wandb", "sync", str(folder.absolute())]
    # The client keeps logs of its own below the folder where it is called: beside the runs.
    place = folder.absolute().parents[1]
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the upload took more than {limit:g} s"
    address = re.search(r"https?://\S+/runs/\S+", done.stdout + done.stderr)
    if done.returncode == 0 and address:
        say(address[0])
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"wandb sync ended with code {done.returncode}"


def upload(folder: Path, timeouts: Timeouts) -> None:
    """Upload a run that was recorded offline, or say in one line why not."""
    problem = why_not_online(timeouts.answer) or _moved(folder) or _sync(folder, timeouts.finish)
    if problem is not None:
        say(f"{problem}; the run is kept offline, later: wandb sync {folder}")


def upload_waiting(
    directory: Path, mode: str, timeouts: Timeouts = PATIENCE, run_id: str = "*"
) -> None:
    """Upload each offline run that was not uploaded yet, with one line for each, if runs go online.

    Otherwise nothing is done, and the client is not even loaded. A server that cannot be reached
    is one line and no error: nothing is lost, and the next call tries again.

    Args:
        directory: below it the client keeps its folder ``wandb``; no run there is being written.
        mode: ``offline``, ``online`` or ``disabled``; the variable ``WANDB_MODE`` goes before.
        timeouts: how long W&B may take.
        run_id: of one run alone.

    Raises:
        TrackingError: an unknown mode.
    """
    if resolve_mode(mode) != "online":
        return
    waiting = [folder for folder in runs_of(directory, run_id) if not is_uploaded(folder)]
    if not waiting:
        return
    problem = why_not_online(timeouts.answer)
    if problem is not None:
        kept = "1 run is" if len(waiting) == 1 else f"{len(waiting)} runs are"
        say(f"{problem}; {kept} kept offline, later: wandb sync --yes")
        return
    for folder in waiting:
        upload(folder, timeouts)
