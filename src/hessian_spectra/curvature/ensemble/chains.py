"""Products of the consecutive matrices of an ensemble."""

from collections.abc import Sequence

import torch
from torch import Tensor

from hessian_spectra.models.ensemble import Ensemble


def effective_weights(ensemble: Ensemble) -> list[Tensor]:
    """A_l = a_l W_l ``(N, d_l, d_{l−1})`` for each layer."""
    return [
        multiplier * weight
        for multiplier, weight in zip(ensemble.multipliers, ensemble.weights, strict=True)
    ]


def before(weights: Sequence[Tensor]) -> list[Tensor]:
    """A_{l−1} ⋯ A_1 ``(N, d_{l−1}, d_0)`` for each layer; ``(1, d_0, d_0)`` for the first."""
    parts = [torch.eye(weights[0].shape[2]).to(weights[0])[None]]
    for weight in weights[:-1]:
        parts.append(weight @ parts[-1] if len(parts) > 1 else weight)
    return parts


def after(weights: Sequence[Tensor]) -> list[Tensor]:
    """A_L ⋯ A_{l+1} ``(N, d_L, d_l)`` for each layer; ``(1, d_L, d_L)`` for the last."""
    parts = [torch.eye(weights[-1].shape[1]).to(weights[-1])[None]]
    for weight in weights[:0:-1]:
        parts.append(parts[-1] @ weight if len(parts) > 1 else weight)
    return parts[::-1]
