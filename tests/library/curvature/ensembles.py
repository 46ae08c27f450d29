"""Small ensembles in float64, and their Hessians by automatic differentiation."""

import torch
from torch import Tensor

from hessian_spectra.models import Ensemble, HalfSquaredError

from .cases import normal
from .oracles import double_backward

SHAPES = [
    (3, 2), (1, 1, 1), (3, 5, 2), (2, 4, 3), (1, 4, 1), (1, 3, 2), (4, 3, 1), (3, 4, 2, 5, 2),
    (1, 4, 3, 1), (2, 3, 3, 2, 3, 2, 4),
]  # fmt: skip
ACTIVATIONS = ["linear", "relu"]


def ensemble(sizes, activation, count=3, seed=0) -> Ensemble:
    """Gaussian weights, and multipliers that are not 1."""
    depth = len(sizes) - 1
    return Ensemble(
        weights=tuple(
            normal(count, sizes[layer + 1], sizes[layer], seed=10 * seed + layer)
            for layer in range(depth)
        ),
        multipliers=tuple(0.5 + 0.3 * layer for layer in range(depth)),
        activation=activation,
    )


def data(sizes, count=7, seed=100) -> tuple[Tensor, Tensor]:
    return normal(count, sizes[0], seed=seed), normal(count, sizes[-1], seed=seed + 1)


def dense(networks: Ensemble, x: Tensor, y: Tensor) -> Tensor:
    """``(N, p, p)`` by two reverse passes, one network after the other."""
    loss, every = HalfSquaredError("sample"), map(networks.network, range(networks.count))
    return torch.stack([double_backward(loss(at(x), y), at.parameters()) for at in every])
