"""Hessian-vector products and dense spectra of ensembles, against automatic differentiation."""

import pytest
import torch

from hessian_spectra.curvature.ensemble import SecondMoments, hessians

from .ensembles import ACTIVATIONS, SHAPES, data, dense, ensemble, normal


def matrices(operator):
    """Dense matrices ``(N, p, p)`` from products with the unit vectors."""
    units = torch.eye(operator.size, dtype=operator.dtype)
    return torch.stack([operator @ unit.expand(operator.count, -1) for unit in units], dim=-1)


def assert_close(actual, expected, tolerance=1e-13):
    """Entries agree relative to the largest of each matrix, which is 0 for a dead network."""
    scale = expected.abs().amax(dim=(-2, -1), keepdim=True)
    assert bool(((actual - expected).abs() <= tolerance * scale).all())
    assert float(scale.max()) > 0


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_products_are_those_of_the_hessian(sizes, activation):
    networks, (x, y) = ensemble(sizes, activation), data(sizes)
    assert_close(matrices(hessians(networks, (x, y))), dense(networks, x, y))


@pytest.mark.parametrize("sizes", [(3, 5, 2), (2, 4, 3), (4, 3, 3, 1)], ids=str)
def test_second_moments_say_all_of_linear_networks(sizes):
    networks, (x, y) = ensemble(sizes, "linear"), data(sizes)
    vectors = normal(3, sum(weight[0].numel() for weight in networks.weights))
    moments = SecondMoments.of(x, y)
    assert torch.equal(hessians(networks, moments) @ vectors, hessians(networks, (x, y)) @ vectors)
    assert float(moments.syy) == pytest.approx(float(y.square().sum()) / 7)


@pytest.mark.parametrize("sides", [(1.0, -1.0), (1.0, 1.0), (-1.0, -1.0), (0.0, 1.0)])
def test_relu_networks_of_one_input_with_samples_on_few_sides(sides):
    sizes = (1, 5, 4, 2)
    x = normal(6, 1).abs() * torch.tensor(sides * 3)[:, None].double()
    networks, y = ensemble(sizes, "relu"), normal(6, 2, seed=3)
    operator = hessians(networks, (x, y))
    assert len(operator.inputs) == 2
    assert_close(matrices(operator), dense(networks, x, y))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_blocks_and_selections_change_nothing(activation, monkeypatch):
    sizes = (3, 5, 4, 3)
    networks, samples = ensemble(sizes, activation, count=7), data(sizes)
    operator = hessians(networks, samples)
    vectors = normal(7, operator.size)
    whole = operator @ vectors
    monkeypatch.setattr("hessian_spectra.curvature.ensemble.products._CACHE_BYTES", 3000)
    torch.testing.assert_close(operator @ vectors, whole, rtol=1e-14, atol=1e-14)
    some = torch.tensor([5, 0, 3])
    torch.testing.assert_close(operator.select(some) @ vectors[some], whole[some])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_float32(activation):
    sizes = (3, 5, 4, 3)
    networks, (x, y) = ensemble(sizes, activation), data(sizes)
    exact = hessians(networks, (x, y))
    vectors = normal(3, exact.size)
    present = hessians(networks.to(torch.float32), (x.float(), y.float())) @ vectors.float()
    converted = exact.to(torch.float32) @ vectors.float()
    assert present.dtype == converted.dtype == torch.float32
    expected = exact @ vectors
    for actual in (present, converted):
        assert (actual - expected).norm() < 1e-6 * expected.norm()
