"""Runs of trainings: when they begin, what they log, how they end."""

import contextlib
from types import SimpleNamespace

import pytest
from wandb_files import read_back

from hessian_papers import tracking
from hessian_papers.tracking import LiveRuns, TrackingError, start_run
from hessian_papers.tracking import run as run_module

pytestmark = pytest.mark.usefixtures("no_wandb_settings")


def test_a_run_begins_once_a_training_has_gone_on_for_a_while(monkeypatch, tmp_path):
    clock, logged = [100.0], list[tuple[int, dict[str, float]]]()

    @contextlib.contextmanager
    def start(*_):
        yield SimpleNamespace(log=lambda step, metrics: logged.append((step, metrics)))

    monkeypatch.setattr(run_module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(LiveRuns, "_start", start)
    runs = LiveRuns(project="p", group="g", job_type="train", directory=tmp_path, after=5.0)
    with runs("short", "1", {}) as log:
        log(0, {"loss": 2.0})
    assert logged == []
    with runs("long", "2", {}) as log:
        for step, elapsed in enumerate((0, 4.5, 5, 7)):
            clock[0] = 100 + elapsed
            log(step, {"loss": float(step)})
            assert len(logged) == (0 if elapsed < 5 else step + 1)
    assert logged == [(step, {"loss": float(step)}) for step in range(4)]


def test_the_environment_goes_before_the_configuration(monkeypatch):
    assert tracking.resolve_mode("offline") == "offline"
    with pytest.raises(TrackingError, match=r"tracking\.mode: expected one of offline, .*'on'"):
        tracking.resolve_mode("on")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert tracking.resolve_mode("online") == "disabled"
    monkeypatch.setenv("WANDB_MODE", "dryrun")
    with pytest.raises(
        TrackingError, match="WANDB_MODE: expected one of offline, online, disabled"
    ):
        tracking.resolve_mode("online")


def test_training_is_logged_by_its_own_steps(tmp_path):
    with start_run(
        project="p", group="g", job_type="train", name="n", config={}, directory=tmp_path
    ) as run:
        run.log(0, {"linear/loss": 1.0})
        run.log(10, {"linear/loss": 0.25})
        with pytest.raises(ValueError, match="step: expected at least 10, got 5"):
            run.log(5, {"linear/loss": 0.5})
    assert run.directory is not None
    history = read_back(run.directory).history
    assert [(row["_step"], row["linear/loss"]) for row in history] == [(0, 1.0), (10, 0.25)]


def test_a_run_whose_work_fails_is_marked_as_failed(tmp_path):
    with (
        pytest.raises(ZeroDivisionError),
        start_run(
            project="p", group="g", job_type="train", name="n", config={}, directory=tmp_path
        ) as run,
    ):
        run.log(0, {"loss": 1 / 0})
    assert run.directory is not None
    assert read_back(run.directory).state == "failed"


def test_a_folder_without_a_run_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match=r"expected one \.wandb file, found 0"):
        read_back(tmp_path)
    (tmp_path / "x.wandb").write_bytes(b"no run")
    with pytest.raises(ValueError, match=r"x\.wandb cannot be read"):
        read_back(tmp_path)
