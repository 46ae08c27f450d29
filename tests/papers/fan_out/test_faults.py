"""A kill, an interrupt or an error costs no more than the items that it hit."""

import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from driver_process import DriverProcess, begun, workers
from fan_out_items import noted_squares, squares
from slurm_cluster import wait_for

import hessian_papers
from hessian_papers import fan_out
from hessian_papers.fan_out import local
from hessian_papers.fan_out.local import ended_by_termination
from hessian_spectra.files import read_arrays, write_arrays

VALUES = [1, 2, 3, 4]
ONCE = dict.fromkeys(VALUES, 1)
# Two jobs, (4, 3) and (2, 1); on SLURM one of them waits while the other runs.
LOCAL = {"cluster": "local", "workers": 2, "items_per_job": 2}
SLURM = {"cluster": "slurm", "workers": 1, "items_per_job": 2, "minutes": 5}


@pytest.fixture(params=["local", pytest.param("slurm", marks=pytest.mark.xdist_group("slurm"))])
def settings(request):
    """The launcher's settings, for each way to run jobs."""
    if request.param == "slurm":
        request.getfixturevalue("cluster")
        return SLURM
    return LOCAL


def serially(folder: Path) -> bytes:
    """The bytes of the squares, computed here without any machinery."""
    write_arrays(folder / "serial.npz", squares({}, {"values": np.array(VALUES)}))
    return (folder / "serial.npz").read_bytes()


def run(folder, settings):
    """Compute the squares of `VALUES`; the bytes of the arrays."""
    arrays = fan_out.run(
        "squares",
        noted_squares,
        {"folder": str(folder)},
        {"values": np.array(VALUES)},
        folder=folder / "shards",
        launcher=fan_out.Launcher(**settings),
    )
    write_arrays(folder / "arrays.npz", arrays)
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


def jobs_left(folder):
    return list((folder / "shards" / "squares" / "jobs").glob("*/*"))


def test_every_launcher_gives_the_same_bytes(tmp_path, settings, capsys):
    assert run(tmp_path, settings | {"workers": 2}) == serially(tmp_path)
    assert begun(tmp_path) == ONCE
    assert "0 done before, 4 computed, 0 failed attempts" in capsys.readouterr().err
    assert jobs_left(tmp_path) == []


def test_a_killed_worker_costs_only_the_item_under_way(tmp_path, settings, capsys):
    (tmp_path / "kill-once-3").touch()
    assert run(tmp_path, settings | {"items_per_job": 4}) == serially(tmp_path)
    assert begun(tmp_path) == ONCE | {3: 2}
    assert "4 computed, 1 failed attempts" in capsys.readouterr().err


def test_a_process_that_has_lost_its_command_lives_until_it_is_reaped(tmp_path, monkeypatch):
    """Every process is one for a moment when it ends."""
    monkeypatch.setattr(local, "_process", lambda job: None)
    assert run(tmp_path, LOCAL) == serially(tmp_path)
    assert begun(tmp_path) == ONCE


def test_a_killed_driver_leaves_its_jobs_to_the_next(tmp_path, settings, start):
    hold(tmp_path, *VALUES)
    first = start(settings)
    wait_for("the first item", lambda: 4 in begun(tmp_path))
    first.kill()
    second = start(settings)
    wait_for("the next driver", lambda: "took over" in second.said)
    release(tmp_path)
    assert second.arrays() == serially(tmp_path)
    assert begun(tmp_path) == ONCE
    assert jobs_left(tmp_path) == []


def test_an_interrupted_driver_stops_its_jobs_and_can_be_run_again(tmp_path, settings, start):
    hold(tmp_path, 3)
    stopped = start(settings)
    wait_for("an item to hold", lambda: 3 in begun(tmp_path))
    before = begun(tmp_path)
    assert stopped.interrupt() == 130
    assert "stopped: its jobs are cancelled" in stopped.said
    assert "Traceback" not in stopped.said
    wait_for("workers to end", lambda: not workers(tmp_path))
    release(tmp_path)
    assert run(tmp_path, settings) == serially(tmp_path)
    assert begun(tmp_path)[3] == 2
    assert begun(tmp_path)[4] == before[4] == 1


def finished(folder):
    """The shards that are there."""
    return {path.name: path.read_bytes() for path in folder.rglob("shards/squares/*.npz")}


@pytest.mark.parametrize("requests", [["SIGTERM"], ["SIGHUP"], ["SIGHUP", "SIGTERM"]])
def test_a_driver_that_is_asked_to_end_ends_its_processes(tmp_path, start, requests):
    hold(tmp_path, 4)
    driver = start(LOCAL)
    wait_for("an item to hold", lambda: 4 in begun(tmp_path))
    wait_for("the other job's items", lambda: len(finished(tmp_path)) == 2)
    held, before = workers(tmp_path), finished(tmp_path)
    assert held
    for request in requests:
        driver.process.send_signal(signal.Signals[request])
    assert driver.process.wait(10) - 128 in {signal.Signals[request] for request in requests}
    assert "stopped: its jobs are cancelled, 2 of 4 items are kept" in driver.said
    assert "Traceback" not in driver.said
    assert not workers(tmp_path)
    assert list((tmp_path / "shards").rglob("*.partial")) == []
    assert finished(tmp_path) == before
    release(tmp_path)
    assert run(tmp_path, LOCAL) == serially(tmp_path)
    assert begun(tmp_path) == ONCE | {4: 2}


