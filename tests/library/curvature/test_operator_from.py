"""A function and an operator of scipy are operators, and those that are no matrix are refused."""

import numpy as np
import pytest
import torch
from scipy.sparse import diags_array
from scipy.sparse.linalg import LinearOperator
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import normal


def symmetric(size: int = 200) -> torch.Tensor:
    half = normal(size, size)
    return half + half.T


def test_a_function_is_an_operator_that_every_solver_takes():
    matrix = symmetric()
    operator = cv.operator_from(lambda v: matrix @ v, 200)
    assert_close(operator @ torch.eye(200, dtype=torch.float64), matrix)
    actual = cv.top_eigenpairs(operator, 3, 1e-10).eigenvalues
    assert_close(actual, torch.linalg.eigvalsh(matrix)[-3:], rtol=1e-10, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scipys_operators_and_sparse_matrices_are_taken(dtype):
    matrix = symmetric(30)
    for peer in (LinearOperator((30, 30), matvec=lambda v: matrix.numpy() @ v, dtype=float),
                   cv.as_operator(matrix).to_scipy()):  # fmt: skip
        ours = cv.operator_from(peer, dtype=dtype)
        assert ours.dtype == dtype
        actual = ours @ torch.eye(30, dtype=dtype)
        assert_close(actual, matrix.to(dtype), rtol=1e-5, atol=1e-5)
    sparse = cv.operator_from(diags_array(np.arange(4.0)))
    assert (sparse @ torch.ones(4, dtype=torch.float64)).tolist() == [0, 1, 2, 3]


def test_a_function_cannot_write_into_the_callers_vector():
    x = torch.ones(5, dtype=torch.float64)
    cv.operator_from(lambda v: v.mul_(2), 5) @ x
    assert x.tolist() == [1.0] * 5


def test_operators_say_what_they_are():
    assert repr(cv.as_operator(torch.eye(2))) == "Known(2, float32, cpu)"
    model = torch.nn.Linear(2, 1, dtype=torch.float64)
    x = normal(3, 2)
    problem = cv.Problem(model, torch.nn.MSELoss(), [(x, x[:, :1])])
    assert repr(cv.hessian(problem)) == "HessianOperator(3, float64, cpu)"
    assert repr(2 * cv.ggn(problem)) == "Combination(3, float64, cpu)"
