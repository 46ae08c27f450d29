"""A source archive, which has no Git repository: what `make repro` begins with works in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.workspace import copy_files, cut_down, environment

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("archive")]

# In place of all stages the first ones, by DVC as in `make repro`.
PYTHON = """#!/bin/sh
case "$*" in
  "-m pipelines.reproduce") exec dvc repro survey ;;
esac
exec {python} "$@"
"""


@pytest.fixture
def archive(tmp_path):
    folder = tmp_path / "archive"
    copy_files(folder)
    cut_down(folder)
    (folder / "mine" / "bin").mkdir(parents=True)
    python = folder / "mine" / "bin" / "python"
    python.write_text(PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    (folder / "mine" / "ready").touch()
    return folder


def make(folder: Path) -> subprocess.CompletedProcess[str]:
    limited = environment() | {"GIT_CEILING_DIRECTORIES": os.fspath(folder.parent)}
    command = ("make", "repro", "VENV=mine")
    return subprocess.run(
        command, cwd=folder, env=limited, capture_output=True, text=True, timeout=240
    )


def test_it_runs_without_git_and_says_what_needs_it(archive):
    done = make(archive)
    assert done.returncode == 0, done.stderr
    assert (archive / "results" / "inputs" / "ledger.json").is_file()
    said = (
        "No git repository here: DVC works without one; what compares commits (dvc exp, evidence)"
    )
    assert sum(line.startswith(said) for line in done.stdout.splitlines()) == 1
    assert "no_scm = true" in (archive / ".dvc" / "config.local").read_text("utf-8")


def test_a_repository_stays_one_of_git(archive):
    subprocess.run(("git", "init", "--quiet"), cwd=archive, check=True)
    done = make(archive)
    assert done.returncode == 0, done.stderr
    assert "No git repository" not in done.stdout
    assert not (archive / ".dvc" / "config.local").exists()
