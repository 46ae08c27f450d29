"""Kronecker products as approximations of a layer's Hessian, against dense matrices."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .layer_networks import NETWORKS, Network, close, convolutions, nearest, plain, problem_of


class Saddle(nn.Module):
    """A loss that bends up in some outputs and down in others, differently for each sample."""

    def forward(self, z: Tensor, y: Tensor) -> Tensor:
        return (z.square() * y).mean()


def eigenbasis(layer: cv.Layerwise) -> Tensor:
    factors = layer.output_hessian, layer.input_autocorrelation
    return torch.kron(*(torch.linalg.eigh(factor).eigenvectors for factor in factors))


def test_one_sample_is_a_kronecker_product():
    """(1) of the paper: for a single sample there is nothing to decouple."""
    network = NETWORKS["linear"]
    x, y = network.data()
    layer = cv.layerwise(cv.Problem(network.model(), network.loss, [(x[:1], y[:1])]), "2")
    close(cv.dense_matrix(layer.approximation), cv.dense_matrix(layer.hessian))


@pytest.mark.parametrize(("key", "name"), [("linear", "2"), ("convolutions", "2")])
def test_kronecker_eigenpairs_are_those_of_the_product(key, name):
    network = NETWORKS[key]
    layer = cv.layerwise(problem_of(network, network.model()), name)
    product = torch.kron(layer.output_hessian, layer.input_autocorrelation)
    close(cv.dense_matrix(layer.approximation), product)
    expected = torch.linalg.eigvalsh(product)
    actual = layer.kronecker(6)
    close(actual.eigenvalues, expected[-6:])
    vectors = actual.eigenvectors()
    close(product @ vectors, vectors * actual.eigenvalues)
    close(vectors.T @ vectors, torch.eye(6, dtype=torch.float64))
    assert len(layer.kronecker(len(product)).eigenvalues) == len(product)


def test_groups_have_a_block_for_each_pair():
    network = NETWORKS["convolutions"]
    layer = cv.layerwise(problem_of(network, network.model()), "0")
    output, inputs = layer.output_hessian, layer.input_autocorrelation
    (m, d), half = layer.shape, layer.shape[0] // 2
    rows = [
        torch.cat(
            [output[o, p] * inputs[o // half * d :, p // half * d :][:d, :d] for p in range(m)],
            dim=1,
        )
        for o in range(m)
    ]
    expected = torch.cat(rows)
    close(cv.dense_matrix(layer.approximation), expected)
    close(layer.kronecker(3).eigenvalues, torch.linalg.eigvalsh(expected)[-3:])


@pytest.mark.parametrize(
    ("key", "name"), [("linear", "0"), ("convolutions", "2"), ("squared", "2")]
)
def test_the_best_product_is_the_first_singular_one(key, name):
    network = NETWORKS[key]
    layer = cv.layerwise(problem_of(network, network.model()), name)
    matrix = cv.dense_matrix(layer.hessian)
    best = nearest(matrix, *layer.shape)
    actual = layer.best_kronecker(tolerance=1e-13, steps=500)
    assert_close(torch.kron(actual.output, actual.inputs), best, rtol=1e-9, atol=1e-12)
    assert actual.change <= 1e-13
    stopped = layer.best_kronecker(tolerance=1e-13, steps=1)
    assert stopped.change > 1e-4
    farther = (cv.dense_matrix(layer.approximation) - matrix).norm()
    assert (matrix - best).norm() < farther


@pytest.mark.parametrize(
    ("key", "name"), [("linear", "0"), ("convolutions", "2"), ("squared", "2")]
)
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")
def test_corrected_eigenvalues_are_the_diagonal_in_the_basis_of_the_factors(key, name):
    network = NETWORKS[key]
    problem = problem_of(network, network.model())
    layer = cv.layerwise(problem, name)
    basis = eigenbasis(layer)
    matrix = cv.dense_matrix(cv.ggn(problem.fixed_at([f"{name}.weight"])))
    expected = (basis * (matrix @ basis)).sum(dim=0).sort().values
    actual = layer.eigenvalue_corrected(len(matrix))
    close(actual.eigenvalues, expected)
    vectors = actual.eigenvectors()
    close((vectors * (matrix @ vectors)).sum(dim=0), expected)
    whole = vectors * expected @ vectors.T
    assert (matrix - whole).norm() < (matrix - cv.dense_matrix(layer.approximation)).norm()
    # As curvlinops has it.
    from curvlinops import EKFACLinearOperator

    arguments = cv.curvlinops_arguments(problem.fixed_at([f"{name}.weight"]))
    close(whole, cv.dense_matrix(EKFACLinearOperator(*arguments, fisher_type="type-2")))


SADDLES = {
    "one position": Network(lambda: plain(nn.ReLU()), (4,), Saddle()),
    "several positions": Network(lambda: convolutions(nn.ReLU()), (2, 4, 5), Saddle()),
}


@pytest.mark.parametrize("key", SADDLES)
def test_squares_count_with_their_signs_where_the_loss_bends_down(key):
    """The Gauss-Newton matrix of such a loss has eigenvalues of both signs."""
    network = SADDLES[key]
    problem = problem_of(network, network.model())
    layer = cv.layerwise(problem, "2")
    matrix = cv.dense_matrix(cv.ggn(problem.fixed_at(["2.weight"])))
    values = torch.linalg.eigvalsh(matrix)
    assert values[0] < -1e-3 < 1e-3 < values[-1]
    basis = eigenbasis(layer)
    expected = (basis * (matrix @ basis)).sum(dim=0).sort().values
    close(layer.eigenvalue_corrected(len(matrix)).eigenvalues, expected)
    assert expected[0] < -1e-4
    best = nearest(matrix, *layer.shape)
    actual = layer.best_kronecker(tolerance=1e-13, steps=2000)
    assert_close(torch.kron(actual.output, actual.inputs), best, rtol=1e-9, atol=1e-12)
