import signal
from pathlib import Path

import pytest
import sample_reports

from tests.pipelines.workspace import copy_repository


def pytest_configure():
    """Heed interrupts and ends, which what a shell starts in the background ignores."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def make_workspace(tmp_path_factory):
    """Make a fresh copy of the repository under a given name."""
    return lambda name: copy_repository(tmp_path_factory.mktemp(name))


@pytest.fixture(scope="session")
def sample_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `reports/` and `results/` of made-up content; not to be changed."""
    root = tmp_path_factory.mktemp("sample")
    sample_reports.write(root)
    return root
