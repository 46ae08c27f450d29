"""Perceptrons: linear, ReLU and tanh, one at a time and as an ensemble."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra.curvature import ensemble as curvature
from hessian_spectra.curvature.ensemble.spectra import exact_spectra
from hessian_spectra.models import Ensemble, HalfSquaredError, Perceptron

SIZES = (5, 4, 6, 3)
MODULES = {"linear": nn.Identity, "relu": nn.ReLU, "tanh": nn.Tanh}


def gaussian(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def networks(sizes, activation, count=1):
    """Networks with multipliers that are not 1."""
    layers = range(len(sizes) - 1)
    return Ensemble(
        weights=tuple(gaussian(count, sizes[at + 1], sizes[at], seed=at) for at in layers),
        multipliers=tuple(0.5 + 0.3 * at for at in layers),
        activation=activation,
    )


def sequential(weights, multipliers, activation):
    """The same network of torch's own modules."""
    layers = []
    for weight, multiplier in zip(weights, multipliers, strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=torch.float64)
        layer.weight.data = multiplier * weight
        layers += [layer, MODULES[activation]()]
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("samples", [1, 7, 200])
@pytest.mark.parametrize("activation", MODULES)
def test_outputs_and_gradients_are_those_of_torch_modules(activation, samples):
    ensemble = networks(SIZES, activation, 2)
    x, y = gaussian(samples, SIZES[0]), gaussian(samples, SIZES[-1], seed=1)
    for number in range(2):
        own = ensemble.network(number)
        weights = [weight[number] for weight in ensemble.weights]
        plain = sequential(weights, ensemble.multipliers, activation)
        assert_close(own(x), plain(x), rtol=1e-12, atol=1e-14)
        assert_close(ensemble.outputs(x)[number], plain(x), rtol=1e-12, atol=1e-14)
        for network in (own, plain):
            HalfSquaredError("sample")(network(x), y).backward()
        for parameter, expected, multiplier in zip(
            own.parameters(), plain.parameters(), ensemble.multipliers, strict=True
        ):
            assert_close(parameter.grad, multiplier * expected.grad, rtol=1e-12, atol=1e-14)


def test_a_single_layer_and_a_single_sample_are_no_exceptions():
    weight, x = gaussian(3, 5), gaussian(1, 5, seed=1)
    assert_close(Perceptron([weight], [2.0], "linear")(x), 2 * x @ weight.T)


REFUSED = "^activation: expected linear or relu, got 'tanh'$"


def test_what_is_made_for_piecewise_linear_networks_refuses_tanh():
    ensemble = networks((2, 3, 1), "tanh")
    x, y = gaussian(4, 2), gaussian(4, 1)
    for compute in (curvature.hessians, curvature.ensemble_trace, curvature.ensemble_sharpness):
        with pytest.raises(ValueError, match=REFUSED):
            compute(ensemble, (x, y))
    with pytest.raises(ValueError, match=REFUSED):
        exact_spectra(ensemble, x, y[:, 0])
