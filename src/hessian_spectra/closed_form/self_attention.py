"""A single self-attention layer with scalar tokens: singh2026cracking, Theorem 3.5."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import (
    ArrayLike,
    exponent,
    finite,
    norm,
    read,
    times_power_of_two,
)
from hessian_spectra.closed_form._losses import Loss, derivatives
from hessian_spectra.closed_form._reduction import Reduction, Sector
from hessian_spectra.spectrum import Spectrum

_SHAPES = {"w_value": "", "w_query": "d", "w_key": "d", "x": "bl", "y": "bl", "score_bias": "?"}
_METHOD = "closed form, Theorem 3.5"

# A row-wise activation: attention scores (batch, length, length) to attention weights.
Activation = Callable[[Tensor], Tensor]


class AttentionCoefficients(NamedTuple):
    """The four numbers that, with ``w_Q`` and ``w_K``, make the Hessian of Theorem 3.5.

    For half the squared error ``l' = δ``, the residual, and ``l'' = 1``.

    Attributes:
        alpha: ``α = mean(l'' m_1²)``.
        beta: ``β = mean((l'' w_V m_1 + l') x m_2)/√d_K``.
        gamma: ``γ = mean(w_V l' x m_2)/√d_K``, the bulk eigenvalue.
        zeta: ``ζ = mean(l'' w_V² (x m_2)² + w_V l' x² m_3)/d_K``.
    """

    alpha: Tensor
    beta: Tensor
    gamma: Tensor
    zeta: Tensor


def self_attention(
    w_value: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    score_bias: ArrayLike | None = None,
    activation: Activation | None = None,
    loss: Loss | None = None,
) -> Spectrum:
    """Hessian spectrum of ``f(x) = w_V A(x) x`` with ``A = softmax(x ⟨w_Q, w_K⟩ xᵀ / √d_K)``.

    The loss is ``1/2`` times the mean of ``(f(x) - y)²`` over all tokens of all sequences. With the
    numbers of :class:`AttentionCoefficients` the ``2 d_K + 1`` eigenvalues are the bulk ``±γ``,
    each ``d_K - 1`` times, and three outliers, the eigenvalues of

        ``[[α, β P, β Q], [β P, γ + ζ P², ζ P Q], [β Q, ζ P Q, -γ + ζ Q²]]``,

    ``P = ‖w_K + w_Q‖/√2``, ``Q = ‖w_K - w_Q‖/√2``; they solve the paper's cubic.

    Args:
        w_value: scalar, a number or a tensor of one entry.
        w_query: ``(d_K,)``.
        w_key: ``(d_K,)``.
        x: ``(batch, length)`` input sequences.
        y: ``(batch, length)`` targets.
        score_bias: broadcastable to ``(batch, length, length)``; added to the scores before the
            activation: a sink ``(length,)``, or a mask with ``-inf``.
        activation: in the place of the softmax, any function of the scores that is twice
            differentiable and acts on each row (the last dimension) by itself.
        loss: any of one output and one target, twice differentiable at the outputs; its mean over
            all tokens takes the place of half the squared error, the default.

    Returns:
        The spectrum in the parameter order ``(w_V, w_Q, w_K)``; kinds ``"outlier"`` and ``"bulk"``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, a row of scores that is masked
            throughout, a Hessian beyond float64, or a loss that is not twice differentiable at an
            output.

    Source: singh2026cracking, Theorem 3.5 and Appendix B.5, where the Hessian's first displayed
    form has the labels of ``w_Q`` and ``w_K`` exchanged. Other losses are this project's.

    Example:
        >>> # Equal attention on 1 and -1: the output is 0 and fits.
        >>> s = self_attention(1.0, [1.0], [0.0], x=[[1.0, -1.0]], y=[[0.0, 0.0]])
        >>> [round(value, 12) + 0.0 for value in s.eigenvalues.tolist()]
        [0.0, 0.0, 1.0]
    """
    w_value, w_query, w_key, x, y, score_bias = _read(
        w_value, w_query, w_key, x, y, score_bias, many=False
    )
    # H(w_V, w_Q, w_K, x) = b² H(b w_V, b w_Q, b w_K, x/b): tokens of size 1, the same scores.
    power = exponent(x) or 0
    x = times_power_of_two(x, -power)
    w_value, w_query, w_key = (
        times_power_of_two(weight, power) for weight in (w_value, w_query, w_key)
    )
    response = _responses(w_query, w_key, x, score_bias, activation)
    coefficients = _coefficients(w_value, *response, y, len(w_query), loss)
    return _spectrum(coefficients, w_query, w_key, 2 * power)


def attention_coefficients(
    w_value: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    score_bias: ArrayLike | None = None,
    activation: Activation | None = None,
    loss: Loss | None = None,
) -> AttentionCoefficients:
    """``α, β, γ, ζ`` of Theorem 3.5, averaged over all tokens of all sequences.

    For another activation than the softmax ``m_1``, ``x m_2`` and ``x² m_3`` stand for the layer's
    output per ``w_V`` and its first two derivatives by the score ``⟨w_Q, w_K⟩/√d_K``.

    Args and errors are those of :func:`self_attention`. Of many networks at once: all arguments
    have the same leading dimensions, ``w_value (N,)``, ``w_query`` and ``w_key (N, d_K)``, ``x``
    and ``y (N, batch, length)``, and so have the numbers, ``(N,)`` each.

    Source: singh2026cracking, Section 3.3 and Appendix B.5.

    Example:
        >>> c = attention_coefficients(1.0, [0.0], [0.0], x=[[1.0, -1.0]], y=[[0.0, 0.0]])
        >>> [float(number) for number in c]
        [0.0, 0.0, 0.0, 1.0]
    """
    w_value, w_query, w_key, x, y, score_bias = _read(w_value, w_query, w_key, x, y, score_bias)
    response = _responses(w_query, w_key, x, score_bias, activation)
    return _coefficients(w_value, *response, y, w_query.shape[-1], loss)


class AttentionMoments(NamedTuple):
    """Mean and central moments of the tokens under each row of the attention matrix.

    Attributes:
        m_1: ``(..., batch, length)`` mean, ``A x``.
        m_2: ``(..., batch, length)`` variance.
        m_3: ``(..., batch, length)`` third central moment.
    """

    m_1: Tensor
    m_2: Tensor
    m_3: Tensor


def attention_moments(
    w_query: ArrayLike, w_key: ArrayLike, x: ArrayLike, *, score_bias: ArrayLike | None = None
) -> AttentionMoments:
    """The moments of Definition B.1 for softmax attention, of one network or of many at once.

    Args:
        w_query: ``(..., d_K)``.
        w_key: ``(..., d_K)``.
        x: ``(..., batch, length)`` input sequences.
        score_bias: broadcastable to ``(..., batch, length, length)``; added to the scores.

    Raises:
        ValueError: as :func:`self_attention`.

    Source: singh2026cracking, Definition B.1.

    Example:
        >>> m_1, m_2, m_3 = attention_moments([0.0], [1.0], x=[[0.0, 2.0]])
        >>> m_1.tolist(), m_2.tolist(), m_3.tolist()
        ([[1.0, 1.0]], [[1.0, 1.0]], [[0.0, 0.0]])
    """
    _, w_query, w_key, x, _, score_bias = _read(None, w_query, w_key, x, x, score_bias)
    return _moments(_scores(w_query, w_key, x, score_bias), x)


def attention_spectrum(
    coefficients: AttentionCoefficients, w_query: ArrayLike, w_key: ArrayLike
) -> Spectrum:
    """The spectrum of Theorem 3.5 from its four numbers, for example averaged over batches.

    Args and errors are those of :func:`attention_cubic`.

    Returns:
        The spectrum in the parameter order ``(w_V, w_Q, w_K)``.

    Source: singh2026cracking, Theorem 3.5.

    Example:
        >>> c = AttentionCoefficients(*torch.tensor([1.0, 0.0, 0.5, 0.0]).double())
        >>> attention_spectrum(c, [1.0, 0.0], [0.0, 1.0]).eigenvalues
        tensor([-0.5000, -0.5000,  0.5000,  0.5000,  1.0000], dtype=torch.float64)
    """
    return _spectrum(*read_coefficients(coefficients, w_query, w_key), 0)


def read_coefficients(
    coefficients: AttentionCoefficients, w_query: ArrayLike, w_key: ArrayLike
) -> tuple[AttentionCoefficients, Tensor, Tensor]:
    """The four numbers and the two weights as tensors."""
    shapes = dict.fromkeys(coefficients._fields, "") | {"w_query": "d", "w_key": "d"}
    *numbers, query, key = read(shapes, **coefficients._asdict(), w_query=w_query, w_key=w_key)
    return AttentionCoefficients(*numbers), query, key


def small_matrix(coefficients: AttentionCoefficients, w_query: Tensor, w_key: Tensor) -> Tensor:
    """The symmetric ``3 x 3`` matrix whose eigenvalues are the outliers."""
    alpha, beta, gamma, zeta = coefficients
    p, q = norm(math.sqrt(0.5) * (w_key + w_query)), norm(math.sqrt(0.5) * (w_key - w_query))
    rows = [
        torch.stack([alpha, beta * p, beta * q]),
        torch.stack([beta * p, gamma + zeta * p * p, zeta * p * q]),
        torch.stack([beta * q, zeta * p * q, -gamma + zeta * q * q]),
    ]
    return torch.stack(rows)


def _read(
    w_value: ArrayLike | None,
    w_query: ArrayLike,
    w_key: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    score_bias: ArrayLike | None,
    *,
    many: bool = True,
) -> tuple[Tensor, ...]:
    """All arguments as tensors; no bias is one of 0.

    They are of as many networks as ``w_query`` is of, which may be ``many``.
    """
    leading = [f"N_{place}" for place in range(1, np.ndim(w_query))] if many else []
    if w_value is None:
        w_value = np.ones(np.shape(w_query)[:-1])
    if not leading and isinstance(w_value, Tensor) and w_value.shape == (1,):
        w_value = w_value.squeeze()
    arguments = (w_value, w_query, w_key, x, y, 0.0 if score_bias is None else score_bias)
    shapes = {name: dims if dims == "?" else [*leading, *dims] for name, dims in _SHAPES.items()}
    *tensors, bias = read(
        shapes, {"score_bias": -math.inf}, **dict(zip(shapes, arguments, strict=True))
    )
    *before, length = tensors[3].shape
    scores = (*before, length, length)
    try:
        full = bias.broadcast_to(scores)
    except RuntimeError:
        raise ValueError(
            "score_bias: expected a shape that broadcasts to (batch, length, length) = "
            f"{scores}, got {tuple(bias.shape)}"
        ) from None
    masked = int((full == -math.inf).all(-1).sum())
    if masked > 0:
        raise ValueError(f"score_bias: expected no row with every score masked, got {masked}")
    return (*tensors, bias)


def _scores(w_query: Tensor, w_key: Tensor, x: Tensor, score_bias: Tensor) -> Tensor:
    """Attention scores ``(..., batch, length, length)``."""
    return _scaled(_score(w_query, w_key), x) + score_bias


def _scaled(score: Tensor, x: Tensor) -> Tensor:
    """``c x_i x_j`` of each network's number ``c``."""
    return score[..., None, None, None] * x[..., :, None] * x[..., None, :]


def _score(w_query: Tensor, w_key: Tensor) -> Tensor:
    """``⟨w_Q, w_K⟩/√d_K``, finite also where the product of large weights is not."""
    query, key = exponent(w_query) or 0, exponent(w_key) or 0
    scaled = times_power_of_two(w_query, -query), times_power_of_two(w_key, -key)
    inner = torch.linalg.vecdot(*scaled)
    score = times_power_of_two(inner / math.sqrt(w_query.shape[-1]), query + key)
    # The softmax saturates long before; an infinite score would turn 0 * inf into NaN.
    return score.clamp(-1e300, 1e300)


def _moments(scores: Tensor, x: Tensor) -> AttentionMoments:
    """The central moments of ``x`` under the softmax of each row of scores."""
    attention = torch.softmax(scores, dim=-1)
    m_1 = attention @ x[..., None]  # (..., batch, length, 1)
    deviation = x[..., None, :] - m_1
    m_2 = (attention * deviation**2).sum(-1)
    m_3 = (attention * deviation**3).sum(-1)
    return AttentionMoments(m_1.squeeze(-1), m_2, m_3)


def _responses(
    w_query: Tensor,
    w_key: Tensor,
    x: Tensor,
    score_bias: Tensor,
    activation: Activation | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The output per ``w_V`` and its two derivatives by the score, each of the tokens' shape."""
    if activation is None:
        m_1, m_2, m_3 = _moments(_scores(w_query, w_key, x, score_bias), x)
        return m_1, x * m_2, x**2 * m_3

    def output(score: Tensor) -> Tensor:
        return (activation(_scaled(score, x) + score_bias) @ x[..., None]).squeeze(-1)

    def slope(score: Tensor) -> Tensor:
        return _derivative(output, score)

    score = _score(w_query, w_key)
    return output(score), slope(score).detach(), _derivative(slope, score).detach()


def _derivative(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """The derivative by each network's number, itself differentiable."""
    return torch.autograd.functional.jvp(function, at, torch.ones_like(at), create_graph=True)[1]


def _coefficients(
    w_value: Tensor,
    output: Tensor,
    slope: Tensor,
    curvature: Tensor,
    y: Tensor,
    width: int,
    loss: Loss | None,
) -> AttentionCoefficients:
    """``α, β, γ, ζ`` from the output per ``w_V`` and its derivatives by the score."""
    w_value, tokens = w_value[..., None, None], (-2, -1)
    residual, weight = derivatives(loss, w_value * output, y)
    root = math.sqrt(width)
    first = w_value * slope
    return AttentionCoefficients(
        alpha=(weight * output**2).mean(tokens),
        beta=((weight * w_value * output + residual) * slope).mean(tokens) / root,
        gamma=(residual * first).mean(tokens) / root,
        zeta=(weight * first**2 + w_value * residual * curvature).mean(tokens) / width,
    )


def _spectrum(
    coefficients: AttentionCoefficients, w_query: Tensor, w_key: Tensor, power: int
) -> Spectrum:
    alpha, beta, gamma, zeta = coefficients
    width, root = len(w_query), math.sqrt(0.5)
    ones = torch.ones_like(w_query[:1, None])
    sums, differences = (w_key + w_query)[:, None], (w_key - w_query)[:, None]
    reduction = Reduction(
        sectors=[
            Sector(torch.zeros_like(gamma), ones, [0], [(0, 1.0)]),
            Sector(gamma, root * sums, [1], [(1, root), (1 + width, root)]),
            Sector(-gamma, root * differences, [1], [(1, root), (1 + width, -root)]),
        ],
        coupling=torch.stack([alpha, beta, beta, zeta]).reshape(2, 2),
    )
    values = torch.cat([reduction.outlier_values(), torch.stack([gamma, -gamma])])
    return Spectrum(
        values=finite(times_power_of_two(values, power)),
        multiplicities=[1, 1, 1, width - 1, width - 1],
        kinds=["outlier"] * 3 + ["bulk"] * 2,
        method=_METHOD,
        eigenbasis=reduction.eigenbasis,
    )
