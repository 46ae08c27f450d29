"""Products of the consecutive matrices of an ensemble."""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from hessian_spectra.models.ensemble import Ensemble


def effective_weights(ensemble: Ensemble) -> list[Tensor]:
    """A_l = a_l W_l ``(N, d_l, d_{l−1})`` for each layer."""
    return [
        multiplier * weight
        for multiplier, weight in zip(ensemble.multipliers, ensemble.weights, strict=True)
    ]


def around(weights: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """``A_L ⋯ A_{l+1} (N, d_L, d_l)`` and ``A_{l−1} ⋯ A_1 (N, d_{l−1}, d_0)`` for each layer.

    After the last and before the first stands the identity, of one network.
    """
    first, last = weights[0], weights[-1]
    before = [torch.eye(first.shape[2]).to(first)[None]]
    before += accumulate(weights[:-1], lambda product, weight: weight @ product)
    after = [torch.eye(last.shape[1]).to(last)[None]]
    after += accumulate(weights[:0:-1], torch.matmul)
    return list(zip(after[::-1], before, strict=True))
