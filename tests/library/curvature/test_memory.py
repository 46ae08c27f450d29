"""The memory of tensors: what is alive, at its peak, and what a product of a batch takes."""

import gc
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature import memory
from hessian_spectra.curvature.network import FixedNetwork, Objective

from .cases import LABELS, X, built, mlp

N = 1000
BYTES = 4 * N
IGNORED = torch.tensor([0, -100, 1, -100, -100, 2, 1])


def test_tensors_count_as_long_as_they_live():
    with cv.PeakMemory() as watched:
        first = torch.ones(N)
        second = first + 1
        del first
        third = second.exp()
        assert watched.held == 2 * BYTES
        del second
    assert (watched.held, watched.peak) == (BYTES, 2 * BYTES)
    del third
    assert watched.held == 0


def test_views_and_what_was_there_before_do_not_count():
    known = torch.ones(N)
    with cv.PeakMemory() as watched:
        known.add_(1)
        parts = known.view(10, -1), known[:5], known.detach()
        own = torch.zeros(N)
        more = own.view(10, -1).T, own.add_(1)
    assert (watched.held, watched.peak) == (BYTES, BYTES)
    del parts, own, more
    assert watched.held == 0


def test_what_the_differentiation_makes_counts():
    x = torch.ones(N, requires_grad=True)
    with cv.PeakMemory() as watched:
        y = x.exp()  # kept for its derivative
        y.sum().backward()
        del y
    # The gradient stays; on the way there were the exponential and the number that is added up.
    assert watched.held == BYTES
    assert 2 * BYTES < watched.peak < 3 * BYTES + 100


def test_an_error_ends_the_watch():
    with pytest.raises(ValueError, match="own"), cv.PeakMemory() as watched:
        raise ValueError("own")
    torch.ones(N)
    assert watched.peak == 0


def network():
    model = nn.Sequential(nn.Linear(50, 50), nn.Tanh(), nn.Linear(50, 1))
    names = tuple(name for name, _ in model.named_parameters())
    return FixedNetwork(Objective(model, nn.MSELoss(), None, names))


def batch(size):
    return torch.ones(size, 50), torch.ones(size, 1)


def test_no_more_than_a_sample_is_tried_where_all_fit_or_a_second_may_not(monkeypatch):
    fixed, tried = network(), []
    measure = memory.product_bytes

    def noted(network, batch, checked):
        tried.append(len(batch[0]))
        return measure(network, batch, checked)

    monkeypatch.setattr(memory, "product_bytes", noted)
    vectors = 4 * sum(parameter.nbytes for parameter in fixed.parameters)
    graph, peak = measure(fixed, batch(1), set())
    assert memory.rows_within(10**9, fixed, batch(8), set()) == 8
    assert tried == [1]
    # A single sample is refused only where it does not fit itself.
    assert memory.rows_within(vectors + peak, fixed, batch(8), set()) == 1
    assert tried == [1, 1]
    with pytest.raises(ValueError, match=f"^memory: expected at least {vectors + peak} bytes"):
        memory.rows_within(vectors + peak - 1, fixed, batch(8), set())
    memory.rows_within(vectors + 100 * graph, fixed, batch(10**4), set())
    assert tried[2:] == [1, 1, 3]


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), functional.cross_entropy])
def test_batches_are_cut_to_a_memory(loss):
    model = built(mlp)
    whole = cv.Problem(model, loss, [(X, IGNORED)])
    cutting = cv.Problem(model, loss, [(X, IGNORED)], memory=3000)
    assert cutting.batch_count > 1
    actual, expected = (cv.dense_matrix(cv.hessian(at)) for at in (cutting, whole))
    assert_close(actual, expected, rtol=1e-11, atol=1e-13)
    assert cv.Problem(model, loss, [(X, IGNORED)], memory=10**9).batch_count == 1


def tensors_alive():
    gc.collect()
    return sum(issubclass(type(get_object), Tensor) for get_object in gc.get_objects())


@pytest.mark.parametrize("memory", [None, 10**9])
def test_what_is_no_longer_used_is_let_go(memory):
    """Also by the graph that told how much a sample takes."""

    def operator():
        at = cv.Problem(built(mlp), nn.CrossEntropyLoss(), [(X, IGNORED)], memory=memory)
        cv.hessian(at) @ torch.ones(at.size, dtype=torch.float64)

    operator()
    before = tensors_alive()
    operator()
    assert tensors_alive() == before


def test_a_graph_that_is_not_kept_leaves_nothing():
    at = cv.Problem(built(mlp), nn.CrossEntropyLoss(), [(X, LABELS)])
    free = cv.hessian(at, keep_graph=False)
    before = tensors_alive()
    free @ torch.ones(at.size, dtype=torch.float64)
    assert tensors_alive() == before
    kept = cv.hessian(at)
    assert tensors_alive() > before + len(kept.network.parameters)


PEAK = """
import torch
from pathlib import Path
from torch import nn
from hessian_spectra import curvature as cv
torch.manual_seed(0)
model = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(64, 64), nn.Tanh())))
x = torch.randn(20000, 64)
def peak():
    # Of this program alone: what getrusage gives begins with the peak of the one that started it.
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
def product(x, memory):
    at = cv.Problem(model, nn.MSELoss(), [(x, x)], memory=memory)
    cv.hessian(at, check=False) @ torch.ones(at.size)
# What torch takes at its first product is not of the data.
product(x[:9], None)
before = peak()
for memory in (30 << 20, None):
    product(x, memory)
    print(peak() - before)
"""


def test_the_memory_is_kept():
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, check=True, text=True)
    limited, whole = map(int, done.stdout.split())
    assert limited < 1.5 * (30 << 20) < 5 * (30 << 20) < whole
