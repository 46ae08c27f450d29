import compileall
import gc
import shutil
import signal
from functools import cache
from pathlib import Path

import pytest
import sample_reports
from playwright.sync_api import sync_playwright

from tests.pipelines.workspace import ROOT, Workspace, copy_repository, few

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_configure():
    """Heed interrupts and ends, which what a shell starts in the background ignores."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish():
    """Look for garbage in what tests make, and less often: all that is loaded stays.

    To look through it takes a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.fixture
def eager(monkeypatch):
    """The unfinished state of a training is written after every update."""
    unfinished = "hessian_spectra.training.unfinished"
    monkeypatch.setattr(f"{unfinished}.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(f"{unfinished}.CHECKPOINT_SHARE", float("inf"))


@pytest.fixture(scope="session")
def make_workspace(tmp_path_factory):
    """Make a fresh copy of the repository under a given name, its sources compiled."""

    @cache
    def original():
        workspace = copy_repository(tmp_path_factory.mktemp("original"))
        for name in ("src", "pipelines"):
            compileall.compile_dir(workspace.path / name, quiet=2)
        return workspace.path

    def make(name):
        target = tmp_path_factory.mktemp(name)
        return Workspace(Path(shutil.copytree(original(), target, dirs_exist_ok=True)))

    return make


@pytest.fixture(scope="module")
def settings(request, tmp_path_factory):
    """The configuration with the entries alone that a module's KEPT names, and what these read.

    Hydra takes more than a second to compose all of them.
    """
    folder = Path(shutil.copytree(ROOT / "conf", tmp_path_factory.mktemp("settings") / "conf"))
    few(folder, *request.module.KEPT)
    return folder


@pytest.fixture(scope="session")
def sample_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `reports/` and `results/` of made-up content; not to be changed."""
    root = tmp_path_factory.mktemp("sample")
    sample_reports.write(root)
    return root


@pytest.fixture(scope="module")
def browser():
    """A headless browser, for the pages that people look at."""
    actual = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if actual is None:
        pytest.skip(f"no browser: expected one of {', '.join(BROWSERS)} on the path")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=actual, args=list(BROWSER_FLAGS))
        yield running
        running.close()
