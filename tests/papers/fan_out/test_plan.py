"""The work is cut into jobs, and a launcher refuses what it cannot do."""

import math

import numpy as np
import pytest
from fan_out_items import square, squares
from hypothesis import given, settings
from hypothesis import strategies as st

from hessian_papers.fan_out import FanOutError, Launcher, local
from hessian_papers.fan_out.items import telling, words
from hessian_papers.fan_out.local import gpus_of_jobs
from hessian_papers.fan_out.plan import jobs, plan
from hessian_papers.work import FanOut, cores

COSTS = st.dictionaries(st.text(max_size=3), st.floats(1e-6, 1e6), min_size=1, max_size=60)


@settings(max_examples=60, derandomize=True, database=None)
@given(COSTS, st.integers(1, 5), st.integers(0, 4))
def test_every_item_goes_into_one_job(costs, workers, size):
    cut = jobs(costs, Launcher(workers=workers, items_per_job=size))
    assert sorted(key for chunk in cut for key in chunk) == sorted(costs)
    assert all(cut)
    if size:
        assert all(len(chunk) <= size for chunk in cut)
        assert len(cut) == math.ceil(len(costs) / size)


@settings(max_examples=60, derandomize=True, database=None)
@given(COSTS, st.integers(1, 5))
def test_jobs_are_of_about_equal_cost_and_the_longest_come_first(costs, workers):
    cut = jobs(costs, Launcher(cluster="slurm", workers=workers))
    assert len(cut) == min(len(costs), 4 * workers)
    loads = [sum(costs[key] for key in chunk) for chunk in cut]
    assert loads == sorted(loads, reverse=True)
    # The bound of this rule: the heaviest job exceeds the lightest by one item at most.
    assert loads[0] - loads[-1] <= max(costs.values()) * (1 + 1e-9)
    for chunk in cut:
        assert [costs[key] for key in chunk] == sorted((costs[key] for key in chunk), reverse=True)


def test_the_same_items_make_the_same_jobs_in_whatever_order_they_come():
    costs = {name: 1.0 + index % 3 for index, name in enumerate("abcdefghijkl")}
    turned = dict(reversed(costs.items()))
    assert jobs(costs, Launcher(workers=2)) == jobs(turned, Launcher(workers=2))


def test_equal_items_are_one():
    todo = plan(squares, {}, {"values": np.array([3, 1, 3])})
    assert len(todo.order) == 3
    assert todo.order[0] == todo.order[2]
    assert todo.items == {todo.order[0]: {"value": 3}, todo.order[1]: {"value": 1}}
    assert todo.costs == {todo.order[0]: 4.0, todo.order[1]: 2.0}


@pytest.mark.parametrize(
    ("seen", "each", "expected"),
    [
        ("0,1,3", 1, [(0,), (1,), (3,)]),
        ("0,1,3", 2, [(0, 1)]),
        ("0,1,3", 0, []),
        ("4", 1, [(4,)]),
    ],
)
def test_no_two_jobs_have_the_same_gpu(seen, each, expected, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert gpus_of_jobs(each) == expected


def test_all_gpus_of_the_machine_are_seen_where_nothing_is_said(tmp_path, monkeypatch):
    for name in ("nvidia0", "nvidia5", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(local, "DEVICES", tmp_path)
    assert gpus_of_jobs(1) == [(0,), (1,)]


@pytest.mark.parametrize("seen", ["", "2"])
def test_more_gpus_than_there_are_are_refused(seen, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    message = rf"^launcher.gpus: expected at most {len(seen)}, which this machine has .*, got 2$"
    with pytest.raises(FanOutError, match=message):
        gpus_of_jobs(2)


@pytest.mark.parametrize("cost", [0, -1, math.nan, math.inf])
def test_a_cost_that_is_none_is_refused(cost):
    work = FanOut(items=squares.items, compute=square, gather=squares.gather, cost=lambda _: cost)
    with pytest.raises(ValueError, match=r"cost: expected a positive number, .* for value 3"):
        plan(work, {}, {"values": np.array([3])})


def test_a_long_item_is_cut_short_in_a_message():
    assert words({"x": list(range(100))}, length=20) == "x [0, 1, 2, 3, 4,..."


def test_an_item_is_told_from_others_by_what_differs():
    items = [{"seed": 0, "x": np.arange(size), "size": size, "kind": "k"} for size in (1, 2)]
    items.append({"seed": 0, "x": np.arange(1), "size": 3, "kind": "k"})
    assert words(items[0], telling(items)) == "size 1"
    assert words(items[0], telling(items[:1])) == words(items[0])
    assert telling([*items, {"seed": 0, "size": 4}]) == {"x", "size", "kind"}


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"cluster": "cloud"}, "cluster: expected one of debug, local, slurm, got 'cloud'"),
        ({"workers": -1}, "workers: expected a whole number, at least 0, got -1"),
        ({"cluster": "slurm"}, "workers: expected at least 1 for slurm"),
        ({"retries": True}, "retries: expected a whole number, at least 0, got True"),
        ({"minutes": 0}, "minutes: expected a whole number, at least 1, got 0"),
    ],
)
def test_a_launcher_refuses_what_it_cannot_do(chosen, message):
    with pytest.raises(ValueError, match=message):
        Launcher(**chosen)


def test_workers_default_to_the_cores_and_debug_has_one():
    assert Launcher().workers_at_once == cores() >= 1
    assert Launcher(cluster="debug", workers=8).workers_at_once == 1
