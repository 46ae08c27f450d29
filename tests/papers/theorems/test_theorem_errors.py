"""The errors themselves: what they call 0, what they call 1, and that NaN stays NaN."""

import math

import pytest
import torch

from hessian_papers.theorems import errors


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


SWAP = numbers(0.0, 1.0, 1.0, 0.0).reshape(2, 2)  # eigenvalues ±1
NAN = math.nan


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.relative(numbers(1, 11), numbers(0, 10)), 0.1),
        (errors.relative(numbers(0.5), numbers(0.0)), 0.5),
        (errors.relative(numbers(), numbers()), 0.0),
        (errors.relative(3.0, 2.0, over=10.0), 0.1),
        (errors.excess(1.0, 2.0, 10.0), 0.0),
        (errors.excess(3.0, 2.0, 10.0), 0.1),
        (errors.residual(SWAP, numbers(3, 3)[:, None], numbers(1)), 0.0),
        (errors.residual(SWAP, numbers(3, 3)[:, None], numbers(-1)), 2.0),
        (errors.residual(SWAP, numbers(0, 0)[:, None], numbers(1)), 1.0),
        (errors.vectors_error(SWAP, numbers(1, 0)[:, None], numbers(1)), 2**0.5),
        (errors.vectors_error(SWAP, numbers(1e-12, 0)[:, None], numbers(1)), 0.0),
        (errors.basis_error(SWAP, numbers(1, 1, 1, -1).reshape(2, 2), numbers(1, -1)), 1.0),
        # A small root counts like a large one: λ (λ − 1e-3) (λ − 1e3).
        (errors.roots_error(numbers(1, -1000.001, 1, 0), numbers(0, 1e-3, 1e3)), 0.0),
        (errors.roots_error(numbers(1, -1000.001, 1, 0), numbers(500, 1e-3, 1e3)), 0.125),
    ],
)
def test_an_error_by_hand(error, expected):
    assert error == pytest.approx(expected, rel=1e-5, abs=1e-15)


@pytest.mark.parametrize(
    "error",
    [
        errors.relative(numbers(NAN), numbers(1)),
        errors.relative(numbers(1), numbers(NAN)),
        errors.excess(NAN, 2.0, 1.0),
        errors.excess(1.0, NAN, 1.0),
        errors.residual(SWAP, numbers(NAN, 1)[:, None], numbers(1)),
        errors.roots_error(numbers(1, NAN), numbers(1)),
        errors.worst(1.0, NAN),
        errors.worst(NAN, 1.0),
    ],
)
def test_nan_stays_nan(error):
    assert torch.isnan(torch.tensor(error))
