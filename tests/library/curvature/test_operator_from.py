"""A function and an operator of scipy are operators, and those that are no matrix are refused."""

import re

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


UPPER = torch.triu(torch.ones(4, 4, dtype=torch.float64))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((lambda v: v,), ValueError, "size: expected p, the length of the vectors, at least 1"),
        ((lambda v: UPPER @ v, 4), cv.OperatorError, "y'Ax = x'Ay of a symmetric matrix"),
        ((lambda v: v / v.norm(), 4), cv.OperatorError, "the function is not linear"),
        ((lambda v: v * torch.nan, 4), cv.OperatorError, "not finite for a random vector"),
        ((lambda v: v[:3], 4), cv.OperatorError, "expected a tensor (4,) of torch.float64, got (3"),
        ((lambda v: v.tolist(), 4), cv.OperatorError, "of torch.float64, got list"),
        ((np.ones((2, 3)),), ValueError, "expected a square operator, got shape (2, 3)"),
        ((np.eye(3), 4), ValueError, "expected a square operator of size 4, got shape (3, 3)"),
    ],
)
def test_what_is_no_symmetric_matrix_is_refused(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        cv.operator_from(*arguments)


def test_a_type_that_solvers_do_not_take_is_refused():
    with pytest.raises(ValueError, match=r"expected float32 or float64, got torch\.bfloat16"):
        cv.operator_from(lambda v: v, 4, dtype=torch.bfloat16)


def test_as_operator_names_the_function_that_takes_other_libraries_matrices():
    with pytest.raises(TypeError, match=r"got ndarray; .* becomes one by operator_from"):
        cv.as_operator(torch.eye(2)) + np.eye(2)


def test_operators_say_what_they_are():
    assert repr(cv.as_operator(torch.eye(2))) == "Known(2, float32, cpu)"
    model = torch.nn.Linear(2, 1, dtype=torch.float64)
    x = normal(3, 2)
    problem = cv.Problem(model, torch.nn.MSELoss(), [(x, x[:, :1])])
    assert repr(cv.hessian(problem)) == "HessianOperator(3, float64, cpu)"
    assert repr(2 * cv.ggn(problem)) == "Combination(3, float64, cpu)"
