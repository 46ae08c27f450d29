"""Estimates, with a clock that the computation itself moves."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fan_out_items import squares

from hessian_papers.fan_out import Launcher, estimate, run, spent
from hessian_papers.work import FanOut
from hessian_spectra.files import Arrays

NOW = [0.0]


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
    for module in ("timing", "worker"):
        moved = SimpleNamespace(perf_counter=lambda: NOW[0])
        monkeypatch.setattr(f"hessian_papers.fan_out.{module}.time", moved)


def measured(folder, values, launcher, **changes):
    networks = {"values": np.array(values)}
    return estimate("slow", work(**changes), {}, networks, folder=folder, launcher=launcher)


def test_an_even_rate_gives_the_exact_time(tmp_path):
    actual = measured(tmp_path, [1, 2, 3, 10, 2], Launcher(cluster="debug"))
    assert (actual.items, actual.done) == (4, 0)
    assert (actual.seconds, actual.wall) == pytest.approx((16, 16))


def test_rates_are_taken_between_those_that_were_timed(tmp_path):
    values = [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    actual = measured(tmp_path, values, Launcher(cluster="debug"))
    assert actual.seconds == pytest.approx(sum(map(seconds, values)), rel=0.1)


def test_a_shard_knows_the_gpu_that_computed_it(tmp_path, monkeypatch):
    networks, used = {"values": np.array([3, 4])}, SimpleNamespace(is_initialized=lambda: True)
    used.get_device_name = lambda: "made-up GPU"
    monkeypatch.setattr(torch, "cuda", used)
    run("slow", work(), {}, networks, folder=tmp_path, launcher=Launcher(cluster="debug"))
    actual = spent("slow", work(), {}, networks, folder=tmp_path)
    assert (actual.seconds, actual.devices) == (7, {"made-up GPU"})


def test_a_miniature_tells_the_time_of_the_item(tmp_path):
    NOW[0] = 0
    actual = measured(
        tmp_path, [1000, 2000], Launcher(cluster="debug"), probe=lambda item: {"value": 2}
    )
    assert actual.seconds == pytest.approx(3000)
    assert NOW[0] < 10, "the items themselves were computed"


def test_what_is_done_takes_no_more_time(tmp_path):
    networks = {"values": np.array([3, 4])}
    run("slow", work(), {}, networks, folder=tmp_path, launcher=Launcher(cluster="debug"))
    actual = measured(tmp_path, [3, 4, 10], Launcher(cluster="debug"))
    assert (actual.items, actual.done, actual.spent) == (3, 2, 7)
    assert spent("slow", work(), {}, networks, folder=tmp_path).seconds == 7
    networks["values"] = np.array([4, 10])
    assert spent("slow", work(), {}, networks, folder=tmp_path).seconds == 4
    assert actual.seconds == pytest.approx(10)
    done = measured(tmp_path, [3, 4], Launcher(cluster="debug"))
    assert (done.done, done.seconds, done.wall) == (2, 0, 0)
    assert str(done) == "slow: 2 items, 2 done already (they took 7.0 s of one worker)"
    next(tmp_path.rglob("*.npz")).write_bytes(b"half")
    assert measured(tmp_path, [3, 4], Launcher(cluster="debug")).done == 1


def test_workers_share_the_work_as_far_as_its_items_allow(tmp_path):
    launcher = Launcher(cluster="slurm", workers=2)
    assert measured(tmp_path, [10, 10, 10, 10], launcher).wall == pytest.approx(10)
    actual = measured(tmp_path, [11, 12, 13, 14], launcher)
    assert actual.wall == pytest.approx(25)
    assert str(actual).splitlines() == [
        "slow: 4 items, 0 done already",
        "  one worker: 50 s",
        "  slurm, 2 workers: 25 s, and the start of their jobs",
    ]
