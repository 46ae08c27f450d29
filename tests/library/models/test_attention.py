"""The attention layers compute the papers' formula, token by token."""

import math

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra import curvature as cv
from hessian_spectra.models import HalfSquaredError, SelfAttention, VectorSelfAttention


def draw(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


W_VALUE, W_QUERY, W_KEY = draw(seed=1), draw(4, seed=2), draw(4, seed=3)
X = draw(3, 5, seed=4)
VECTORS = draw(3, 5, 2, seed=5)
MATRICES = draw(2, 2, seed=6), draw(2, 4, seed=7), draw(2, 4, seed=8)


def scalar_layer_by_hand(x, sink_bias=0.0):
    """Equation (4) with loops over the tokens."""
    alignment = sum(q * k for q, k in zip(W_QUERY.tolist(), W_KEY.tolist(), strict=True)) / 2.0
    rows = []
    for query in x.tolist():
        weights = [math.exp(query * key * alignment) for key in x.tolist()]
        weights[0] *= math.exp(sink_bias)
        mean = sum(a * key for a, key in zip(weights, x.tolist(), strict=True)) / sum(weights)
        rows.append(W_VALUE.item() * mean)
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("sink_bias", [0.0, 1.5])
def test_scalar_tokens_follow_the_formula(sink_bias):
    layer = SelfAttention(W_VALUE, W_QUERY, W_KEY, sink_bias)
    expected = torch.stack([scalar_layer_by_hand(x, sink_bias) for x in X])
    assert_close(layer(X), expected)


@pytest.mark.parametrize("sink_bias", [0.0, -0.7])
def test_vector_tokens_of_one_entry_are_scalar_tokens(sink_bias):
    scalar = SelfAttention(W_VALUE, W_QUERY, W_KEY, sink_bias)
    vector = VectorSelfAttention(W_VALUE[None, None], W_QUERY[None], W_KEY[None], sink_bias)
    assert_close(vector(X[..., None])[..., 0], scalar(X))


def test_vector_tokens_follow_the_formula():
    W_value, W_query, W_key = MATRICES
    for x, output in zip(VECTORS, VectorSelfAttention(*MATRICES)(VECTORS), strict=True):
        scores = torch.exp(x @ W_query @ W_key.T @ x.T / 2.0)
        attention = scores / scores.sum(dim=1, keepdim=True)
        assert_close(output, attention @ x @ W_value)


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [
        (lambda bias: SelfAttention(W_VALUE, W_QUERY, W_KEY, bias), X),
        (lambda bias: VectorSelfAttention(*MATRICES, bias), VECTORS),
    ],
    ids=["scalar", "vector"],
)
def test_the_sink_draws_attention_to_the_first_token(layer, inputs):
    shares = [layer(bias).attention(inputs)[..., 0] for bias in (0.0, 1.0, 50.0)]
    assert torch.all(shares[0] < shares[1])
    assert_close(shares[2], torch.ones_like(shares[2]))
    for bias in (0.0, 1.0):
        rows = layer(bias).attention(inputs).sum(dim=-1)
        assert_close(rows, torch.ones_like(rows))


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (SelfAttention(W_VALUE, W_QUERY, W_KEY), ["w_value", "w_query", "w_key"]),
        (VectorSelfAttention(*MATRICES), ["W_value", "W_query", "W_key"]),
    ],
    ids=["scalar", "vector"],
)
def test_parameters_come_as_value_query_key(layer, names):
    assert [name for name, _ in layer.named_parameters()] == names
    assert all(weights.dtype == torch.float64 for weights in layer.parameters())


def test_nearly_one_hot_attention_keeps_the_digits_of_its_derivatives():
    """Summing the tokens themselves would lose those of 1 - attention, six of them here."""
    value, query, key = (torch.tensor(w, dtype=torch.float64) for w in (5737.4, [8.9163], [1.0992]))
    layer = SelfAttention(value, query, key)
    x = torch.tensor([[-1.85, -3.32]], dtype=torch.float64)
    assert 1 - layer.attention(x).detach().max() < 1e-10
    problem = cv.Problem(layer, HalfSquaredError("element"), [(x, x.flip(1))])
    actual = cv.dense_spectrum(cv.hessian(problem, check=False)).eigenvalues
    # By differences of the loss with 60 digits.
    true = [-0.1273030850810253, -0.0001385227967551164, 11.022399999987321]
    assert_close(actual, torch.tensor(true, dtype=torch.float64), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SelfAttention(W_VALUE, W_QUERY, W_KEY[:3]), "w_query, w_key of one shape"),
        (lambda: SelfAttention(W_QUERY, W_QUERY, W_KEY), "w_value: expected .* 0 dimension"),
        (lambda: SelfAttention(W_VALUE, W_QUERY, W_KEY, math.inf), "sink_bias: expected a finite"),
        (lambda: SelfAttention(W_VALUE, W_QUERY, W_KEY)(X[0]), r"\(batch, length\), got \(5,\)"),
        (lambda: VectorSelfAttention(draw(4, 1), *MATRICES[1:]), r"\(2, 2\), as .* got \(4, 1\)"),
        (lambda: VectorSelfAttention(*MATRICES, math.nan), "sink_bias: expected a finite"),
        (lambda: VectorSelfAttention(*MATRICES)(X), r"\(batch, length, 2\), got \(3, 5\)"),
    ],
)  # fmt: skip
def test_other_shapes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
