"""Trace, bound and largest eigenvalue of deep linear networks; how far they are from balanced."""

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, finite
from hessian_spectra.closed_form._layers import (
    Layers,
    prefixes_and_suffixes,
    read_layers,
    unbalance,
)
from hessian_spectra.closed_form._pairs import power_sum


def deep_linear_trace(weights: Layers, second_moment: ArrayLike) -> Tensor:
    """``tr H = Σ_l tr(P_l S P_lᵀ) ‖S_l‖_F²``, of the Hessian as of the Gauss-Newton matrix.

    ``P_l = W_{l-1} ... W_1`` and ``S_l = W_L ... W_{l+1}`` are the products of the layers before
    and after layer ``l``. What the Hessian of ``1/(2n) Σ_i ‖f(x_i) - y_i‖²`` has beside the
    Gauss-Newton matrix has trace 0, because ``f`` is linear in each layer; so the trace is exact
    at any loss. Neither whitened inputs nor balanced layers are needed.

    Args:
        weights: the layers ``W_1, ..., W_L``, each ``(d_l, d_{l-1})``.
        second_moment: ``(d_0, d_0)``, ``S = X Xᵀ / n``.

    Returns:
        ``()`` the trace.

    Raises:
        ValueError: bad shape or type, empty or not finite input, or a trace beyond float64.

    Source: anon2026data, eq. (7), there for ``S = σ_x² I``: ``σ_x² Σ_l ‖P_l‖_F² ‖S_l‖_F²``.

    Example:
        >>> weights = [[[2.0, 0.0]], [[3.0]]]
        >>> deep_linear_trace(weights, [[1.0, 0.0], [0.0, 1.0]])  # 2 · 3² + 2² · 1
        tensor(22., dtype=torch.float64)
    """
    shapes = {"second_moment": ("d_0", "d_0")}
    *layers, moments = read_layers(weights, shapes, second_moment=second_moment)
    before, after = prefixes_and_suffixes(layers)
    terms = [
        ((p @ moments) * p).sum() * s.square().sum() for p, s in zip(before, after, strict=True)
    ]
    return finite(torch.stack(terms).sum())


def deep_linear_bound(weights: Layers, input_scale: ArrayLike) -> Tensor:
    """``σ_x² Σ_l ‖P_l‖₂² ‖S_l‖₂²``, which no Gauss-Newton eigenvalue exceeds.

    ``P_l`` and ``S_l`` are those of :func:`deep_linear_trace`. The bound is attained by balanced
    networks, and by all those of two layers.

    Args:
        weights: the layers ``W_1, ..., W_L``, each ``(d_l, d_{l-1})``.
        input_scale: ``σ_x``, with ``X Xᵀ / n = σ_x² I``.

    Returns:
        ``()`` the bound.

    Raises:
        ValueError: bad shape or type, empty or not finite input, or a bound beyond float64.

    Source: anon2026data, eq. (6).

    Example:
        >>> deep_linear_bound([[[2.0, 0.0]], [[3.0]]], input_scale=1.0)  # 3² + 2²
        tensor(13., dtype=torch.float64)
    """
    *layers, sigma = read_layers(weights, {"input_scale": ""}, input_scale=input_scale)
    before, after = prefixes_and_suffixes(layers)
    # P_1 and S_L are identities, of which a singular value decomposition would take longest.
    unit = sigma.new_ones(())
    left = [unit, *map(_norm, before[1:])]
    right = [*map(_norm, after[:-1]), unit]
    terms = [p**2 * s**2 for p, s in zip(left, right, strict=True)]
    return finite(sigma**2 * torch.stack(terms).sum())


def deep_linear_sharpness(weights: Layers, input_scale: ArrayLike) -> Tensor:
    """The largest Gauss-Newton eigenvalue, ``σ_x² Σ_l ‖W_1‖₂^{2(l-1)} ‖W_L‖₂^{2(L-l)}``.

    For two layers it is ``σ_x² (‖W_1‖₂² + ‖W_2‖₂²)``, whatever they are; for a balanced network of
    any depth ``L σ_x² ‖W‖₂^{2(L-1)}``. It takes a few norms where :func:`deep_linear` takes the
    whole spectrum. Whether the layers are balanced is not checked: see
    :func:`balancedness_defect`.

    Args and errors are those of :func:`deep_linear_bound`.

    Returns:
        ``()`` the largest eigenvalue.

    Source: anon2026data, eq. (10), and eq. (9b) with ``i = j = 1``.

    Example:
        >>> deep_linear_sharpness([[[2.0, 0.0]], [[3.0]]], input_scale=1.0)
        tensor(13., dtype=torch.float64)
    """
    *layers, sigma = read_layers(weights, {"input_scale": ""}, input_scale=input_scale)
    return finite(sigma**2 * power_sum(_norm(layers[0]), _norm(layers[-1]), len(layers)))


def balancedness_defect(weights: Layers) -> float:
    """``max_l ‖W_l W_lᵀ - W_{l+1}ᵀ W_{l+1}‖_F / max_l ‖W_l‖_F²``, between 0 and 1.

    It is 0 for a strongly balanced network, for a single layer and for weights of 0, and does not
    change when all layers are scaled together.

    Args:
        weights: the layers ``W_1, ..., W_L``, each ``(d_l, d_{l-1})``.

    Raises:
        ValueError: bad shape or type, no layer, empty or not finite layers.

    Source: anon2026data, Assumption 3.

    Example:
        >>> balancedness_defect([[[2.0, 0.0]], [[2.0]]])
        0.0
        >>> balancedness_defect([[[2.0, 0.0]], [[1.0]]])  # (4 - 1) / 4
        0.75
    """
    return unbalance(read_layers(weights))


def _norm(matrix: Tensor) -> Tensor:
    """The spectral norm."""
    return torch.linalg.matrix_norm(matrix, 2)
