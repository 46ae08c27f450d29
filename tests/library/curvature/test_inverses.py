"""Inverses of operators, against dense ones in float64 and against curvlinops' own."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import Matrix, X, Y, built, mlp, normal


def positive(size: int) -> torch.Tensor:
    half = normal(size, size)
    return half @ half.T / size


@pytest.mark.parametrize("method", ["cg", "lsmr"])
@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_inverse_times_operator_is_the_identity(method, damping):
    matrix = positive(12)
    inverse = cv.inverse(matrix, method, damping=damping, tol=1e-11, max_iterations=5000)
    identity = torch.eye(12, dtype=torch.float64)
    expected = torch.linalg.inv(matrix + damping * identity)
    assert_close(cv.dense_matrix(inverse), expected, rtol=1e-5, atol=1e-5)
    assert_close(inverse @ (matrix + damping * identity), identity, rtol=0, atol=1e-5)
    assert (inverse @ identity[:, 0]).shape == (12,)
    assert (inverse @ identity[:, :0]).shape == (12, 0)


@pytest.mark.parametrize("method", ["cg", "lsmr"])
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_the_newton_step_of_a_network_is_that_of_the_dense_matrix(method, dtype, tol):
    model = built(mlp).to(dtype)
    problem = cv.Problem(model, nn.MSELoss(), [(X.to(dtype), Y.to(dtype))])
    ggn = cv.ggn(problem)
    dense = cv.dense_matrix(ggn).double() + 0.1 * torch.eye(problem.size).double()
    right = torch.stack([problem.gradient(), normal(problem.size).to(dtype)], dim=1)
    step = cv.inverse(ggn, method, damping=0.1, tol=tol) @ right
    assert step.dtype == dtype
    residual = dense @ step.double() - right.double()
    assert (residual.norm(dim=0) <= 2 * tol * right.double().norm(dim=0)).all()
    expected = torch.linalg.solve(dense, right.double())
    # ‖x − x*‖ is at most the residual over the smallest eigenvalue, which is 0.1 or more.
    assert (step - expected).norm() <= 20 * tol * right.double().norm()


def test_indefinite_matrices_need_lsmr():
    matrix = torch.diag(torch.tensor([-2.0, -1.0, 1.0, 3.0], dtype=torch.float64))
    x = normal(4)
    product = cv.inverse(matrix, "lsmr", tol=1e-10) @ x
    assert_close(product, x / matrix.diagonal(), rtol=1e-8, atol=1e-9)


RESIDUAL = r"leaves a relative residual of .* \(tol .*likely causes: \(a\) a matrix that is singul"
NOT_POSITIVE = r"'cg' needs a positive definite matrix, and met .*; give more damping than 0, or me"


@pytest.mark.parametrize(
    ("matrix", "method", "options", "message"),
    [
        (torch.diag(torch.tensor([1.0, -1.0, 2.0])), "cg", {}, NOT_POSITIVE),
        (torch.diag(torch.tensor([1.0, 0.0, 2.0])), "cg", {}, RESIDUAL),
        (torch.zeros(3, 3), "cg", {}, NOT_POSITIVE),
        (torch.diag(torch.tensor([1.0, 0.0, 2.0])), "lsmr", {}, RESIDUAL),
        (torch.diag(10.0 ** torch.arange(-9, 0)), "cg", {"max_iterations": 3}, RESIDUAL),
        (positive(30), "cg", {"max_iterations": 15, "tol": 1e-12}, RESIDUAL),
        (torch.full((3, 3), float("inf")), "cg", {}, "operator: a product is not finite"),
    ],
    ids=[
        "indefinite",
        "singular",
        "zero",
        "singular, lsmr",
        "ill-conditioned",
        "iterations",
        "infinite",
    ],
)
def test_systems_that_are_not_solved_are_refused(matrix, method, options, message):
    inverse = cv.inverse(Matrix(matrix), method, **options)
    with pytest.raises(cv.OperatorError, match=message):
        inverse @ torch.ones(len(matrix), dtype=matrix.dtype)


def test_columns_of_zeros_and_of_tiny_numbers_are_solved_like_others():
    columns = torch.stack([torch.zeros(5), torch.full((5,), 1e-30), torch.ones(5)], dim=1)
    product = cv.inverse(torch.diag(torch.arange(1.0, 6.0))) @ columns
    expected = columns / torch.arange(1.0, 6.0)[:, None]
    assert_close(product, expected, rtol=1e-5, atol=0)


def test_columns_that_are_solved_take_no_part_in_further_products():
    columns = torch.stack([torch.eye(5)[0], torch.ones(5)], dim=1).double()
    watched = Matrix(torch.arange(1.0, 6.0).double().diag())
    cv.inverse(watched, tol=1e-10) @ columns
    # An eigenvector takes one product, five different eigenvalues take five; the last is the check.
    assert watched.widths == [2, 1, 1, 1, 1, 2]
