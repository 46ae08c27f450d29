"""Vectors in slabs, against one matrix."""

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.curvature import rows
from hessian_spectra.curvature.rows import Rows

from .cases import normal


@pytest.fixture
def filled(monkeypatch):
    """Seven rows in slabs of three, two columns at a time, and the matrix that they are."""
    monkeypatch.setattr(rows, "_SLAB", 3)
    monkeypatch.setattr(rows, "_CHUNK", 2)
    held = Rows(torch.empty(0, 5).double(), 8)
    matrix = normal(7, 5)
    for row in range(7):
        held.reserve(row + 1)
        held[row].copy_(matrix[row])
    return held, matrix


def test_overlaps_and_sums(filled):
    held, matrix = filled
    vectors = normal(2, 5, seed=1)
    assert_close(held.overlaps(vectors, 4), vectors @ matrix[:4].T)
    coefficients = normal(2, 4, seed=2)
    assert_close(held.combine(coefficients), coefficients @ matrix[:4])
    expected = vectors - coefficients @ matrix[2:6]
    held.subtract(vectors, coefficients, 2)
    assert_close(vectors, expected)


def test_sums_replace_rows_and_others_move_up(filled):
    held, matrix = filled
    coefficients = normal(2, 5, seed=2)
    held.replace(coefficients, 2)
    expected = torch.cat([coefficients @ matrix[:5], matrix[5:7]])
    assert_close(torch.stack([held[row] for row in range(4)]), expected)


def test_no_more_is_allocated_than_asked_for_and_nothing_moves(filled):
    held, _ = filled
    places = [held[row].data_ptr() for row in range(7)]
    held.reserve(8)
    assert [slab.shape[0] for _, slab in held.slabs(0, 8)] == [3, 3, 2]
    assert [held[row].data_ptr() for row in range(7)] == places
