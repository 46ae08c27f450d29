"""A kill, an interrupt or an error costs no more than the items that it hit."""

import os
import re
import shutil
import signal
import sys
import threading
from pathlib import Path
from subprocess import CalledProcessError
from unittest.mock import Mock

import numpy as np
import pytest
import submitit
from driver_process import DriverProcess, begun, workers
from items_of_tests import computation, noted_squares, squares
from slurm_cluster import wait_for
from submitit.core.job_environment import SignalHandler
from submitit.core.utils import DelayedSubmission, UncompletedJobError

import hessian_papers
from hessian_papers import compute
from hessian_papers.compute.plan import plan
from hessian_papers.processes import ended_by_termination
from hessian_spectra.files import read_arrays, write_arrays

VALUES = [1, 2, 3, 4]
ONCE = dict.fromkeys(VALUES, 1)
LOCAL = {"cluster": "local", "workers": 2}
# Two jobs, (4, 3) and (2, 1), of which one waits while the other runs.
SLURM = {"cluster": "slurm", "workers": 1, "items_per_job": 2, "minutes": 5}


@pytest.fixture(params=["local", pytest.param("slurm", marks=pytest.mark.xdist_group("slurm"))])
def settings(request):
    """The launcher's settings, for each way to run items elsewhere than in the driver."""
    if request.param == "slurm":
        request.getfixturevalue("cluster")
        return SLURM
    return LOCAL


def serially(folder: Path, values=VALUES) -> bytes:
    """The bytes of the squares, computed here without any machinery."""
    write_arrays(folder / "serial.npz", squares({}, {"values": np.array(values)}))
    return (folder / "serial.npz").read_bytes()


def run(folder, settings):
    """Compute the squares of `VALUES`; the bytes of the arrays."""
    of = computation(folder / "shards", VALUES, noted_squares, config={"folder": str(folder)})
    write_arrays(folder / "arrays.npz", of.run(compute.Launcher(**settings)))
    return (folder / "arrays.npz").read_bytes()


@pytest.fixture
def start(tmp_path):
    """Start a driver in a process of its own."""
    started = []

    def start(settings, **more):
        call = {"work": "noted_squares", "values": VALUES, "config": {"folder": str(tmp_path)}}
        started.append(DriverProcess(tmp_path, **call | {"launcher": settings} | more))
        return started[-1]

    yield start
    for driver in started:
        driver.kill()
    release(tmp_path)


def hold(folder, *values):
    for value in values:
        (folder / f"hold-{value}").touch()


def release(folder):
    for file in folder.glob("hold-*"):
        file.unlink()


def finished(folder):
    """The shards that are there."""
    return {path.name: path.read_bytes() for path in folder.rglob("shards/squares/*.npz")}


def test_a_killed_process_costs_only_the_item_under_way(tmp_path, settings, capsys):
    (tmp_path / "kill-once-3").touch()
    assert run(tmp_path, settings) == serially(tmp_path)
    assert begun(tmp_path) == ONCE | {3: 2}
    said = capsys.readouterr().err
    assert "squares: 4 items, 0 done before; " in said
    assert "0 done before, 4 computed, 1 failed attempts" in said
    assert not (tmp_path / "shards" / "squares" / "jobs").exists()


def test_nothing_goes_on_when_a_driver_is_killed_and_what_is_done_is_kept(tmp_path, start):
    hold(tmp_path, 2, 3)
    driver = start(LOCAL)
    wait_for("two items to hold", lambda: {2, 3} <= begun(tmp_path).keys())
    driver.kill()
    wait_for("its processes to end", lambda: not workers(tmp_path))
    kept = finished(tmp_path)
    assert len(kept) == 1
    release(tmp_path)
    assert run(tmp_path, LOCAL) == serially(tmp_path)
    assert begun(tmp_path) == ONCE | {2: 2, 3: 2}
    assert finished(tmp_path).items() > kept.items()


