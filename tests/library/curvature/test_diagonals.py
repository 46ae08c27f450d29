"""Diagonals from products, against dense ones in float64 and against curvlinops' own."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature.probes import rademacher
from hessian_spectra.seeding import generator

from .cases import normal


def decaying(size: int) -> torch.Tensor:
    """A matrix of eigenvalues that fall by half."""
    Q = torch.linalg.qr(normal(size, size)).Q
    return Q @ torch.diag(0.5 ** torch.arange(size).double()) @ Q.T


@pytest.mark.parametrize("method", ["xdiag", "hutchinson"])
def test_intervals_of_a_diagonal_cover_it(method):
    matrix = decaying(80)
    exact = cv.diagonal(matrix, "exact")
    assert_close(exact.value, matrix.diagonal())
    assert (exact.products, float(exact.standard_error.norm())) == (80, 0)
    actual = [cv.diagonal(matrix, method, probes=60, seed=seed) for seed in range(20)]
    # Student's t with the four degrees of freedom of five repeats.
    covered = [(item.value - exact.value).abs() <= 2.776 * item.standard_error for item in actual]
    assert 0.9 < float(torch.stack(covered).double().mean()) < 0.99
    squared = torch.stack([item.standard_error.square() for item in actual])
    errors = torch.stack([(item.value - exact.value).square() for item in actual])
    assert 0.75 < float(squared.mean() / errors.mean()) < 1.35
    assert {(item.method, item.products) for item in actual} == {(method, 60)}
    spread = float(actual[0].standard_error.norm() / exact.value.norm())
    assert spread < 0.15 if method == "xdiag" else spread > 0.3


@pytest.mark.parametrize(
    ("method", "module", "name"),
    [("xdiag", "epperly2024xtrace", "xdiag"), ("hutchinson", "hutchinson", "hutchinson_diag")],
)
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")
def test_estimates_are_those_of_curvlinops_from_the_same_signs(monkeypatch, method, module, name):
    half = normal(90, 90)
    matrix = cv.as_operator(half + half.T)
    draws, actual = generator(3, "probes"), []
    needed = 20 if method == "hutchinson" else 10
    for _ in range(3):
        signs = iter(torch.cat([*rademacher(matrix, needed, draws)]))
        their = pytest.importorskip(f"curvlinops.diagonal.{module}")
        monkeypatch.setattr(their, "random_vector", lambda *_, signs=signs, **__: next(signs))
        actual.append(getattr(their, name)(matrix.to_curvlinops(), 20))
    ours = cv.diagonal(matrix, method, probes=60, repeats=3, seed=3)
    peer = torch.stack(actual)
    assert_close(ours.value, peer.mean(dim=0), rtol=1e-10, atol=1e-10)
    assert_close(ours.standard_error, peer.std(dim=0) / 3**0.5)


def test_a_diagonal_has_a_seed_and_leaves_the_random_state_alone():
    matrix = decaying(80)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, again = (cv.diagonal(matrix, seed=1) for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first.value, again.value)
    assert not torch.equal(first.value, cv.diagonal(matrix, seed=2).value)
    small = cv.diagonal(decaying(10))
    assert (small.method, small.products) == ("exact", 10)


@pytest.mark.parametrize("method", ["xdiag", "hutchinson"])
def test_the_diagonal_of_zeros(method):
    actual = cv.diagonal(torch.zeros(100, 100), method)
    assert not actual.value.any()
    assert not actual.standard_error.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_matrix_of_low_rank_has_its_diagonal(dtype):
    """Six vectors find its range of four dimensions."""
    half = normal(100, 4)
    matrix = (half @ half.T).to(dtype)
    actual = cv.diagonal(matrix)
    scale = float(matrix.diagonal().max())
    rounding = 100 * torch.finfo(dtype).eps
    assert_close(actual.value, matrix.diagonal(), rtol=0, atol=rounding * scale)


def test_what_dependent_vectors_leave_out_is_estimated():
    """Signs on three coordinates often span but two dimensions: that is no error of none."""
    matrix = torch.zeros(100, 100, dtype=torch.float64)
    matrix[:3, :3] = torch.tensor([[2.0, 1.0, 0.5], [1.0, 3.0, 0.3], [0.5, 0.3, 4.0]])
    actual = [cv.diagonal(matrix, probes=12, repeats=2, seed=seed) for seed in range(600)]
    values = torch.stack([item.value for item in actual])
    error = values.std(dim=0) / len(values) ** 0.5
    assert (error[:3] > 0).all()
    assert ((values.mean(dim=0) - matrix.diagonal()).abs() <= 4 * error).all()
