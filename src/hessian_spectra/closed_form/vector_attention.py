"""The repeating eigenvalues of self-attention with vector tokens: Theorem 3.5's bulk, extended."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, read
from hessian_spectra.closed_form._losses import Loss, derivatives
from hessian_spectra.closed_form.bulk import Spaces
from hessian_spectra.spectrum import Spectrum

_SHAPES = {"W_value": "dd", "W_query": "dk", "W_key": "dk", "x": "bld", "y": "bld"}
_METHOD = "closed form, the query-key bulk"


def vector_attention_bulk(
    W_value: ArrayLike,
    W_query: ArrayLike,
    W_key: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    score_bias: ArrayLike | None = None,
    loss: Loss | None = None,
) -> Spectrum:
    """Bulk of the Hessian of ``f(X) = softmax(X W_Q W_Kᵀ Xᵀ / √d_K) X W_V``, softmax row by row.

    The loss is ``1/2`` times the mean of ``(f(X) - Y)²`` over all entries. It depends on ``W_Q``
    and ``W_K`` through ``M = W_Q W_Kᵀ`` alone. Let ``G = ∂L/∂M``, ``(d, d)``, have the singular
    triples ``(u_i, σ_i, v_i)``. The direction ``(u_i rᵀ, ± v_i rᵀ)`` of ``(W_Q, W_K)`` leaves ``M``
    as it is to first order if ``(W_Q r, W_K r)`` is a multiple of ``(u_i, ∓ v_i)``. It is then an
    eigenvector of the Hessian with the eigenvalue ``±σ_i``: the case of :func:`bulk` with the
    layers ``W_Kᵀ`` and ``W_Q``. Where ``[W_Q; W_K]`` has full row rank each of the ``2 d`` values
    occurs ``d_K - 2 d + 1`` times, and ``5 d² - 2 d`` eigenvalues remain, which have no known
    closed form.

    For ``d = 1`` it is the bulk ``±γ`` of Theorem 3.5, each ``d_K - 1`` times. It holds for every
    loss that depends on ``W_Q`` and ``W_K`` through ``M`` alone.

    Args:
        W_value: ``(d, d)``.
        W_query: ``(d, d_K)``.
        W_key: ``(d, d_K)``.
        x: ``(batch, length, d)`` input sequences.
        y: ``(batch, length, d)`` targets.
        score_bias: broadcastable to ``(batch, length, length)``; added to the scores.
        loss: any of one output and one target, twice differentiable at the outputs; its mean over
            all entries takes the place of half the squared error, the default.

    Returns:
        The bulk alone, ``2 d (d_K - 2 d + 1)`` eigenvalues for ``[W_Q; W_K]`` of full row rank, in
        the parameter order ``(W_V, W_Q, W_K)``; fewer, or none, if ``d_K`` is too small for that;
        those that vanish are of kind ``"zero"``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, or a loss that is not twice
            differentiable at an output.

    Source: ours, an extension of singh2026cracking, Theorem 3.5, to the layer of its Figure 9; the
    paper has no formula for vector tokens.

    Example:
        >>> query, key = [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]
        >>> x, y = [[[1.0], [-1.0]]], [[[-1.0], [1.0]]]
        >>> vector_attention_bulk([[1.0]], query, key, x, y).eigenvalues  # γ = 1/√3
        tensor([-0.5774, -0.5774,  0.5774,  0.5774], dtype=torch.float64)
    """
    value, query, key, x, y = read(_SHAPES, W_value=W_value, W_query=W_query, W_key=W_key, x=x, y=y)
    bias = x.new_zeros(()) if score_bias is None else read({"b": "?"}, b=score_bias)[0]
    gradient = _gradient(value, query, key, x, y, bias, loss)
    spaces = Spaces(key.T, query, gradient)  # W_2 = W_Q and W_1 = W_Kᵀ

    def placed(columns: Tensor) -> Tensor:
        first, last = columns.split([key.numel(), query.numel()])
        swapped = first.unflatten(0, key.T.shape).transpose(0, 1).flatten(0, 1)
        return torch.cat([columns.new_zeros(value.numel(), columns.shape[1]), last, swapped])

    return replace(spaces.spectrum(placed, zeros=True), method=_METHOD)


def _gradient(
    value: Tensor,
    query: Tensor,
    key: Tensor,
    x: Tensor,
    y: Tensor,
    bias: Tensor,
    loss: Loss | None,
) -> Tensor:
    """``∂L/∂M`` at ``M = W_Q W_Kᵀ``, ``(d, d)``."""
    root = math.sqrt(query.shape[1])
    scores = (x @ query) @ (x @ key).transpose(1, 2) / root + bias
    attention = torch.softmax(scores, dim=-1)
    residual, _ = derivatives(loss, attention @ x @ value, y)
    # By the attention, then through the softmax of each row, then by M.
    slope = residual @ (x @ value).transpose(1, 2) / y.numel()
    slope = attention * (slope - (attention * slope).sum(dim=-1, keepdim=True))
    return (x.transpose(1, 2) @ slope @ x).sum(dim=0) / root
