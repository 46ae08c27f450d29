"""The benchmarks run, measure what they say, and hold all libraries to the same residual."""

import argparse
import copy
import functools
import importlib
import operator
import re
import sys

import numpy as np
import pytest
import torch

from benchmarks import curvature, memory, peers, problems, rows, tasks
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
    monkeypatch.setattr(tasks, "peak", lambda *arguments: 1.0)


def test_products_of_all_libraries_agree(small):
    actual = {row.method: row for row in tasks.products("mlp", 20, 1)}
    assert set(LIBRARIES) < set(actual)
    for name in LIBRARIES:
        assert float(actual[name].accuracy.removeprefix("error ")) < 1e-5
        assert actual[name].seconds > 0
    assert actual["curvlinops"].ratio == 1
    assert re.fullmatch(r"(\| [^|]+){8}\|", str(actual["ours"]))


def test_all_libraries_reach_the_residual(small):
    actual = tasks.top("mlp", 20, 1, None, 1)
    assert [row.method for row in actual] == list(LIBRARIES)
    for row in actual:
        residual, error = map(float, re.findall(r"\d\.\de[+-]\d\d", row.accuracy))
        # Power iteration in float32 ends somewhat above.
        limit = tasks.RESIDUAL * (10 if row.method == "PyHessian" else 1)
        assert residual <= limit, row.method
        assert error <= 1e-4, row.method


def test_all_libraries_follow_the_sharpness(small, monkeypatch):
    monkeypatch.setattr(tasks, "TRAINING_STEPS", 3)
    actual = tasks.tracking("mlp", 20, 1)
    assert [row.method for row in actual] == list(LIBRARIES)
    for row in actual:
        assert float(row.accuracy.removeprefix("eigenvalues ")) < 1e-2, row.method


def test_all_libraries_estimate_the_trace(small):
    actual = tasks.trace("mlp", 20, 1)
    assert [row.method for row in actual] == list(LIBRARIES)
    for row in actual:
        error, known = map(float, re.findall(r"\d\.?\d*e[+-]\d\d", row.accuracy))
        assert error < 0.5, row.method
        assert known < 0.1


def test_both_libraries_have_the_same_factors(small, monkeypatch):
    monkeypatch.setattr(tasks, "BATCHES", 2)
    ours, peer = tasks.factors("mlp", 20, 1)
    assert (ours.method, peer.method) == ("ours", "curvlinops")
    assert ours.task == "factors, mlp, n = 40"
    for row in (ours, peer):
        assert float(row.accuracy.removeprefix("error ")) < 1e-5


def test_an_error_of_factors_is_that_of_their_product():
    exact, other = ((torch.randn(n, n).double() for n in (3, 4)) for _ in range(2))
    exact, (b, c) = tuple(exact), other
    expected = torch.kron(b, c) - torch.kron(*exact)
    error = tasks.product_error((b, c), exact)
    assert error == pytest.approx(float(expected.norm() / torch.kron(*exact).norm()))
    assert tasks.product_error((2 * exact[0], exact[1] / 2), exact) < 1e-7


def test_all_libraries_spend_as_many_products_on_the_trace(monkeypatch):
    """A negative Hessian's trace takes as many, too, where PyHessian's own rule would stop."""
    monkeypatch.setattr(peers, "LOSS", lambda outputs, targets: -(outputs**2).mean())
    model, data = torch.nn.Linear(3, 1), [(torch.randn(5, 3), torch.zeros(5))]
    actual = peers.PyHessian(model, data)
    products = 0

    def counted(*arguments):
        nonlocal products
        products += 1
        return product(*arguments)

    # Its package has a class of the module's name.
    module = importlib.import_module("pyhessian.hessian")
    product = module.hessian_vector_product
    monkeypatch.setattr(module, "hessian_vector_product", counted)
    assert actual.trace(30, seed=0) < 0
    assert products == 30


def test_running_statistics_are_those_of_the_data():
    """Then the loss in eval mode is about that of training, which has fallen."""
    model, data = problems.trained("resnet20", 400)
    loss = torch.nn.CrossEntropyLoss()
    inputs, targets = data[0]
    with torch.no_grad():
        at_rest = loss(model(inputs), targets)
        in_training = loss(copy.deepcopy(model).train()(inputs), targets)
    assert at_rest == pytest.approx(float(in_training), abs=0.3)
    assert at_rest < 1


@linux
def test_memory_is_that_of_the_function_alone():
    def peak(*arguments):
        return memory.peak(functools.partial, *arguments)

    # A process also touches code and the stacks of its threads for the first time: up to 10 MB,
    # whatever is asked for, so that two sizes tell what belongs to the function.
    small, large = (peak(torch.ones, millions * 1_000_000) for millions in (25, 50))
    assert large - small == pytest.approx(100e6 / 1024 / 1000, abs=2)
    # Of the 40 that are held nothing.
    assert peak(np.sum, np.ones(5_000_000)) < 10
    assert peak(operator.truediv, 1, 0) == "ZeroDivisionError: division by zero"


@linux
def test_what_is_prepared_does_not_count(monkeypatch):
    """Training takes more than this product, and so would all libraries before it."""
    used = tasks.peaks("mlp", 10, {"one gradient": (tasks.gradient,)})
    assert 0 < used["one gradient"] < 20


def test_the_networks_have_the_sizes_they_are_known_for():
    def size(name):
        return sum(p.numel() for p in problems.make(name, 100)[0].parameters())

    # He et al. (2016), Table 6, and LeNet5 with all maps connected.
    assert round(size("resnet20") / 1e6, 2) == 0.27
    assert size("lenet5") == 61706
    assert round(size("decoder") / 1e6) == 3


def test_a_record_is_read_again_and_shown_by_kind(tmp_path):
    def row(kind, network, memory):
        return rows.Row(f"{kind}, {network}", "ours", 1.0, 0.5, 0.4, memory, "")

    records = {name: rows.Record(tmp_path / "rows" / f"{name}.json") for name in ("mlp", "gpt")}
    for name, record in records.items():
        record.add("trace", [row("trace", name, "killed")])
        record.add("H v", [row("H v", name, 2.0)])
    again = {name: rows.Record(record.path) for name, record in records.items()}
    assert [record.rows for record in again.values()] == [r.rows for r in records.values()]
    lines = rows.table(again, ["H v", "trace", "density"]).splitlines()[2:]
    actual = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [line[0] for line in actual] == ["H v, mlp", "H v, gpt", "trace, mlp", "trace, gpt"]
    assert [line[6] for line in actual] == ["2", "2", "killed", "killed"]
    assert actual[0][4:6] == ["0.40", "NO"]


def test_what_is_recorded_is_not_measured_again(tmp_path, capsys):
    known = rows.Row("H v, mlp", "ours", 1.0, 0.5, None, 2.0, "known before")
    chosen = argparse.Namespace(quick=True, k200=False, rounds=3, only="mlp")
    for job in curvature.planned(chosen):
        rows.Record(tmp_path / "mlp.json").add(job.kind, [known])
    curvature.main(["--quick", "--only", "mlp", "--rows", str(tmp_path)])
    assert capsys.readouterr().out.count("known before") == 5
