"""Estimates, with a clock that the computation itself moves."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from items_of_tests import computation, squares

from hessian_papers.compute import Launcher
from hessian_papers.work import FanOut
from hessian_spectra.files import Arrays

NOW = [0.0]
DEBUG = Launcher(cluster="debug")


def seconds(value: int) -> float:
    """The time of an item: twice as long per unit of cost for the dear as for the cheap."""
    return value * (2.0 if value >= 50 else 1.0)


def slow(value: int) -> Arrays:
    NOW[0] += seconds(value)
    return {"square": np.array(value**2), "roots": np.ones(1)}


def work(**changes):
    settings = {"items": squares.items, "compute": slow, "gather": squares.gather}
    return FanOut(**settings | {"cost": lambda item: item["value"]} | changes)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    for module in ("timing", "plan"):
        moved = SimpleNamespace(perf_counter=lambda: NOW[0])
        monkeypatch.setattr(f"hessian_papers.compute.{module}.time", moved)


def estimated(folder, values, launcher=DEBUG, **changes):
    return computation(folder, values, work(**changes), "slow").estimate(launcher)


def test_an_estimate_has_the_work_of_one_worker_and_the_time_of_all(tmp_path):
    # As far as the work can be shared by whole items.
    for values, wall in (([10, 10, 10, 10], "10 s"), ([11, 12, 13, 14], "25 s")):
        launcher = Launcher(cluster="slurm", workers=2)
        assert estimated(tmp_path, values, launcher).splitlines() == [
            f"slow: {len({*values})} items, 0 done already",
            f"  one worker: {sum({*values})} s",
            f"  slurm, 2 workers: {wall}, and the start of their jobs",
        ]
    assert "one worker: 16 s\n  debug, 1 worker: 16 s" in estimated(tmp_path, [1, 2, 3, 10, 2])
    assert list(tmp_path.iterdir()) == []


def test_rates_are_taken_between_those_that_were_timed(tmp_path):
    values = [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    minutes = float(estimated(tmp_path, values).partition("one worker: ")[2].split(" min")[0])
    assert 60 * minutes == pytest.approx(sum(map(seconds, values)), rel=0.1)


def test_a_miniature_tells_the_time_of_the_item(tmp_path):
    NOW[0] = 0
    said = estimated(tmp_path, [1000, 2000], probe=lambda item: {"value": 2})
    assert "one worker: 50 min" in said
    assert NOW[0] < 10, "the items themselves were computed"


def test_what_is_done_takes_no_more_time(tmp_path):
    computation(tmp_path, [3, 4], work(), "slow").run(DEBUG)
    said = "slow: 3 items, 2 done already (they took 7 s of one worker)\n  one worker: 10 s"
    assert estimated(tmp_path, [3, 4, 10]).startswith(said)
    for values, seconds in (([3, 4], 7), ([4, 10], 4)):
        assert computation(tmp_path, values, work(), "slow").spent().seconds == seconds
    done = "slow: 2 items, 2 done already (they took 7 s of one worker)"
    assert estimated(tmp_path, [3, 4]) == done
    next(tmp_path.rglob("*.npz")).write_bytes(b"half")
    assert "2 items, 1 done already" in estimated(tmp_path, [3, 4])


def test_a_shard_knows_the_gpu_that_computed_it(tmp_path, monkeypatch):
    used = SimpleNamespace(is_initialized=lambda: True)
    used.get_device_name = lambda: "made-up GPU"
    monkeypatch.setattr(torch, "cuda", used)
    both = computation(tmp_path, [3, 4], work(), "slow")
    both.run(DEBUG)
    actual = both.spent()
    assert (actual.seconds, actual.devices) == (7, {"made-up GPU"})
