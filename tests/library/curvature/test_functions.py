"""Functions of an operator are those of the dense matrix, and say how far off they may be."""

import math

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import normal

P = 1200


@pytest.fixture(scope="module")
def known() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A positive definite matrix with outliers beside a bulk, its eigenvalues and eigenvectors."""
    vectors = torch.linalg.qr(normal(P, P)).Q
    values = torch.cat([0.5 + torch.rand(P - 3, generator=torch.Generator().manual_seed(0)),
                        torch.tensor([5.0, 8.0, 20.0])]).double()  # fmt: skip
    return vectors @ (values[:, None] * vectors.T), values, vectors


FUNCTIONS = {
    "exponential": lambda t: (-t).exp(),
    "root": torch.sqrt,
    "inverse root": lambda t: t**-0.5,
    "square": torch.square,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_product_is_that_of_the_dense_function(known, name):
    matrix, values, vectors = known
    function, v = FUNCTIONS[name], normal(P, seed=3)
    exact = vectors @ (function(values) * (vectors.T @ v))
    actual = cv.function_product(matrix, function, v, tol=1e-11)
    assert actual.converged
    assert float((actual.value - exact).norm() / exact.norm()) < 1e-10
    assert actual.products < 120
    rough = cv.function_product(matrix, function, v, tol=1e-4)
    assert rough.products < actual.products or name == "square"
    assert float((rough.value - exact).norm() / exact.norm()) <= 1e-4


def test_an_even_function_of_a_symmetric_spectrum_is_no_early_end():
    """Each second step changes nothing: the first alone, f(0) = 0, looks like the end."""
    size = 40
    path = torch.diag(torch.ones(size - 1, dtype=torch.float64), 1)
    matrix, v = path + path.T, torch.eye(size, dtype=torch.float64)[0]
    actual = cv.function_product(matrix, torch.square, v)
    assert_close(actual.value, matrix @ matrix @ v, rtol=0, atol=1e-12)


def test_a_krylov_space_that_ends_gives_the_exact_product():
    matrix = torch.diag(torch.cat([torch.zeros(150), torch.full((50,), 4.0)])).double()
    v = normal(200)
    actual = cv.function_product(matrix, torch.exp, v, tol=1e-12)
    assert_close(actual.value, matrix.diag().exp() * v, rtol=1e-12, atol=1e-13)
    none = cv.function_product(matrix, torch.sqrt, torch.zeros_like(v))
    assert not none.value.any()


def test_too_few_steps_are_warned_of(known):
    matrix, *_ = known
    with pytest.warns(cv.ConvergenceWarning, match="raise max_steps above 5, or tol"):
        actual = cv.function_product(matrix, torch.sqrt, normal(P), max_steps=5, tol=1e-12)
    assert not actual.converged
    assert actual.error > 1e-12


@pytest.mark.parametrize("name", ["exponential", "root", "inverse root"])
def test_intervals_of_a_trace_hold_that_of_the_dense_function(known, name):
    matrix, values, _ = known
    exact = float(FUNCTIONS[name](values).sum())
    actual = cv.trace_of_function(matrix, FUNCTIONS[name], probes=20, steps=25)
    low, high = actual.interval(0.999)
    assert low <= exact <= high
    assert high - low < 0.2 * exact
    assert actual.products == 500


def test_the_truncation_covers_what_few_steps_leave_open(known):
    """With one probe's noise shared, the quadrature's own error is that to many steps."""
    matrix, *_ = known
    few = cv.trace_of_function(matrix, torch.log, probes=4, steps=6)
    many = cv.trace_of_function(matrix, torch.log, probes=4, steps=60)
    assert few.truncation > 100 * many.truncation
    assert abs(few.value - many.value) <= few.truncation
    low, high = few.interval()
    assert high - low > 2 * few.truncation


def test_log_determinant_and_effective_dimension(known):
    matrix, values, _ = known
    log = cv.log_determinant(matrix, 0.3)
    low, high = log.interval(0.999)
    assert low <= float((values + 0.3).log().sum()) <= high
    dimension = cv.effective_dimension(matrix, 0.3)
    low, high = dimension.interval(0.999)
    assert low <= float((values / (values + 0.3)).sum()) <= high


def test_a_small_matrix_is_decomposed():
    matrix = torch.diag(torch.arange(1.0, 9.0).double())
    actual = cv.trace_of_function(matrix, torch.log)
    assert actual.products == 8
    assert actual.value == pytest.approx(math.lgamma(9), rel=1e-14)
    assert actual.interval() == (actual.value, actual.value)
