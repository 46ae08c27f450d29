"""The bulk of self-attention with vector tokens, against the dense Hessian."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import closed_form as cf
from hessian_spectra.models import HalfSquaredError, VectorSelfAttention

from .contract import brute_force


def draw(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def instance(d=2, key_dimension=7, seed=0, scale=1.0):
    shapes = (d, d), (d, key_dimension), (d, key_dimension), (3, 4, d), (3, 4, d)
    tensors = [draw(*shape, seed=10 * seed + k) for k, shape in enumerate(shapes)]
    return [scale * tensor for tensor in tensors[:3]] + tensors[3:]


def hessian(*arguments, sink_bias=0.0):
    *weights, x, y = arguments
    return brute_force(VectorSelfAttention(*weights, sink_bias), x, y, HalfSquaredError("element"))


def sink(length, bias):
    return torch.tensor([bias] + [0.0] * (length - 1), dtype=torch.float64)


@pytest.mark.parametrize(
    ("d", "key_dimension"), [(1, 1), (1, 4), (2, 3), (2, 4), (2, 7), (3, 6), (3, 9)]
)
@pytest.mark.parametrize("sink_bias", [0.0, 1.5])
def test_multiplicities_and_eigenvectors(d, key_dimension, sink_bias):
    arguments = instance(d, key_dimension, seed=d + key_dimension)
    spectrum = cf.vector_attention_bulk(*arguments, score_bias=sink(4, sink_bias))
    copies = max(0, key_dimension - 2 * d + 1)
    assert len(spectrum.eigenvalues) == 2 * d * copies
    dense = hessian(*arguments, sink_bias=sink_bias)
    vectors, scale = spectrum.eigenvectors(), torch.linalg.matrix_norm(dense, 2)
    assert vectors.shape == (len(dense), 2 * d * copies)
    assert_close(dense @ vectors, vectors * spectrum.eigenvalues, rtol=0, atol=1e-12 * float(scale))
    assert_close(
        vectors.T @ vectors, torch.eye(2 * d * copies, dtype=torch.float64), rtol=0, atol=1e-12
    )


def test_what_repeats_is_the_bulk_and_nothing_else():
    arguments = instance(3, 9)
    spectrum = cf.vector_attention_bulk(*arguments)
    numeric = torch.linalg.eigvalsh(hessian(*arguments))
    left = numeric.tolist()
    for value in spectrum.eigenvalues.tolist():
        nearest = min(left, key=lambda other: abs(other - value))
        assert abs(nearest - value) < 1e-12
        left.remove(nearest)
    # 5 d^2 - 2 d eigenvalues remain, all different and none of them in the bulk.
    assert len(left) == 39
    both = np.sort(np.concatenate([left, np.unique(spectrum.values)]))
    assert np.diff(both).min() > 1e-7


def test_one_entry_per_token_gives_the_bulk_of_the_theorem():
    value, query, key, x, y = instance(1, 5)
    scalar = cf.self_attention(value[0, 0], query[0], key[0], x[..., 0], y[..., 0])
    vector = cf.vector_attention_bulk(value, query, key, x, y)
    assert_close(vector.eigenvalues, scalar.select("bulk"), rtol=1e-12, atol=0)
    assert set(vector.labels) == {"bulk"}


def test_dependent_rows_give_at_least_as_many():
    value, query, _, x, y = instance(2, 6)
    arguments = value, query, 2 * query, x, y
    spectrum = cf.vector_attention_bulk(*arguments)
    # Rank 2 instead of 4; (u, -v) is then out of reach, (u, v) too: d_K - 2 copies of each.
    assert len(spectrum.eigenvalues) == 4 * 4
    dense, vectors = hessian(*arguments), spectrum.eigenvectors()
    assert_close(dense @ vectors, vectors * spectrum.eigenvalues, rtol=0, atol=1e-12)
