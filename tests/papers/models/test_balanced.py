"""Balanced weights: layers fit together whatever their widths, with the singular values given."""

import itertools
import math
import re

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from hessian_spectra.models import balanced_weights

# Of the given numbers; the products have an order of magnitude more terms than rounding errors.
TOLERANCE = 1e-13


def weights(sizes, values, seed=0):
    return balanced_weights(sizes, values, torch.Generator().manual_seed(seed))


@st.composite
def instances(draw):
    """Widths that rise, fall and stay, and singular values with zeros and repetitions."""
    count = draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(count, 12), min_size=2, max_size=6))
    value = st.one_of(st.sampled_from([0.0, 1.0, 1e-3]), st.floats(0.01, 2.0))
    return tuple(sizes), draw(st.lists(value, min_size=count, max_size=count))


@settings(max_examples=100)
@given(instances(), st.integers(0, 2**32))
def test_layers_are_balanced_and_have_the_singular_values(instance, seed):
    sizes, values = instance
    drawn = weights(sizes, values, seed)
    expected = torch.tensor(sorted(values, reverse=True), dtype=torch.float64)
    largest = max(values)
    assert [tuple(weight.shape) for weight in drawn] == [
        (rows, columns) for columns, rows in itertools.pairwise(sizes)
    ]
    for weight in drawn:
        assert weight.dtype == torch.float64
        actual = torch.linalg.svdvals(weight)
        torch.testing.assert_close(
            actual[: len(values)], expected, rtol=0, atol=TOLERANCE * largest
        )
        assert actual[len(values) :].sum() <= TOLERANCE * largest
    for before, after in itertools.pairwise(drawn):
        defect = torch.linalg.matrix_norm(before @ before.T - after.T @ after)
        assert defect <= TOLERANCE * largest**2


def test_bases_are_uniform():
    # Of a unit vector in d dimensions: mean 0, mean square 1/d; four standard errors.
    drawn = torch.stack([weights((3, 4), [1.0], seed)[0] for seed in range(2000)])
    assert drawn.mean().abs() < 4 / math.sqrt(12 * 2000)
    torch.testing.assert_close(
        drawn.square().mean(dim=0), torch.full((4, 3), 1 / 12).double(), rtol=0.2, atol=0
    )
    assert (drawn[:, 0, 0] > 0).double().mean() == pytest.approx(0.5, abs=4 * 0.5 / 2000**0.5)


@pytest.mark.parametrize(
    ("sizes", "values", "message"),
    [
        ((5,), [1.0], "sizes: expected two or more, got (5,)"),
        ((5, 4), [], "singular_values: expected one or more finite numbers, none below 0, got []"),
        ((5, 4), [1.0, -0.5], "none below 0, got [1.0, -0.5]"),
        ((5, 4), [math.nan], "none below 0, got [nan]"),
        (
            (5, 2, 4),
            [1.0, 1.0, 1.0],
            "sizes: expected at least 3 units in each layer, one for each singular value, got "
            "d_1 = 2; balanced layers share all singular values, so give 2 at most",
        ),
    ],
)
def test_what_cannot_be_balanced_is_refused(sizes, values, message):
    with pytest.raises(ValueError, match=re.escape(message) + r"\Z"):
        weights(sizes, values)
