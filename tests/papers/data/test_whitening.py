"""Whitening: the identity for any inputs, and what QR does instead."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hessian_papers.data.tools.whitening import principal_components, whiten

# The rank cut separates singular values from round-off; these instances keep them apart.
INSTANCES = st.tuples(
    st.integers(1, 30), st.integers(1, 12), st.integers(1, 12), st.integers(0, 1000)
)
MOST = settings(max_examples=60)


def inputs_of_rank(size, features, rank, seed):
    """Inputs with singular values from 1 to 100, one column repeated and one constant zero."""
    rank = min(rank, size, features)
    generator = torch.Generator().manual_seed(seed)

    def orthonormal(rows):
        draw = torch.randn(rows, rank, dtype=torch.float64, generator=generator)
        return torch.linalg.qr(draw).Q

    values = torch.logspace(0, 2, rank, dtype=torch.float64)
    x = orthonormal(size) * values @ orthonormal(features).mT
    zeros = torch.zeros(size, 1, dtype=torch.float64)
    return torch.cat([zeros, x, x[:, :1]], dim=1), rank


def identity_error(inputs, input_scale):
    moments = inputs.mT @ inputs / len(inputs)
    return float(
        (moments - input_scale**2 * torch.eye(len(moments), dtype=inputs.dtype)).abs().max()
    )


@MOST
@given(INSTANCES)
def test_the_components_are_the_thin_svd(instance):
    x, rank = inputs_of_rank(*instance)
    actual = principal_components(x)
    assert actual.scores.shape == (len(x), rank)
    eye = torch.eye(rank, dtype=x.dtype)
    for factor in (actual.scores, actual.directions):
        assert float((factor.mT @ factor - eye).abs().max()) < 1e-12
    torch.testing.assert_close(
        actual.singular_values, torch.linalg.svdvals(x)[:rank], rtol=1e-12, atol=0
    )
    again = actual.scores * actual.singular_values @ actual.directions.mT
    torch.testing.assert_close(again, x, rtol=0, atol=1e-12 * float(x.abs().max()) * len(x))
    assert (actual.directions.amax(dim=0) == actual.directions.abs().amax(dim=0)).all()


@MOST
@given(INSTANCES, st.sampled_from([0.01, 1.0, 3.0]))
def test_whitened_inputs_have_scaled_unit_moments_at_any_rank(instance, input_scale):
    x, rank = inputs_of_rank(*instance)
    inputs, actual = whiten(x, input_scale)
    assert inputs.shape == (len(x), rank)
    assert actual == rank
    assert identity_error(inputs, input_scale) < 1e-10 * input_scale**2


def test_inputs_of_zeros_are_refused():
    with pytest.raises(ValueError, match=r"^x: expected inputs of rank at least 1, got zeros only"):
        whiten(torch.zeros(2, 2, dtype=torch.float64), 1.0)
