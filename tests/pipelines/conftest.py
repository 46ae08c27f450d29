"""Stages of these tests are forks of one warm process, as those of `make repro` are."""

import os

import pytest

from pipelines.reproduce import warm_process


@pytest.fixture(scope="session", autouse=True)
def _warm():
    with warm_process() as warmth, pytest.MonkeyPatch.context() as patch:
        for name, value in warmth.items():
            patch.setitem(os.environ, name, value)
        yield
