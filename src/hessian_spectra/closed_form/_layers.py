"""The layers of a linear network: read, multiplied up, and how far they are from balanced."""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, read
from hessian_spectra.closed_form.assumptions import Assumption

Layers = Sequence[ArrayLike] | Tensor | np.ndarray


def matrices(weights: Layers) -> dict[str, ArrayLike]:
    """The layers by the names that messages use: ``W_1``, ``W_2``, ....

    Raises:
        ValueError: there are none.
    """
    if isinstance(weights, Tensor | np.ndarray) and weights.ndim == 0:
        raise ValueError("weights: expected a list of matrices W_1, W_2, ..., got one number")
    if len(weights) == 0:
        raise ValueError("weights: expected a list of at least one matrix W_1, got none")
    return {f"W_{number}": weight for number, weight in enumerate(weights, start=1)}


def read_layers(
    weights: Layers, shapes: Mapping[str, Sequence[str]] | None = None, /, **others: ArrayLike
) -> tuple[Tensor, ...]:
    """The layers as float64 matrices that fit together, then other arguments, of given shapes.

    Raises:
        ValueError: bad shape or type, no layer, empty or not finite layers.
    """
    given = matrices(weights)
    of_layers = {
        f"W_{layer}": (f"d_{layer}", f"d_{layer - 1}") for layer in range(1, len(given) + 1)
    }
    return read({**of_layers, **(shapes or {})}, **given, **others)


def end_to_end(layers: Sequence[Tensor]) -> Tensor:
    """``W_L ... W_1``."""
    return reduce(lambda product, layer: layer @ product, layers)


def prefixes_and_suffixes(layers: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Products before and after each layer: ``P_l = W_{l-1} ... W_1``, ``S_l = W_L ... W_{l+1}``.

    Source: anon2026data, eq. (4), where the inputs do not belong to ``P_l``.
    """
    inputs, outputs = layers[0].shape[1], layers[-1].shape[0]
    before = [torch.eye(inputs, dtype=layers[0].dtype, device=layers[0].device)]
    after = [torch.eye(outputs, dtype=layers[0].dtype, device=layers[0].device)]
    for layer in layers[:-1]:
        before.append(layer @ before[-1])
    for layer in reversed(layers[1:]):
        after.append(after[-1] @ layer)
    return before, after[::-1]


def unbalance(layers: Sequence[Tensor]) -> float:
    """``max_l ‖W_l W_lᵀ - W_{l+1}ᵀ W_{l+1}‖_F / max_l ‖W_l‖_F²``; 0 for weights of 0."""
    defects = [torch.linalg.matrix_norm(a @ a.T - b.T @ b) for a, b in pairwise(layers)]
    size = max(float(layer.square().sum()) for layer in layers)
    return max((float(defect) for defect in defects), default=0.0) / size if size > 0 else 0.0


def whitened(moments: Tensor, tolerance: float) -> Assumption:
    """The second moments of the inputs are a multiple of the identity."""
    advice = "whiten x, leaving out directions without variance"
    return Assumption("x xᵀ / n = σ² I", off_identity(moments), tolerance, advice)


def off_identity(moments: Tensor) -> float:
    """``max |S/σ² - I|`` with ``σ²`` the mean of the diagonal; 0 for ``S = 0``."""
    size = moments.diagonal().mean()
    if float(size) == 0:
        return 0.0
    identity = torch.eye(len(moments), dtype=moments.dtype, device=moments.device)
    return float((moments / size - identity).abs().max())
