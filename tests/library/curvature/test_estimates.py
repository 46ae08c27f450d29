"""Traces, densities and overlaps against matrices with a known spectrum."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import SOLVERS, Matrix, draws, normal
from .test_eigenpairs import matrix

VALUES = torch.cat([torch.tensor([20.0, 10.0, 5.0, -4.0]).double(), 0.3 * normal(296, seed=8)])
DENSE = matrix(VALUES)
METHODS = ["hutchinson", "hutch++", "xtrace"]


@pytest.mark.parametrize("method", [*METHODS, "exact"])
def test_products_are_counted(method):
    counted = Matrix(DENSE)
    assert cv.trace(counted, method, probes=31).products == counted.products


@pytest.mark.parametrize("method", METHODS)
def test_diagonal_matrices_and_zero(method):
    diagonal = cv.trace(torch.diag(VALUES), "hutchinson", probes=2)
    assert diagonal.value == pytest.approx(float(VALUES.sum()), abs=1e-12)
    assert diagonal.standard_error == pytest.approx(0, abs=1e-12)
    assert cv.trace(torch.zeros(200, 200), method).value == 0.0


def test_the_trace_of_a_linear_layer():
    x = normal(9, 40)
    model = nn.Linear(40, 2, bias=False).double()
    operator = cv.hessian(cv.Problem(model, nn.MSELoss(), [(x, normal(9, 2))]))
    # One half of the mean over elements for each of the two outputs: tr = 2 · mean ‖x‖² · 2 / 2.
    exact = 2 * float(x.square().sum()) / 9
    assert cv.trace(operator, "exact").value == pytest.approx(exact, rel=1e-12)
    actual = cv.trace(operator, "xtrace", probes=40)
    assert actual.value == pytest.approx(exact, rel=1e-9)  # rank 18 of 80: found by 20 vectors


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_weights_sum_to_one_and_moments_are_traces(dtype):
    actual = cv.spectral_density(DENSE.to(dtype), probes=200, steps=10)
    assert_close(
        actual.weights.sum(dim=1), torch.ones(200, dtype=torch.float64), rtol=0, atol=1e-12
    )
    assert bool((actual.weights >= 0).all())
    for order in (1, 2, 3, 4):
        moment, error = actual.moment(order)
        assert abs(moment - float((VALUES**order).mean())) < 4 * error


def test_the_density_is_the_smoothed_spectrum_within_its_errors():
    actual = cv.spectral_density(DENSE, probes=40, steps=60, width=0.02)
    distances = (actual.grid[:, None] - VALUES) / actual.width
    kernel = (-distances.square() / 2).exp() / (actual.width * math.sqrt(2 * math.pi))
    exact = kernel.mean(dim=1)
    assert float(torch.trapezoid(actual.density, actual.grid)) == pytest.approx(1, abs=1e-3)
    visible = exact > 1e-3 * exact.max()
    scores = (actual.density - exact)[visible] / actual.standard_error[visible]
    # Neighbouring points share their error, so the scores are few; none is far off.
    assert float(scores.abs().max()) < 5
    assert float((actual.density - exact).abs().sum() / exact.sum()) < 0.05
    assert actual.grid[0] < -4 < 20 < actual.grid[-1]


def test_densities_of_degenerate_matrices():
    for dense, value in ((torch.zeros(4, 4), 0.0), (2 * torch.eye(4), 2.0), (normal(1, 1), None)):
        actual = cv.spectral_density(dense, probes=2, points=2001)
        assert float(torch.trapezoid(actual.density, actual.grid)) == pytest.approx(1, abs=2e-3)
        if value is not None:
            assert actual.moment(1) == (value, 0.0)
    nothing = cv.spectral_density(torch.zeros(5, 5))
    assert nothing.negative_mass() == nothing.effective_rank(5) == (0.0, 0.0)
    two = cv.spectral_density(matrix([1.0] * 50 + [-1.0] * 50), probes=3, steps=30)
    assert two.moment(2)[0] == pytest.approx(1, abs=1e-9)


def test_steps_stop_at_the_size_of_the_matrix():
    assert cv.spectral_density(DENSE[:7, :7], probes=2).nodes.shape == (2, 7)


def test_overlaps():
    basis = torch.linalg.qr(normal(30, 8)).Q
    first, second = basis[:, :4], basis[:, 4:]
    assert cv.subspace_overlap(first, first) == pytest.approx(1)
    assert cv.subspace_overlap(first, second) == pytest.approx(0, abs=1e-14)
    rotation = torch.linalg.qr(normal(4, 4)).Q
    assert cv.subspace_overlap(first, first @ rotation) == pytest.approx(1)
    assert cv.subspace_overlap(basis[:, :4], basis[:, 2:6]) == pytest.approx(0.5)
    angle = torch.tensor(0.3).double()
    tilted = angle.cos() * first + angle.sin() * second
    assert cv.subspace_overlap(first, tilted) == pytest.approx(math.cos(0.3) ** 2)
    assert cv.subspace_overlap(first.float(), tilted.float()) == pytest.approx(
        math.cos(0.3) ** 2, abs=1e-6
    )


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
def test_overlaps_are_those_of_each_number_of_vectors(seed, size, more):
    p, k = size + more, size
    matrices = torch.randn(2, p, k, generator=draws(seed), dtype=torch.float64)
    U, V = torch.linalg.qr(matrices).Q
    actual = cv.subspace_overlaps(U, V)
    for count in range(1, k + 1):
        expected = cv.subspace_overlap(U[:, :count], V[:, :count])
        assert float(actual[count - 1]) == pytest.approx(expected, abs=1e-12)


REFUSING = {
    name: solve
    for name, solve in SOLVERS.items()
    if name not in ("dense", "matrix", "restriction", "inverse", "blocks")
} | {
    "distinct": cv.distinct_eigenvalues,
    "function as operator": lambda a: cv.operator_from(lambda v: a @ v, len(a), dtype=a.dtype),
}


@pytest.mark.parametrize("solve", REFUSING.values(), ids=REFUSING)
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e200, torch.float64), (1e80, torch.float64), (1e25, torch.float32)]
)
def test_products_whose_powers_are_no_numbers_are_refused(solve, scale, dtype):
    with pytest.raises(cv.OperatorError, match=r"products below 1e\+(70|18) \(torch.float"):
        solve(DENSE.to(dtype) * scale)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_an_asymmetry_is_found_in_numbers_that_have_no_squares(scale):
    for reads in (cv.as_operator, cv.dense_matrix):
        with pytest.raises(cv.OperatorError, match="expected a symmetric matrix"):
            reads(DENSE.triu() * scale)
    spectrum = cv.dense_spectrum(DENSE * scale)
    assert_close(spectrum.eigenvalues, VALUES.sort().values * scale, rtol=1e-9, atol=1e-11 * scale)
    assert spectrum.converged.all()


def test_targets_whose_squares_are_no_numbers_are_refused_and_not_taken_for_a_wrong_model():
    x, y = normal(20, 10, seed=1), normal(20, 3, seed=2)
    model = nn.Sequential(nn.Linear(10, 15), nn.Tanh(), nn.Linear(15, 3)).double()
    for scale in (1e160, 1e200):
        with pytest.raises(cv.OperatorError, match=r"Hessian: expected products below 1e\+70"):
            cv.hessian(cv.Problem(model, nn.MSELoss(), [(x, scale * y)]))
