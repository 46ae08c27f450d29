"""Operators add, scale, shift and restrict as the dense matrices that they stand for do."""

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import eigsh
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import Matrix, normal

P = 7


def symmetric(seed: int, size: int = P) -> torch.Tensor:
    half = normal(size, size, seed=seed)
    return half + half.T


def basis(columns: int, seed: int = 0, size: int = P) -> torch.Tensor:
    return torch.linalg.qr(normal(size, columns, seed=seed)).Q


A, B = symmetric(1), symmetric(2)
U = basis(3)
ONE = torch.eye(P, dtype=torch.float64)
COMPOSITIONS = {
    "sum": (lambda a, b: a + b, A + B),
    "difference": (lambda a, b: a - b, A - B),
    "negative": (lambda a, b: -a, -A),
    "multiple": (lambda a, b: 3 * a, 3 * A),
    "multiple from the right": (lambda a, b: a * 3, 3 * A),
    "numpy's multiple": (lambda a, b: np.float64(3) * a, 3 * A),
    "tensor's multiple": (lambda a, b: torch.tensor(3.0) * a, 3 * A),
    "quotient": (lambda a, b: a / 4, A / 4),
    "transpose": (lambda a, b: a.T, A),
    "shift": (lambda a, b: a.shift(-2.5), A - 2.5 * ONE),
    "submatrix": (lambda a, b: a.submatrix([5, 0, 2]), A[[5, 0, 2]][:, [5, 0, 2]]),
    "projection": (lambda a, b: a.projection(U), U @ U.T @ A @ U @ U.T),
    "block diagonal": (lambda a, b: cv.block_diagonal([a, b]), torch.block_diag(A, B)),
    "tensor on the right": (lambda a, b: a + B, A + B),
    "tensor on the left": (lambda a, b: B + a, A + B),
    "tensor minus operator": (lambda a, b: B - a, B - A),
    "operator minus tensor": (lambda a, b: a - B, A - B),
    "deep": (lambda a, b: (2 * (a - b.shift(1)) / 3).submatrix(range(4)) + ONE[:4, :4],
             ((A - B - ONE) * 2 / 3)[:4, :4] + ONE[:4, :4]),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions_are_those_of_the_dense_matrices(name):
    compose, expected = COMPOSITIONS[name]
    composed = compose(Matrix(A), Matrix(B))
    assert isinstance(composed, cv.Operator)
    assert (composed.shape, composed.dtype) == (tuple(expected.shape), torch.float64)
    matrix = normal(len(expected), 4, seed=5)
    assert_close(composed @ matrix, expected @ matrix, rtol=1e-13, atol=1e-13)
    assert_close(composed @ matrix[:, 0], expected @ matrix[:, 0])
    assert (composed @ matrix[:, :0]).shape == (len(expected), 0)
    assert_close(cv.dense_matrix(composed), expected, rtol=1e-13, atol=1e-13)


def test_the_restriction_is_the_small_dense_matrix():
    operator = Matrix(A)
    small = operator.restriction(U)
    assert_close(small, U.T @ A @ U, rtol=1e-13, atol=1e-13)
    assert operator.products == 3
    # What is not zero of the projection's spectrum is that of the restriction.
    whole = cv.dense_spectrum(operator.projection(U)).eigenvalues
    expected = torch.cat([torch.linalg.eigvalsh(small), torch.zeros(P - 3)]).sort().values
    assert_close(whole, expected, rtol=1e-12, atol=1e-12)


def test_a_projection_on_eigenvectors_keeps_the_top_and_the_rest_is_the_bulk():
    operator = Matrix(A)
    top = cv.top_eigenpairs(operator, k=2)
    bulk = operator - operator.projection(top.eigenvectors())
    values = torch.linalg.eigvalsh(A)
    expected = torch.cat([values[:-2], torch.zeros(2)]).sort().values
    assert_close(cv.dense_spectrum(bulk).eigenvalues, expected, rtol=1e-10, atol=1e-10)


def test_products_carry_no_graph_and_leave_their_argument_alone():
    operator = cv.as_operator(A.clone().requires_grad_())
    x = normal(P).requires_grad_()
    product = (operator + B).shift(2) @ x
    assert not product.requires_grad
    assert torch.equal(x.detach(), normal(P))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scipy_finds_the_eigenvalues(dtype):
    size = 60
    matrix = symmetric(4, size).to(dtype)
    at_scipy = (2 * cv.as_operator(matrix)).to_scipy()
    assert at_scipy.dtype == (np.float32 if dtype == torch.float32 else np.float64)
    values, vectors = eigsh(at_scipy, k=4, which="LA")
    expected = 2 * torch.linalg.eigvalsh(matrix)[-4:]
    assert_close(torch.from_numpy(values), expected, rtol=1e-5, atol=1e-4)
    assert vectors.shape == (size, 4)
    # Scipy's own algebra goes on from there.
    both = (at_scipy.T + at_scipy) @ np.eye(size, dtype=at_scipy.dtype)
    np.testing.assert_allclose(both, 4 * matrix.numpy(), rtol=1e-5)


def test_scipy_gets_vectors_that_it_may_not_write():
    x = np.ones(P)
    x.flags.writeable = False
    np.testing.assert_allclose(cv.as_operator(A).to_scipy() @ x, A.sum(dim=1).numpy())
    with pytest.raises(ValueError, match=r"operator @ x: expected real numbers, got complex128"):
        cv.as_operator(A).to_scipy() @ (1j * x)


@pytest.mark.parametrize("shape", [(P,), (3, P), (1, P)])
def test_rows_multiply_from_the_left(shape):
    left = normal(*shape, seed=5)
    assert_close(left @ Matrix(A), left @ A)
    assert_close(U.T @ Matrix(A) @ U, U.T @ A @ U)


def test_a_sparse_matrix_is_an_operator():
    matrix = torch.diag(torch.arange(3.0)).to_sparse()
    assert (cv.as_operator(matrix) @ torch.ones(3)).tolist() == [0, 1, 2]
    assert (cv.as_operator(0 * torch.eye(3).to_sparse()) @ torch.ones(3)).tolist() == [0, 0, 0]
