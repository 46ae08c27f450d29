"""Kronecker products as approximations of a layer's Hessian, against dense matrices."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.layerwise.held import Squares, WrittenDown

from .layer_networks import (
    NETWORKS,
    Network,
    close,
    convolutions,
    layer_of,
    nearest,
    plain,
    problem_of,
)


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
    layer = layer_of(key, name)
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
    layer = layer_of("convolutions", "0")
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
    layer = layer_of(key, name)
    matrix = cv.dense_matrix(layer.hessian)
    best = nearest(matrix, *layer.shape)
    actual = layer.best_kronecker(tolerance=1e-13, steps=500)
    assert_close(torch.kron(actual.output, actual.inputs), best, rtol=1e-9, atol=1e-12)
    assert actual.change <= 1e-13
    assert_close(torch.kron(*layer.factors("nearest")), best, rtol=0, atol=1e-5)
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
    close(cv.dense_matrix(layer.gauss_newton), matrix)
    best = nearest(matrix, *layer.shape)
    actual = layer.best_kronecker(tolerance=1e-13, steps=2000)
    assert_close(torch.kron(actual.output, actual.inputs), best, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("samples", "kind"), [(2, Squares), (200, WrittenDown)])
@pytest.mark.parametrize("side", [2, 3], ids=["one position", "four positions"])
def test_what_is_held_gives_the_same_as_what_passes_by(samples, kind, side):
    """Few samples are held as squares, many as a matrix; of either all factors are asked."""
    draws = torch.Generator().manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Flatten(), nn.Linear(3 * (side - 1) ** 2, 3))
    x = torch.randn(samples, 2, side, side, generator=draws, dtype=torch.float64)
    problem = cv.Problem(model.double(), nn.CrossEntropyLoss(), [(x, torch.arange(samples) % 3)])
    passing, holding = cv.layerwise(problem, "0"), cv.layerwise(problem, "0")
    assert {type(part) for part in holding.gauss_newton.parts} == {kind}
    close(cv.dense_matrix(holding.gauss_newton), cv.dense_matrix(passing.hessian))
    for factors in ("weighted", "nearest"):
        for actual, expected in zip(
            holding.factors(factors), passing.factors(factors), strict=True
        ):
            close(actual, expected)
    both = (layer.corrected(layer.eigenbasis("weighted")) for layer in (holding, passing))
    close(*(cv.dense_matrix(basis) for basis in both))


@pytest.mark.parametrize("factors", ["expand", "reduce", "weighted", "nearest"])
def test_a_damped_inverse_is_that_of_the_matrix(factors):
    layer = layer_of("convolutions", "2")
    basis = layer.eigenbasis(factors)
    matrix = cv.dense_matrix(basis)
    close(matrix, torch.kron(*layer.factors(factors)))
    inverse = torch.linalg.inv(matrix + 0.1 * torch.eye(len(matrix), dtype=torch.float64))
    close(cv.dense_matrix(basis.damped_inverse(0.1)), inverse)
    close(basis.spectrum(3).eigenvalues, torch.linalg.eigvalsh(matrix)[-3:])