@pytest.mark.xdist_group("slurm")
def test_jobs_of_a_killed_driver_are_waited_for(tmp_path, cluster, start):
    hold(tmp_path, *VALUES)
    first = start(SLURM)
    wait_for("the first item", lambda: 4 in begun(tmp_path))
    first.kill()
    second = start(SLURM)
    wait_for("the next driver", lambda: "waits for jobs of a run that was killed" in second.said)
    assert re.search(r"killed \(1 pending .*, 1 running .*\); to end them: scancel", second.said)
    release(tmp_path)
    assert second.arrays() == serially(tmp_path)
    assert begun(tmp_path) == ONCE


def test_an_interrupted_driver_stops_what_runs_and_can_be_run_again(tmp_path, settings, start):
    hold(tmp_path, 3)
    stopped = start(settings)
    wait_for("an item to hold", lambda: 3 in begun(tmp_path) and finished(tmp_path))
    before = begun(tmp_path)
    assert stopped.interrupt() == 130
    assert "stopped: its jobs are cancelled" in stopped.said
    assert "Traceback" not in stopped.said
    wait_for("workers to end", lambda: not workers(tmp_path))
    release(tmp_path)
    assert run(tmp_path, settings) == serially(tmp_path)
    assert begun(tmp_path)[3] == 2
    assert begun(tmp_path)[4] == before[4] == 1


@pytest.mark.parametrize("requests", [["SIGTERM"], ["SIGHUP", "SIGTERM"]])
def test_a_driver_that_is_asked_to_end_ends_its_processes(tmp_path, start, requests):
    hold(tmp_path, 1, 4)
    driver = start(LOCAL)
    wait_for("two items to hold", lambda: {1, 4} <= begun(tmp_path).keys())
    wait_for("the others", lambda: len(finished(tmp_path)) == 2)
    before = finished(tmp_path)
    assert len(workers(tmp_path)) == 2
    for request in requests:
        driver.process.send_signal(signal.Signals[request])
    assert driver.process.wait(10) - 128 in {signal.Signals[request] for request in requests}
    assert "stopped: its jobs are cancelled, 2 of 4 items are kept" in driver.said
    assert "Traceback" not in driver.said
    assert not workers(tmp_path)
    assert list((tmp_path / "shards").rglob("*.partial")) == []
    assert finished(tmp_path) == before


def test_a_driver_that_outlives_its_terminal_goes_on():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with ended_by_termination():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_where_nothing_can_be_written_no_item_is_tried_again(tmp_path, start):
    values, large = [10**5, 3, 2, 1], 10**5
    driver = start(LOCAL, values=values, largest_file=100_000)
    assert driver.process.wait(60) == 1
    *_, line = driver.said.strip().splitlines()
    assert re.search(r"the last error: OSError: \[Errno 27\] File too large: '.*\.npz' ", line)
    assert "after 1 failed attempts at value 100000" in line
    assert begun(tmp_path)[large] == 1
    assert list((tmp_path / "shards").rglob("*.partial")) == []
    assert start(LOCAL, values=values).arrays() == serially(tmp_path, values)
    assert begun(tmp_path)[large] == 2


def test_workers_run_the_sources_of_their_driver_in_one_thread(tmp_path, settings, start):
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(hessian_papers.__file__).parents[1], tmp_path / "copy", ignore=skipped)
    source = str(tmp_path / "copy")
    options = {"partition": "all", "setup": [f"echo set up >> {tmp_path}/heard"]}
    slurm = settings["cluster"] == "slurm"
    chosen = settings | ({"options": options} if slurm else {})
    driver = start(chosen, work="places", values=[1, 2], config={}, source=source)
    driver.arrays()
    arrays = read_arrays(driver.out)
    assert set(arrays["squares"].tolist()) == {source}
    assert set(arrays["roots"][:, 0]) == {"1"}
    assert (tmp_path / "heard").exists() == slurm


