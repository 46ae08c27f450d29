"""Offline runs read back with W&B's own reader."""

import json
import subprocess
import time
from types import SimpleNamespace

# How long the service of the client may take to write the end of a run, in seconds.
PATIENCE = 10.0


# What is found of a run among its first words, and what stands there where nothing is known.
ABOUT = {"job_type": "", "run_group": "", "tags": [], "notes": ""}


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

    Returns:
        What it is, as ``wandb.init`` names it; its ``state``: ``finished``, ``failed``, or
        ``running`` of a run that was killed; the last value of each key in its ``summary``, one
        mapping a logged step in its ``history``; of its ``artifacts`` the files with their MD5 in
        base64, as their manifest has it; the SHA-256 of each logged image in ``images``.

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
    names = ("run_id", "project", "name", "state", "config", "summary")
    return SimpleNamespace(
        **{name: overview[name] for name in names},
        **{name: about.get(name, nothing) for name, nothing in ABOUT.items()},
        commit=about.get("git", {}).get("commit", ""),
        history=[record["history"]["item"] for record in records if record["type"] == "history"],
        artifacts=artifacts,
        images={
            key: value["sha256"]
            for key, value in overview["summary"].items()
            if isinstance(value, dict) and value.get("_type") == "image-file"
        },
    )
