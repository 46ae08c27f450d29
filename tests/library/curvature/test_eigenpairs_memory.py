"""Eigenpairs in the memory that there is: restarts instead of a long basis."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.curvature import lanczos
from hessian_spectra.curvature.rows import Rows

from .cases import Matrix, normal
from .test_eigenpairs import matrix

P = 400
VALUES = torch.cat([torch.tensor([9.0, 7.0, 6.5, 5.0, -4.0]).double(), normal(P - 5, seed=4)])
DENSE = matrix(VALUES)
VECTOR = P * 8


@pytest.mark.parametrize(("k", "vectors"), [(1, 5), (1, 12), (3, 10), (4, 20)])
def test_the_vectors_fit_into_the_memory_and_the_pairs_are_right(k, vectors, monkeypatch):
    limits = []

    class Watched(Rows):
        def __init__(self, like, limit):
            limits.append(limit + (len(like) if like.ndim == 2 else 0))
            super().__init__(like, limit)

    monkeypatch.setattr(lanczos, "Rows", Watched)
    actual = cv.top_eigenpairs(DENSE, k, 1e-8, memory=vectors * VECTOR)
    assert max(limits) <= max(vectors, k + 3)
    assert_close(actual.eigenvalues, VALUES.sort().values[-k:], rtol=0, atol=1e-10)
    assert bool(actual.converged.all())


def test_less_memory_takes_more_products_and_enough_of_it_changes_nothing():
    whole, ample, little = (Matrix(DENSE) for _ in range(3))
    first = cv.top_eigenpairs(whole, 2)
    second = cv.top_eigenpairs(ample, 2, memory=300 * VECTOR)
    third = cv.top_eigenpairs(little, 2, memory=8 * VECTOR)
    assert torch.equal(first.eigenvectors(), second.eigenvectors())
    assert whole.products == ample.products < little.products
    assert_close(first.eigenvalues, third.eigenvalues, rtol=0, atol=1e-8)