def test_an_item_that_always_kills_its_process_takes_no_others_with_it(tmp_path, capsys):
    (tmp_path / "kill-4").touch()
    with pytest.raises(compute.FanOutError) as caught:
        run(tmp_path, LOCAL | {"workers": 1, "retries": 1})
    message = str(caught.value)
    assert message.startswith("squares: 1 of 4 items are missing after 2 failed attempts at ")
    assert "value 4" in message
    assert "the last error: its process ended without a word, as one does that is k" in message
    assert begun(tmp_path) == ONCE | {4: 2}
    (tmp_path / "kill-4").unlink()
    assert run(tmp_path, LOCAL) == serially(tmp_path)
    assert begun(tmp_path) == ONCE | {4: 3}
    assert "3 done before, 1 computed" in capsys.readouterr().err


def test_items_that_raise_are_named_with_the_error(tmp_path, settings):
    for value in (1, 3):
        (tmp_path / f"raise-{value}").touch()
    with pytest.raises(compute.FanOutError) as caught:
        run(tmp_path, settings | {"retries": 1})
    message = str(caught.value)
    assert message.startswith("squares: 2 of 4 items are missing after 4 failed attempts at ")
    assert all(f"value {value}" in message for value in (1, 3))
    assert "the last error: ArithmeticError: no square of 3 today (more in " in message
    assert "\n" not in message
    assert begun(tmp_path) == ONCE | {1: 2, 3: 2}


def test_a_run_in_which_nothing_succeeds_ends_early(tmp_path):
    for value in VALUES:
        (tmp_path / f"raise-{value}").touch()
    with pytest.raises(compute.FanOutError, match="4 of 4 items are missing after 3 failed"):
        run(tmp_path, LOCAL | {"workers": 1, "retries": 1})


def test_a_job_at_its_time_limit_goes_on_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    given = {"values": np.array(VALUES)}
    todo = plan("squares", noted_squares, {"folder": str(tmp_path)}, given, tmp_path)
    hold(tmp_path, 3)
    executor = submitit.LocalExecutor(tmp_path / "jobs", max_num_timeout=1)
    executor.update_parameters(timeout_min=60)
    job = executor.submit(todo)
    wait_for("the item under way", lambda: 3 in begun(tmp_path))
    (worker,) = workers(tmp_path)
    # What submitit sends to a job some time before the limit, as SLURM does to its own.
    os.kill(worker, signal.SIGUSR2)
    wait_for("the job to begin again", lambda: begun(tmp_path)[3] == 2)
    release(tmp_path)
    job.result()
    assert todo.shards.present() == {*todo.order}
    assert begun(tmp_path) == ONCE | {3: 2}


@pytest.mark.parametrize(("left", "error"), [(1, CalledProcessError), (0, UncompletedJobError)])
def test_a_job_that_goes_back_into_the_queue_blames_no_item(tmp_path, left, error):
    """SLURM ends all of it, also the `scontrol` that has asked for that; or it was too often."""
    given = {"values": np.array(VALUES)}
    todo = plan("squares", noted_squares, {"folder": str(tmp_path)}, given, tmp_path)
    submitted = DelayedSubmission(todo.part(todo.order))
    submitted.set_timeout(5, left)
    environment = Mock(global_rank=0)
    environment._requeue.side_effect = CalledProcessError(-signal.SIGTERM, "scontrol")
    paths = Mock(submitted_pickle=tmp_path / "job.pkl")
    handler = SignalHandler(environment, paths, submitted).checkpoint_and_try_requeue
    before = signal.signal(signal.SIGUSR2, handler)
    hold(tmp_path, 3)
    warning = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR2))
    try:
        warning.start()
        with pytest.raises(error):
            submitted.result()
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert todo.shards.failed() == set()
    assert begun(tmp_path) == {1: 1, 2: 1, 3: 1}  # and it does not go on


def test_two_drivers_at_once_compute_each_item_once(tmp_path, start):
    hold(tmp_path, *VALUES)
    first = start(LOCAL)
    wait_for("the first items", lambda: len(begun(tmp_path)) == 2)
    second = start(LOCAL)
    wait_for("the second", lambda: "squares: waits for another run of it" in second.said)
    release(tmp_path)
    assert first.arrays() == second.arrays() == serially(tmp_path)
    assert begun(tmp_path) == ONCE
