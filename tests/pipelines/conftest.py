"""Stages of these tests are forks of one warm process, as those of `make repro` are."""

import os
import sys

import pytest

from pipelines import stage
from pipelines.reproduce import warm_process


@pytest.fixture(scope="session", autouse=True)
def _warm():
    with warm_process() as warmth, pytest.MonkeyPatch.context() as patch:
        for name, value in warmth.items():
            patch.setitem(os.environ, name, value)
        yield


@pytest.fixture
def ends(monkeypatch, tmp_path, settings):
    """Run an entry point in an empty folder, with the settings of a module; its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    monkeypatch.setattr(stage, "CONF", settings)

    def run(work, reads, *arguments, estimates=False, collect=None):
        monkeypatch.setattr(sys, "argv", ["stage", *arguments])
        with pytest.raises(SystemExit) as ended:
            stage.run(work, reads, estimates, collect)
        return ended.value.code

    return run
