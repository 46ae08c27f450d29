"""The reduced least-squares problem is the one on all samples: loss, gradient and Hessian."""

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hessian_papers.data.tools.reduction import reduce_regression
from hessian_papers.data.tools.whitening import principal_components
from hessian_spectra.models import HalfSquaredError

SCALES = (None, 0.7, 3.0)


def instance(size, features, rank, outputs, seed):
    """Inputs of any rank, with a repeated and a zero column, targets and a two-layer network."""
    generator = torch.Generator().manual_seed(seed)
    randn = functools.partial(torch.randn, dtype=torch.float64, generator=generator)
    rank = min(rank, size, features)
    x = randn(size, rank) @ randn(rank, features)
    x = torch.cat([x, x[:, :1], torch.zeros(size, 1, dtype=x.dtype)], dim=1)
    weights = (randn(3, features + 2), randn(outputs, 3))
    return x, randn(size, outputs), weights


def full_sample(components, x, input_scale):
    return x if input_scale is None else components.inputs(input_scale)


def loss_on(x, y):
    half_squared_error = HalfSquaredError("sample")
    return lambda first, second: half_squared_error(x @ first.mT @ second.mT, y)


def flat_hessian(loss, weights):
    """The Hessian with respect to all entries of the weights, in the order of torch."""
    jacobian = functools.partial(torch.func.jacrev, argnums=(0, 1))
    blocks = jacobian(jacobian(loss))(*weights)
    sizes = [weight.numel() for weight in weights]
    rows = [
        torch.cat([b.reshape(n, m) for b, m in zip(row, sizes, strict=True)], dim=1)
        for row, n in zip(blocks, sizes, strict=True)
    ]
    return torch.cat(rows)


def in_directions(weights, components, input_scale):
    """The network for the reduced problem, and for the full sample."""
    first, second = weights
    reduced = first @ components.directions
    return (reduced, second), (first if input_scale is None else reduced, second)


INSTANCES = st.tuples(
    st.integers(1, 9), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 999)
)
MOST = settings(max_examples=25)


@MOST
@given(INSTANCES, st.sampled_from(SCALES))
def test_samples_have_the_loss_and_the_hessian_of_all_samples(numbers, input_scale):
    x, y, weights = instance(*numbers)
    components = principal_components(x)
    reduced = reduce_regression(components, y, input_scale)
    mine, peer = in_directions(weights, components, input_scale)
    inputs, targets = reduced.samples()
    few = loss_on(inputs, targets)
    full = loss_on(full_sample(components, x, input_scale), y)
    # With any weights, so that the gradient is that of all samples, too.
    for loss in (few(*mine) + reduced.floor, reduced.loss(mine[1] @ mine[0])):
        assert float(loss) == pytest.approx(float(full(*peer)), rel=1e-12)
    hessian = flat_hessian(few, mine)
    whole = flat_hessian(full, peer)
    if input_scale is None:
        first, second = peer
        rotation = torch.block_diag(
            torch.kron(torch.eye(len(first), dtype=x.dtype), components.directions),
            torch.eye(second.numel(), dtype=x.dtype),
        )
        hessian = rotation @ hessian @ rotation.mT
    torch.testing.assert_close(hessian, whole, rtol=0, atol=1e-10 * float(whole.abs().max()))


@MOST
@given(INSTANCES, st.sampled_from(SCALES))
def test_the_floor_is_the_loss_of_least_squares(numbers, input_scale):
    x, y, _ = instance(*numbers)
    components = principal_components(x)
    reduced = reduce_regression(components, y, input_scale)
    solution = torch.linalg.lstsq(x, y, driver="gelsd").solution
    least = float((x @ solution - y).square().sum()) / (2 * len(x))
    assert reduced.floor == pytest.approx(least, rel=1e-10, abs=1e-15 * float(y.square().sum()))
    best = reduced.target / reduced.root
    assert float(reduced.loss(best)) == pytest.approx(reduced.floor, rel=1e-12, abs=1e-25)


def test_the_floor_keeps_its_digits_where_a_difference_would_lose_them():
    x = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    y = torch.tensor([[1.0], [1e-9]], dtype=torch.float64)
    reduced = reduce_regression(principal_components(x), y, None)
    assert reduced.floor == pytest.approx(1e-18 / 4, rel=1e-12)
