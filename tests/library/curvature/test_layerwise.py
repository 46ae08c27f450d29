"""Layer-wise Hessians and their factors against dense second derivatives of small networks."""

import pytest
import torch
from torch import nn

from hessian_spectra import curvature as cv

from .cases import normal
from .layer_networks import (
    NETWORKS,
    by_derivative,
    close,
    dense,
    dense_factors,
    layer_of,
    passing,
    problem_of,
)

LAYERS = [
    (key, name)
    for key, network in NETWORKS.items()
    for name, module in network.model().named_modules()
    if hasattr(module, "weight") and not isinstance(module, nn.BatchNorm2d)
]


@pytest.mark.parametrize(("key", "name"), LAYERS)
def test_hessian_and_factors_are_those_of_dense_derivatives(key, name):
    network = NETWORKS[key]
    model = network.model()
    layer = cv.layerwise(problem_of(network, model), name)
    close(cv.dense_matrix(layer.hessian), dense(network, model, name))
    output, inputs = dense_factors(network, model, name)
    close(layer.output_hessian, output)
    close(layer.input_autocorrelation, inputs)


@pytest.mark.parametrize("key", ["linear", "convolutions"])
def test_all_layers_at_once_are_as_each_by_itself(key):
    network = NETWORKS[key]
    problem = problem_of(network, network.model())
    for name, layer in cv.layerwise(problem).items():
        alone = cv.layerwise(problem, name)
        assert layer.name == name
        assert layer.shape == alone.shape
        close(layer.output_hessian, alone.output_hessian)
        close(layer.input_autocorrelation, alone.input_autocorrelation)
        close(layer.input_mean, alone.input_mean)


def test_the_hessians_of_layers_are_blocks_of_one():
    """Checked once, with one copy of the network."""
    network = NETWORKS["linear"]
    actual = cv.layerwise(problem_of(network, network.model()))
    assert actual["0"].hessian.whole is actual["4"].hessian.whole
    assert len(actual["0"].hessian.whole.problem.checked) == 1


def test_the_mean_of_the_inputs_is_that_at_each_position():
    network = NETWORKS["unusual"]
    model = network.model()
    inputs, _ = passing(network, model, "3")
    expected = by_derivative(model.get_submodule("3"), inputs).mean(dim=0)
    close(cv.layerwise(problem_of(network, model), "3").input_mean, expected.T)


def test_vectors_become_matrices_row_by_row():
    layer = layer_of("linear", "0")
    u, v = normal(5, seed=1), normal(4, seed=2)
    close(layer.matricise(torch.kron(u, v)[:, None])[0], torch.outer(u, v))


@pytest.mark.parametrize("side", ["output", "input"])
def test_correspondences_are_shares_of_each_vector(side):
    layer = layer_of("linear", "2")
    factor = layer.output_hessian if side == "output" else layer.input_autocorrelation
    basis = torch.linalg.eigh(factor).eigenvectors.flip(1)
    vectors = cv.top_eigenpairs(layer.hessian, k=4).eigenvectors()
    expected = torch.stack(
        [
            torch.stack(
                [(mat.T @ b if side == "output" else mat @ b).square().sum() for b in basis.T]
            )
            for mat in vectors.T.reshape(4, *layer.shape)
        ]
    )
    actual = layer.correspondence(vectors, side)
    close(actual, expected)
    close(actual.sum(dim=1), torch.ones(4, dtype=torch.float64))


def test_it_belongs_to_the_moment_and_leaves_the_model_alone():
    network = NETWORKS["linear"]
    model = network.model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    problem = problem_of(network, model)
    layer = cv.layerwise(problem, "2")
    expected = dense(network, model, "2"), *dense_factors(network, model, "2")
    with torch.no_grad():
        model[0].weight.add_(1.0)
    close(cv.dense_matrix(layer.hessian), expected[0])
    close(layer.output_hessian, expected[1])
    close(layer.input_autocorrelation, expected[2])
    with torch.no_grad():
        model[0].weight.copy_(before["0.weight"])
    assert all(map(torch.equal, model.state_dict().values(), before.values()))
    assert all(parameter.grad is None for parameter in model.parameters())
