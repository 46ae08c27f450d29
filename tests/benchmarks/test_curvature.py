"""The benchmarks run, measure what they say, and hold all libraries to the same residual."""

import argparse
import re
import sys

import pytest
import torch

from benchmarks import curvature, memory, problems, timing
from benchmarks.peers import LIBRARIES

pytestmark = [
    # Of the other libraries' imports and operations.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True:UserWarning"),
]

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@pytest.fixture
def small(monkeypatch):
    """A perceptron with ten hidden units for that of the table, and no processes for memory."""

    def make():
        return torch.nn.Sequential(
            torch.nn.Linear(784, 10), torch.nn.ReLU(), torch.nn.Linear(10, problems.CLASSES)
        )

    network = problems.Network(make, problems.flat_digits, steps=5)
    monkeypatch.setitem(problems.NETWORKS, "mlp", network)
    monkeypatch.setattr(curvature, "peak", lambda function: 1.0)


def test_products_of_all_libraries_agree(small):
    rows = {row.method: row for row in curvature.products("mlp", 20, 1)}
    assert set(LIBRARIES) < set(rows)
    for name in LIBRARIES:
        assert float(rows[name].accuracy.removeprefix("error ")) < 1e-5
        assert rows[name].seconds > 0
    assert rows["curvlinops"].ratio == 1
    assert re.fullmatch(r"(\| [^|]+){8}\|", str(rows["ours"]))


def test_all_libraries_reach_the_residual(small):
    rows = curvature.top("mlp", 20, 1, 1)
    assert [row.method for row in rows] == list(LIBRARIES)
    for row in rows:
        residual, error = map(float, re.findall(r"\d\.\de[+-]\d\d", row.accuracy))
        # Power iteration in float32 ends somewhat above.
        limit = curvature.RESIDUAL * (10 if row.method == "PyHessian" else 1)
        assert residual <= limit, row.method
        assert error <= 1e-4, row.method


def test_all_libraries_follow_the_sharpness(small, monkeypatch):
    monkeypatch.setattr(curvature, "TRAINING_STEPS", 3)
    rows = curvature.tracking("mlp", 20, 1)
    assert [row.method for row in rows] == list(LIBRARIES)
    for row in rows:
        assert float(row.accuracy.removeprefix("eigenvalues ")) < 1e-2, row.method


def test_all_libraries_estimate_the_trace(small):
    rows = curvature.trace("mlp", 20, 1)
    assert [row.method for row in rows] == list(LIBRARIES)
    for row in rows:
        error, known = map(float, re.findall(r"\d\.?\d*e[+-]\d\d", row.accuracy))
        assert error < 0.5, row.method
        assert known < 0.1


@linux
def test_memory_is_that_of_the_function_alone():
    held = torch.ones(10_000_000)
    assert memory.peak(lambda: torch.ones(25_000_000)) == pytest.approx(100, abs=5)
    # What a process touches for the first time, of the 40 that are held nothing.
    assert memory.peak(lambda: held.sum()) < 10
    assert memory.peak(lambda: 1 / 0) == "ZeroDivisionError: division by zero"


def test_a_slow_method_runs_once():
    calls = {"slow": 0, "quick": 0}

    def call(name):
        calls[name] += 1
        if name == "slow":
            sum(range(3_000_000))

    methods = {name: lambda name=name: call(name) for name in calls}
    seconds = timing.rounds(methods, 3, limit=0.01)
    assert calls == {"slow": 1, "quick": 4}
    assert len(seconds["slow"]) == 3
    assert timing.ratio(seconds, "slow", "slow") == 1


def test_the_networks_have_the_sizes_they_are_known_for():
    def size(name):
        return sum(p.numel() for p in problems.make(name, 100)[0].parameters())

    # He et al. (2016), Table 6, and LeNet5 with all maps connected.
    assert round(size("resnet20") / 1e6, 2) == 0.27
    assert size("lenet5") == 61706
    assert round(size("decoder") / 1e6) == 3


def test_what_is_planned_has_a_reference_and_can_be_chosen():
    def planned(**changes):
        options = {"quick": False, "k200": False, "rounds": 3, "only": None} | changes
        return curvature.planned(argparse.Namespace(**options))

    assert {job[1][0] for job in planned()} == set(problems.NETWORKS)
    assert {job[1][0] for job in planned(only="gpt")} == {"gpt"}
    assert len(planned(quick=True)) < len(planned())