def test_a_driver_that_outlives_its_terminal_goes_on():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with ended_by_termination():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_where_nothing_can_be_written_no_item_is_tried_again(tmp_path, start, workers):
    values, large = [10**5, 3, 2, 1], 10**5
    settings = LOCAL | {"workers": workers}
    driver = start(settings, values=values, largest_file=100_000)
    assert driver.process.wait(60) == 1
    *_, line = driver.said.strip().splitlines()
    assert re.search(r"the last error: OSError: \[Errno 27\] File too large: '.*\.npz' ", line)
    assert "after 1 failed attempts at value 100000" in line
    assert begun(tmp_path)[large] == 1
    assert list((tmp_path / "shards").rglob("*.partial")) == []
    assert start(settings, values=values).arrays()
    assert begun(tmp_path)[large] == 2


def test_jobs_that_nobody_waits_for_take_no_cores(tmp_path, settings, start):
    hold(tmp_path, *VALUES)
    first = start(settings)
    wait_for("an item to hold", lambda: 4 in begun(tmp_path))
    first.kill()
    other = start(settings, values=[5])
    other.arrays()
    assert "cancelled jobs that a killed run with other settings left: " in other.said
    wait_for("workers to end", lambda: not workers(tmp_path))
    assert begun(tmp_path).keys() & {1, 5} == {5}


def test_workers_run_the_sources_of_their_driver_in_one_thread(tmp_path, settings, start):
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(hessian_papers.__file__).parents[1], tmp_path / "copy", ignore=skipped)
    source = str(tmp_path / "copy")
    driver = start(settings | {"items_per_job": 4}, work="trees", config={}, source=source)
    driver.arrays()
    arrays = read_arrays(driver.out)
    assert set(arrays["squares"].tolist()) == {source}
    assert set(arrays["roots"].tolist()) == {"1"}


def test_an_item_that_always_kills_its_worker_takes_no_others_with_it(tmp_path, capsys):
    (tmp_path / "kill-4").touch()
    with pytest.raises(fan_out.FanOutError) as caught:
        run(tmp_path, LOCAL | {"items_per_job": 4, "retries": 1})
    message = str(caught.value)
    assert message.startswith("squares: 1 of 4 items are missing after 2 failed attempts at ")
    assert "value 4" in message
    assert "the last error: its job ended without a word, as one does that is killed" in message
    assert begun(tmp_path) == ONCE | {4: 2}
    (tmp_path / "kill-4").unlink()
    assert run(tmp_path, LOCAL) == serially(tmp_path)
    assert begun(tmp_path) == ONCE | {4: 3}
    assert "3 done before, 1 computed" in capsys.readouterr().err
    assert jobs_left(tmp_path) == []


def test_items_that_raise_are_named_with_the_error(tmp_path):
    for value in (1, 3):
        (tmp_path / f"raise-{value}").touch()
    with pytest.raises(fan_out.FanOutError) as caught:
        run(tmp_path, LOCAL | {"retries": 1})
    message = str(caught.value)
    assert message.startswith("squares: 2 of 4 items are missing after 4 failed attempts at ")
    assert all(f"value {value}" in message for value in (1, 3))
    assert "the last error: ArithmeticError: no square of 3 today (logs in " in message
    assert "\n" not in message
    assert begun(tmp_path) == ONCE | {1: 2, 3: 2}


def test_a_run_in_which_nothing_succeeds_ends_early(tmp_path):
    for value in VALUES:
        (tmp_path / f"raise-{value}").touch()
    with pytest.raises(fan_out.FanOutError, match="4 of 4 items are missing after 3 failed"):
        run(tmp_path, LOCAL | {"workers": 1, "items_per_job": 1, "retries": 1})


def test_a_job_at_its_time_limit_goes_on_where_it_stands(tmp_path, start):
    hold(tmp_path, 3)
    driver = start(LOCAL | {"workers": 1, "items_per_job": 4})
    wait_for("the item under way", lambda: 3 in begun(tmp_path))
    (worker,) = workers(tmp_path)
    # What submitit sends to a job some time before the limit, as SLURM does to its own.
    os.kill(worker, signal.SIGUSR2)
    wait_for("the job to begin again", lambda: begun(tmp_path)[3] == 2)
    release(tmp_path)
    assert driver.arrays() == serially(tmp_path)
    assert begun(tmp_path) == ONCE | {3: 2}
    assert "0 failed attempts" in driver.said


def test_a_shard_that_another_run_discards_meanwhile_is_computed_again(tmp_path, start):
    run(tmp_path, LOCAL)
    shards = sorted((tmp_path / "shards" / "squares").glob("*.npz"))
    shards[-1].unlink()
    hold(tmp_path, *VALUES)
    driver = start(LOCAL)
    wait_for("the missing item", lambda: sum(begun(tmp_path).values()) == len(VALUES) + 1)
    shards[0].unlink()
    release(tmp_path)
    assert driver.arrays() == serially(tmp_path)
    assert sum(begun(tmp_path).values()) == len(VALUES) + 2


def test_two_drivers_at_once_do_not_harm_each_other(tmp_path, start):
    hold(tmp_path, *VALUES)
    drivers = [start(LOCAL), start(LOCAL)]
    wait_for("both to begin", lambda: all("0 done before" in driver.said for driver in drivers))
    wait_for("the first items", lambda: len(begun(tmp_path)) == 2)
    release(tmp_path)
    assert [driver.arrays() for driver in drivers] == [serially(tmp_path)] * 2
    assert list((tmp_path / "shards" / "squares").glob(".*")) == []
