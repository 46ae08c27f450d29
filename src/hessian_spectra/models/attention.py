"""Single-head self-attention, with scalar or vector tokens and an optional attention sink."""

import math

import torch
from torch import Tensor, nn

from hessian_spectra.models._parameters import parameter, require_same_shape


class SelfAttention(nn.Module):
    """f(x) = w_V A(x) x with A(x) = softmax(x x^T <w_Q, w_K> / sqrt(d_K)), softmax over each row.

    Tokens are numbers. The parameters come in the order (w_V, w_Q, w_K).

    An attention sink is a bias on the pre-softmax scores of the first token, the same in each row:
    the larger it is, the more attention all tokens pay to the first.

    Args:
        w_value: ``()`` the value weight w_V.
        w_query: ``(d_K,)`` the query weights w_Q.
        w_key: ``(d_K,)`` the key weights w_K.
        sink_bias: what is added to the scores of the first token; not a parameter.

    Raises:
        ValueError: the weights are empty, not finite, or of the wrong shapes.

    Source: singh2026cracking, eq. (4); the sink: section 3.3 and Figure 2c.

    Example:
        >>> weights = torch.ones(()), torch.zeros(2), torch.zeros(2)
        >>> layer = SelfAttention(*weights)
        >>> layer(torch.tensor([[1.0, 3.0]], dtype=torch.float64)).tolist()
        [[2.0, 2.0]]
    """

    def __init__(
        self, w_value: Tensor, w_query: Tensor, w_key: Tensor, sink_bias: float = 0.0
    ) -> None:
        super().__init__()
        require_same_shape(w_query=w_query, w_key=w_key)
        self.w_value = parameter("w_value", w_value, 0)
        self.w_query = parameter("w_query", w_query, 1)
        self.w_key = parameter("w_key", w_key, 1)
        self.sink_bias = _finite(sink_bias)

    def attention(self, x: Tensor) -> Tensor:
        """The attention matrices ``(batch, length, length)``, whose rows sum to 1."""
        if x.ndim != 2:
            raise ValueError(f"inputs: expected shape (batch, length), got {tuple(x.shape)}")
        alignment = self.w_query @ self.w_key / math.sqrt(len(self.w_key))
        scores = x[:, :, None] * x[:, None, :] * alignment
        return torch.softmax(_with_sink(scores, self.sink_bias), dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(batch, length)`` for sequences ``(batch, length)``."""
        attention = self.attention(x)
        # Mean distances from the token that gets most attention. Where it gets nearly all, the
        # derivative of a softmax times the tokens themselves is a difference of nearly equal
        # numbers, of which as many digits are lost as 1 - attention is small.
        most = x.gather(1, attention.detach().argmax(dim=-1))
        away = (attention * (x[:, None, :] - most[:, :, None])).sum(dim=-1)
        return self.w_value * (most + away)


class VectorSelfAttention(nn.Module):
    """f(X) = A(X) X W_V with A(X) = softmax(X W_Q W_K^T X^T / sqrt(d_K)), softmax over each row.

    Tokens are the rows of X, vectors with ``d`` entries. The parameters come in the order
    (W_V, W_Q, W_K), each flattened row by row. The sink is that of :class:`SelfAttention`.

    Args:
        W_value: ``(d, d)`` the value weights.
        W_query: ``(d, d_K)`` the query weights.
        W_key: ``(d, d_K)`` the key weights.
        sink_bias: what is added to the scores of the first token; not a parameter.

    Raises:
        ValueError: the weights are empty, not finite, or of the wrong shapes.

    Source: singh2026cracking, appendix D.1.1 (Figure 9); with ``d = 1`` it is eq. (4).

    Example:
        >>> weights = torch.eye(2), torch.zeros(2, 3), torch.zeros(2, 3)
        >>> layer = VectorSelfAttention(*weights)
        >>> layer(torch.tensor([[[0.0, 2.0], [4.0, 0.0]]], dtype=torch.float64)).tolist()
        [[[2.0, 1.0], [2.0, 1.0]]]
    """

    def __init__(
        self, W_value: Tensor, W_query: Tensor, W_key: Tensor, sink_bias: float = 0.0
    ) -> None:
        super().__init__()
        require_same_shape(W_query=W_query, W_key=W_key)
        self.W_value = parameter("W_value", W_value, 2)
        self.W_query = parameter("W_query", W_query, 2)
        self.W_key = parameter("W_key", W_key, 2)
        d = len(self.W_query)
        if self.W_value.shape != (d, d):
            raise ValueError(
                f"W_value: expected shape ({d}, {d}), as W_query has {d} rows, "
                f"got {tuple(self.W_value.shape)}"
            )
        self.sink_bias = _finite(sink_bias)

    def attention(self, x: Tensor) -> Tensor:
        """The attention matrices ``(batch, length, length)``, whose rows sum to 1."""
        d, key_dimension = self.W_query.shape
        if x.ndim != 3 or x.shape[2] != d:
            raise ValueError(f"inputs: expected shape (batch, length, {d}), got {tuple(x.shape)}")
        scores = (x @ self.W_query) @ (x @ self.W_key).transpose(1, 2) / math.sqrt(key_dimension)
        return torch.softmax(_with_sink(scores, self.sink_bias), dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(batch, length, d)`` for sequences ``(batch, length, d)``."""
        return self.attention(x) @ x @ self.W_value


def _finite(sink_bias: float) -> float:
    if not math.isfinite(sink_bias):
        raise ValueError(f"sink_bias: expected a finite number, got {sink_bias}")
    return sink_bias


def _with_sink(scores: Tensor, sink_bias: float) -> Tensor:
    """Add the bias to the column of the first token."""
    first = torch.zeros(scores.shape[-1], dtype=scores.dtype, device=scores.device)
    first[0] = sink_bias
    return scores + first
