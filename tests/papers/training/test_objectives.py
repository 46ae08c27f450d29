"""Objectives: losses and gradients by hand against autograd, and what they refuse."""

import itertools

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import nn

from hessian_papers.training.objectives import LinearObjective, SampleObjective
from hessian_spectra.models import HalfSquaredError, Perceptron

TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5}


def gaussian(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)


def weights_of(sizes, seed=0, dtype=torch.float64):
    pairs = itertools.pairwise(sizes)
    return [
        gaussian(out, into, seed=seed + layer, dtype=dtype) / into**0.5
        for layer, (into, out) in enumerate(pairs)
    ]


def by_autograd(loss, weights):
    leaves = [weight.clone().requires_grad_() for weight in weights]
    value = loss(leaves)
    return value.item(), torch.autograd.grad(value, leaves)


def agree(objective, loss, weights, tolerance):
    value, slopes = objective.loss_and_slopes(weights)
    expected, gradients = by_autograd(loss, weights)
    assert value == pytest.approx(expected, rel=tolerance)
    assert len(slopes) == len(gradients)
    for slope, gradient in zip(slopes, gradients, strict=True):
        # Where terms of order 1 cancel, their rounding errors stay.
        bound = tolerance * max(1.0, gradient.abs().max().item())
        torch.testing.assert_close(slope, gradient, rtol=0, atol=bound)


sizes_of = st.lists(st.integers(1, 6), min_size=2, max_size=6)


@settings(max_examples=60)
@given(sizes_of, st.integers(0, 10**6), st.sampled_from([torch.float32, torch.float64]))
def test_the_linear_objective_is_the_loss_that_it_says(sizes, seed, dtype):
    root = gaussian(sizes[0], seed=seed + 100, dtype=dtype).abs()
    target = gaussian(sizes[-1], sizes[0], seed=seed + 200, dtype=dtype)

    def loss(weights):
        product = torch.eye(sizes[0], dtype=dtype)
        for weight in weights:
            product = weight @ product
        return 0.5 * (product * root - target).square().sum() + 0.25

    objective = LinearObjective(root, target, 0.25)
    agree(objective, loss, weights_of(sizes, seed, dtype), TOLERANCE[dtype])


@settings(max_examples=60)
@given(
    sizes_of,
    st.integers(1, 20),
    st.integers(0, 10**6),
    st.sampled_from([torch.float32, torch.float64]),
    st.sampled_from(["linear", "relu", "tanh"]),
)
def test_the_samples_objective_is_that_of_a_perceptron(sizes, samples, seed, dtype, activation):
    x = gaussian(samples, sizes[0], seed=seed + 100, dtype=dtype)
    y = gaussian(samples, sizes[-1], seed=seed + 200, dtype=dtype)

    class Following(Perceptron):
        """A perceptron of the weights themselves."""

        def __init__(self, weights):
            nn.Module.__init__(self)
            self.weights, self.multipliers = weights, (1.0,) * len(weights)
            self.activation = activation

    def loss(weights):
        return HalfSquaredError("sample")(Following(weights)(x), y)

    agree(SampleObjective(x, y, activation), loss, weights_of(sizes, seed, dtype),
          TOLERANCE[dtype])  # fmt: skip


def test_evaluations_follow_weights_that_change():
    x, y = gaussian(9, 4), gaussian(9, 2, seed=1)
    root, target = gaussian(4).abs(), gaussian(2, 4, seed=1)
    for objective in (SampleObjective(x, y, "tanh"), LinearObjective(root, target, 0.0)):
        weights = weights_of((4, 3, 5, 2))
        evaluate, factors = objective.follow(weights)
        evaluate()
        for weight in weights:
            weight.mul_(1.5)
        actual = evaluate(), [left @ right for left, right in factors]
        loss, slopes = objective.loss_and_slopes(weights)
        assert actual[0] == loss
        assert all(map(torch.equal, actual[1], slopes))
        assert evaluate() == loss


def test_digests_tell_objectives_apart():
    x, y = gaussian(3, 2), gaussian(3, 1, seed=1)
    objectives = [
        SampleObjective(x, y, "tanh"),
        SampleObjective(x, y, "relu"),
        SampleObjective(x, 2 * y, "tanh"),
        SampleObjective(x.float(), y.float(), "tanh"),
        LinearObjective(x[0], y[:2].T, 0.0),
        LinearObjective(x[0], y[:2].T, 1.0),
        LinearObjective(x[1], y[:2].T, 0.0),
    ]
    assert len({objective.digest() for objective in objectives}) == len(objectives)
    assert SampleObjective(x.clone(), y.clone(), "tanh").digest() == objectives[0].digest()
