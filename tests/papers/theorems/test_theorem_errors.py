"""The errors themselves: what they call 0, what they call 1, and that NaN stays NaN."""

import math

import pytest
import torch

from hessian_papers.theorems.errors import (
    basis_error,
    excess,
    relative,
    residual,
    roots_error,
    vectors_error,
    worst,
)


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


SWAP = numbers(0.0, 1.0, 1.0, 0.0).reshape(2, 2)  # eigenvalues ±1
NAN = math.nan


def test_errors_by_hand():
    ones, cubic = numbers(3, 3)[:, None], numbers(1, -1000.001, 1, 0)
    actual = [
        relative(numbers(1, 11), numbers(0, 10)),
        relative(numbers(0.5), numbers(0.0)),
        relative(numbers(), numbers()),
        relative(3.0, 2.0, over=10.0),
        *(excess(1.0, 2.0, 10.0), excess(3.0, 2.0, 10.0)),
        *(residual(SWAP, ones, numbers(1)), residual(SWAP, ones, numbers(-1))),
        residual(SWAP, 0 * ones, numbers(1)),
        vectors_error(SWAP, numbers(1, 0)[:, None], numbers(1)),
        vectors_error(SWAP, numbers(1e-12, 0)[:, None], numbers(1)),
        basis_error(SWAP, numbers(1, 1, 1, -1).reshape(2, 2), numbers(1, -1)),
        # A small root counts like a large one: λ (λ − 1e-3) (λ − 1e3).
        roots_error(cubic, numbers(0, 1e-3, 1e3)),
        roots_error(cubic, numbers(500, 1e-3, 1e3)),
    ]
    expected = [0.1, 0.5, 0, 0.1, 0, 0.1, 0, 2, 1, 2**0.5, 0, 1, 0, 0.125]
    assert actual == pytest.approx(expected, rel=1e-5, abs=1e-15)


def test_nan_stays_nan():
    errors = [
        *(relative(numbers(NAN), numbers(1)), relative(numbers(1), numbers(NAN))),
        *(excess(NAN, 2.0, 1.0), excess(1.0, NAN, 1.0)),
        residual(SWAP, numbers(NAN, 1)[:, None], numbers(1)),
        roots_error(numbers(1, NAN), numbers(1)),
        *(worst(1.0, NAN), worst(NAN, 1.0)),
    ]
    assert all(map(math.isnan, errors))
