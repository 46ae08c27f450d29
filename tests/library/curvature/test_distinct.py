"""The distinct eigenvalues, and whether they repeat, against matrices with a known spectrum."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.curvature.distinct import distinct_eigenvalues

from .cases import Matrix
from .test_eigenpairs import matrix


@pytest.mark.parametrize(
    ("values", "expected", "repeated"),
    [
        ([-2.0] * 50 + [1.0] + [3.0] * 7, [-2.0, 1.0, 3.0], [True, False, True]),
        ([0.0] * 30, [0.0], [True]),
        ([1.0] * 20 + [1e-6], [1e-6, 1.0], [False, True]),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [False, False, False]),
        ([5.0], [5.0], [False]),
        ([4.0, 4.0], [4.0], [True]),
        ([-1.0] * 3 + [1.0] * 3, [-1.0, 1.0], [True, True]),
    ],
)
def test_finds_each_value_once_and_knows_which_repeat(values, expected, repeated):
    actual = distinct_eigenvalues(matrix(values))
    assert_close(actual.values, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)
    assert actual.repeated.tolist() == repeated
    assert actual.residual < 1e-12


def test_takes_a_few_products_whatever_the_size():
    counted = Matrix(matrix([-2.0] * 100 + [1.0] + [3.0] * 99))
    distinct_eigenvalues(counted)
    # Three and two to exhaust the two spaces, as many again for the residuals.
    assert counted.products == 10


def test_the_seed_does_not_matter_for_the_values():
    dense = matrix([-2.0] * 20 + [1.0] + [3.0] * 9)
    first, second = (distinct_eigenvalues(dense, seed=seed) for seed in (0, 1))
    assert_close(first.values, second.values)
    assert torch.equal(first.repeated, second.repeated)
