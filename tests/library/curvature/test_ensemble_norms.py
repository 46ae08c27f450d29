"""Traces, block bounds and norms of ensembles, against dense Hessians and single matrices."""

import functools
import itertools

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.curvature.ensemble import (
    SecondMoments,
    ensemble_block_bounds,
    ensemble_sharpness,
    ensemble_trace,
    ensemble_weight_statistics,
)

from .ensembles import ACTIVATIONS, SHAPES, data, dense, ensemble, normal


def block_tops(networks, matrices):
    """The largest eigenvalue of each diagonal block, ``(N, L)``."""
    sizes = [weight[0].numel() for weight in networks.weights]
    ends = torch.tensor([0, *sizes]).cumsum(0).tolist()
    blocks = [
        torch.linalg.eigvalsh(matrices[:, first:last, first:last])[:, -1]
        for first, last in itertools.pairwise(ends)
    ]
    return torch.stack(blocks, dim=1)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_the_trace_is_that_of_the_hessian(sizes, activation):
    networks, (x, y) = ensemble(sizes, activation), data(sizes)
    exact = dense(networks, x, y).diagonal(dim1=1, dim2=2).sum(dim=1)
    assert_close(ensemble_trace(networks, (x, y)), exact, rtol=1e-12, atol=1e-12)


def test_the_trace_from_moments_in_batches_and_in_float32(monkeypatch):
    sizes = (3, 5, 4, 2)
    x, y = data(sizes)
    linear, relu = ensemble(sizes, "linear", 5), ensemble(sizes, "relu", 5)
    whole = ensemble_trace(linear, (x, y))
    assert torch.equal(ensemble_trace(linear, SecondMoments.of(x, y)), whole)
    expected = ensemble_trace(relu, (x, y))
    monkeypatch.setattr("hessian_spectra.curvature.ensemble.traces._BATCH_BYTES", 1)
    # The product of one network's matrices may add in another order than that of a stack of them.
    assert_close(ensemble_trace(relu, (x, y)), expected, rtol=1e-14, atol=0)
    single = ensemble_trace(relu.to(torch.float32), (x.float(), y.float()))
    assert_close(single, expected, rtol=1e-6, atol=0)
    assert single.dtype == torch.float64


@pytest.mark.parametrize("white", [False, True])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_blocks_of_linear_networks(sizes, white):
    """Without moments the inputs are white."""
    networks, (x, y) = ensemble(sizes, "linear"), data(sizes)
    if white:
        x = torch.linalg.qr(x).Q * len(x) ** 0.5
    actual = ensemble_block_bounds(networks, None if white else x.mT @ x / len(x))
    exact = block_tops(networks, dense(networks, x, y))
    assert_close(actual.blocks, exact, rtol=1e-11, atol=0)
    assert torch.equal(actual.largest, actual.blocks.max(dim=1).values)
    assert_close(actual.total, exact.sum(dim=1), rtol=1e-11, atol=0)


def test_the_sharpness_is_between_the_bounds_at_zero_residual():
    networks = ensemble((4, 6, 3), "linear", count=1)
    x = torch.linalg.qr(normal(20, 4)).Q * 20**0.5
    actual = ensemble_sharpness(networks, (x, networks.outputs(x)[0])).values
    bounds = ensemble_block_bounds(networks)
    assert bool((bounds.largest < actual).all())
    # Equation (10): the sum is the largest eigenvalue of the Gauss-Newton matrix.
    assert_close(actual, bounds.total, rtol=1e-9, atol=0)


def three_norms(matrix):
    values = torch.linalg.svdvals(matrix)
    return torch.stack([values.max(), matrix.square().sum().sqrt(), values.sum()])


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_norms_of_matrices_and_of_the_products_without_one(sizes):
    networks = ensemble(sizes, "linear")
    actual = ensemble_weight_statistics(networks)
    for index in range(networks.count):
        weights = [weight[index] for weight in networks.weights]
        for layer, weight in enumerate(weights):
            assert_close(actual.norms[index, layer], three_norms(weight))
            others = [*weights[:layer], *weights[layer + 1 :]]
            inner = 0 < layer < len(weights) - 1
            if others and (not inner or weight.shape[0] == weight.shape[1]):
                # W_1 stands on the right.
                product = functools.reduce(lambda right, left: left @ right, others)
                assert_close(actual.products[index, layer], three_norms(product))
            elif others or weight.shape[0] != weight.shape[1]:
                assert actual.products[index, layer].isnan().all()


def test_alignments_of_two_layers():
    networks = ensemble((4, 6, 4), "linear")
    actual = ensemble_weight_statistics(networks).alignments
    for index in range(networks.count):
        first, second = (weight[index] for weight in networks.weights)
        spectral, _, nuclear = three_norms(first.mT @ second.mT)
        expected = torch.stack([spectral, (first * second.mT).sum().abs(), nuclear])
        assert_close(actual[index], expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_networks_that_diverged_are_nan_and_leave_the_others_alone(activation):
    sizes = (3, 5, 3)
    networks, samples = ensemble(sizes, activation, count=4), data(sizes)
    networks.weights[0][1, 0, 0] = torch.nan
    networks.weights[1][2] = torch.inf
    whole = networks.select([0, 3])
    for measure in (
        lambda at: ensemble_trace(at, samples),
        lambda at: ensemble_block_bounds(at).blocks,
        lambda at: ensemble_weight_statistics(at).norms,
        lambda at: ensemble_weight_statistics(at).products,
        lambda at: ensemble_weight_statistics(at).alignments,
    ):
        actual = measure(networks)
        assert actual[[1, 2]].isnan().all()
        assert_close(actual[[0, 3]], measure(whole), rtol=1e-14, atol=0)
