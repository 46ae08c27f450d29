"""Extreme eigenvalues of matrices that are not quite symmetric."""

import pytest
import torch

from hessian_papers.studies.gpt2.arnoldi import extreme_eigenvalue


def matrix(seed, asymmetry):
    """A symmetric matrix and one nearby, whose extreme eigenvalues stand apart."""
    draws = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(60, 60, generator=draws, dtype=torch.float64)).Q
    values = torch.randn(60, generator=draws, dtype=torch.float64) / 10
    values[:2] = torch.tensor([5.0, -2.0])
    symmetric = basis @ torch.diag(values) @ basis.T
    other = torch.randn(60, 60, generator=draws, dtype=torch.float64)
    return symmetric, symmetric + asymmetry * other


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("largest", [True, False])
def test_it_is_found_from_an_eigenvector_nearby(seed, largest):
    symmetric, nearby = matrix(seed, 0.02)
    values, vectors = torch.linalg.eigh(symmetric)
    start = vectors[:, -1 if largest else 0]
    actual, residual = extreme_eigenvalue(
        nearby, start, largest=largest, tol=1e-8, scale=5.0, products=30
    )
    real = torch.linalg.eigvals(nearby).real
    expected = float(real.max() if largest else real.min())
    assert actual == pytest.approx(expected, abs=1e-8)
    assert actual != pytest.approx(float(values[-1 if largest else 0]), abs=1e-5)
    assert residual <= 1e-8


def test_the_residual_is_that_of_an_eigenvector():
    _, nearby = matrix(0, 0.02)
    start = torch.randn(60, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    actual, residual = extreme_eigenvalue(
        nearby, start, largest=True, tol=1e-12, scale=5.0, products=4
    )
    krylov = [start]
    for _ in range(3):
        krylov.append(nearby @ krylov[-1])
    basis = torch.linalg.qr(torch.stack(krylov, dim=1)).Q
    values, vectors = torch.linalg.eig(basis.T @ nearby @ basis)
    at = int(values.real.argmax())
    vector = basis.to(torch.complex128) @ vectors[:, at]
    missed = nearby.to(torch.complex128) @ vector - values[at] * vector
    assert actual == pytest.approx(float(values[at].real))
    assert residual == pytest.approx(float(missed.norm()) / 5.0)


class Counted:
    """A matrix that counts its products."""

    def __init__(self, matrix):
        self.matrix, self.products = matrix, 0
        self.shape, self.dtype, self.device = matrix.shape, matrix.dtype, matrix.device

    def __matmul__(self, vector):
        self.products += 1
        return self.matrix @ vector


def test_an_eigenvector_takes_a_single_product_and_no_search_more_than_allowed():
    symmetric, _ = matrix(0, 0.0)
    values, vectors = torch.linalg.eigh(symmetric)
    counted = Counted(symmetric)
    settings = {"largest": False, "tol": 1e-6, "scale": 5.0}
    actual, _ = extreme_eigenvalue(counted, vectors[:, 0], **settings, products=9)
    assert actual == pytest.approx(float(values[0]))
    assert counted.products == 1
    _, residual = extreme_eigenvalue(counted, vectors.sum(dim=1), **settings, products=3)
    assert counted.products == 1 + 3
    assert residual > 1e-6
