"""The memory of tensors: what is alive, at its peak, and what a product of a batch takes."""

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv
from hessian_spectra.curvature import memory
from hessian_spectra.curvature.network import FixedNetwork, Objective

N = 1000
BYTES = 4 * N


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
    share = min(3, peak / graph)
    some = memory.rows_within(
        int(vectors + share * measure(fixed, batch(400), set())[0]), fixed, batch(10**4), set()
    )
    assert tried[2:] == [1, 1, 3]
    assert 350 < some < 450
