"""Offline runs read back with W&B's own reader."""

import json
import subprocess
import time
from dataclasses import dataclass
from typing import Any

# How long the service of the client may take to write the end of a run, in seconds.
PATIENCE = 10.0


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """The content of an offline run.

    Args:
        run_id: its id.
        project: name of the project.
        name: of the run.
        job_type: what kind of run it is.
        commit: of the code that ran; nothing, if it is not known.
        tags: what it is chosen by.
        notes: what it is.
        state: ``finished``, ``failed``, or ``running`` for a run that was killed.
        config: the recorded configuration.
        summary: the last value of each key; images and tables as records with their ``sha256``.
        history: one mapping a logged step.
        artifacts: for each artifact its files with their MD5 in base64, as its manifest has it.
    """

    run_id: str
    project: str
    name: str
    job_type: str
    commit: str
    tags: list[str]
    notes: str
    state: str
    config: dict[str, Any]
    summary: dict[str, Any]
    history: list[dict[str, Any]]
    artifacts: dict[str, dict[str, str]]

    @property
    def images(self):
        """The SHA-256 of each logged image, by its key."""
        return {
            key: value["sha256"]
            for key, value in self.summary.items()
            if isinstance(value, dict) and value.get("_type") == "image-file"
        }


def _inspect(file, *options):
    """The output of ``wandb leet inspect``, from its program without the client around it."""
    from wandb.util import get_core_path

    place = ["--run-file", str(file), str(file.parents[1])]
    command = [get_core_path(), "leet", "inspect", "--no-observability", "--json", *options, *place]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{file} cannot be read: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _overview(file):
    """The summary of a run, when its end is written: the client does not wait for its service."""
    end = time.monotonic() + PATIENCE
    while True:
        overview = json.loads(_inspect(file, "--summary"))
        if overview["state"] != "running" or time.monotonic() > end:
            return overview
        time.sleep(0.1)


def read_back(directory):
    """Read an offline run.

    Args:
        directory: the run's own folder, which holds one ``.wandb`` file.

    Raises:
        ValueError: there is no such file, or it cannot be read.
    """
    files = sorted(directory.glob("*.wandb"))
    if len(files) != 1:
        raise ValueError(f"{directory}: expected one .wandb file, found {len(files)}")
    overview = _overview(files[0])
    if not overview["run_id"]:
        raise ValueError(f"{files[0]} cannot be read: there is no run in it")
    records = [json.loads(line) for line in _inspect(files[0]).splitlines()]
    about = next(record["run"] for record in records if record["type"] == "run")
    artifacts = {
        record["artifact"]["name"]: {
            entry["path"]: entry["digest"]
            for entry in record["artifact"]["manifest"].get("contents", [])
        }
        for record in records
        if record["type"] == "artifact"
    }
    return RunFile(
        run_id=overview["run_id"],
        project=overview["project"],
        name=overview["name"],
        job_type=about.get("job_type", ""),
        commit=about.get("git", {}).get("commit", ""),
        tags=about.get("tags", []),
        notes=about.get("notes", ""),
        state=overview["state"],
        config=overview["config"],
        summary=overview["summary"],
        history=[record["history"]["item"] for record in records if record["type"] == "history"],
        artifacts=artifacts,
    )
