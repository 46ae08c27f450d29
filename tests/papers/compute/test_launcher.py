"""The work is cut and handed out, and a launcher refuses what it cannot do."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from items_of_tests import computation, square, squares

from hessian_papers.compute import FanOutError, Launcher, driver
from hessian_papers.compute.driver import gpus_of_workers, jobs
from hessian_papers.compute.items import telling, words
from hessian_papers.compute.plan import plan
from hessian_papers.processes import cores
from hessian_papers.work import FanOut

COSTS = st.dictionaries(st.text(max_size=3), st.floats(1e-6, 1e6), min_size=1, max_size=60)


@settings(max_examples=60, derandomize=True, database=None)
@given(COSTS, st.integers(1, 5), st.integers(0, 4))
def test_every_item_goes_into_one_job_and_jobs_are_of_about_equal_cost(costs, workers, size):
    longest_first = sorted(costs, key=lambda key: (-costs[key], key))
    launcher = Launcher(cluster="slurm", workers=workers, items_per_job=size)
    cut = jobs(longest_first, launcher)
    assert sorted(key for chunk in cut for key in chunk) == sorted(costs)
    for chunk in cut:
        assert chunk == [key for key in longest_first if key in chunk]
    if size:
        assert len(cut) == math.ceil(len(costs) / size)
        return
    assert len(cut) == min(len(costs), 4 * workers)
    loads = [sum(costs[key] for key in chunk) for chunk in cut]
    assert loads == sorted(loads, reverse=True)
    # The bound of this rule: the heaviest job exceeds the lightest by one item at most.
    assert loads[0] - loads[-1] <= max(costs.values()) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("seen", "each", "expected"),
    [
        ("0,1,3", 1, ["0", "1", "3"]),
        ("0,1,3", 2, ["0,1"]),
        ("0,1,3", 0, []),
        (None, 1, ["0", "1"]),
    ],
)
def test_no_two_processes_have_the_same_gpu(seen, each, expected, tmp_path, monkeypatch):
    for name in ("nvidia0", "nvidia5", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    monkeypatch.setattr(driver, "DEVICES", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if seen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert gpus_of_workers(each) == expected


@pytest.mark.parametrize("seen", ["", "2"])
def test_more_gpus_than_there_are_are_refused(seen, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    message = rf"^launcher.gpus: expected at most {len(seen)}, which this machine has .*, got 2$"
    with pytest.raises(FanOutError, match=message):
        run(tmp_path, cluster="local", gpus=2)


@pytest.mark.parametrize("cost", [0, -1, math.nan, math.inf])
def test_a_cost_that_is_none_is_refused(cost, tmp_path):
    work = FanOut(items=squares.items, compute=square, gather=squares.gather, cost=lambda _: cost)
    with pytest.raises(ValueError, match=r"cost: expected a positive number, .* for value 3"):
        plan("squares", work, {}, {"values": np.array([3])}, tmp_path)


def test_an_item_is_told_from_others_by_what_differs():
    items = [{"seed": 0, "x": np.arange(size), "size": size, "kind": "k"} for size in (1, 2)]
    items.append({"seed": 0, "x": np.arange(1), "size": 3, "kind": "k"})
    assert words(items[0], telling(items)) == "size 1"
    assert words(items[0], telling(items[:1])) == words(items[0])
    assert telling([*items, {"seed": 0, "size": 4}]) == {"x", "size", "kind"}
    assert words({"x": list(range(100))}, length=20) == "x [0, 1, 2, 3, 4,..."


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"cluster": "cloud"}, "cluster: expected one of debug, local, slurm, got 'cloud'"),
        ({"workers": -1}, "workers: expected at least 0, got -1"),
        ({"cluster": "slurm"}, "workers: expected at least 1 for slurm"),
        ({"minutes": 0}, "minutes: expected at least 1, got 0"),
    ],
)
def test_a_launcher_refuses_what_it_cannot_do(chosen, message):
    with pytest.raises(ValueError, match=message):
        Launcher(**chosen)


def test_workers_default_to_the_cores_and_debug_has_one():
    assert Launcher().workers_at_once == cores() >= 1
    assert Launcher(cluster="debug", workers=8).workers_at_once == 1


def run(folder, **settings):
    launcher = Launcher(**{"cluster": "slurm", "workers": 2, **settings})
    return computation(folder, [1, 2], squares).run(launcher)


@pytest.mark.xdist_group("slurm")
def test_refused_jobs_and_a_controller_that_does_not_answer_end_the_run_in_one_line(
    tmp_path, cluster, monkeypatch
):
    with pytest.raises(FanOutError, match=r"SLURM refused the jobs: .*partition") as caught:
        run(tmp_path, options={"partition": "none"})
    assert "\n" not in str(caught.value)
    (tmp_path / "slurm.conf").write_text("no configuration")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    assert driver._living("any") is None
    with pytest.raises(FanOutError, match="SLURM refused the jobs: ") as caught:
        run(tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "squares" / "jobs").exists()


def test_an_unknown_option_is_refused_with_those_that_there_are(tmp_path, cluster):
    with pytest.raises(ValueError, match=r"options: expected names among .*partition.*'queue'"):
        run(tmp_path, options={"queue": "all"})


def test_without_slurm_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="cluster: expected a machine that has SLURM's commands"):
        run(tmp_path)
