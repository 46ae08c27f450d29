"""Small ensembles in float64, and their Hessians by automatic differentiation."""

import torch
from torch import Tensor
from torch.autograd.functional import hessian
from torch.func import functional_call

from hessian_spectra.models import Ensemble, HalfSquaredError

from .cases import normal

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
    actual = []
    for index in range(networks.count):
        network = networks.network(index)
        names = [name for name, _ in network.named_parameters()]
        values = [parameter.detach() for parameter in network.parameters()]
        sizes, shapes = [v.numel() for v in values], [v.shape for v in values]

        def loss(flat, network=network, names=names, sizes=sizes, shapes=shapes):
            parts = [p.view(s) for p, s in zip(flat.split(sizes), shapes, strict=True)]
            outputs = functional_call(network, dict(zip(names, parts, strict=True)), (x,))
            return HalfSquaredError("sample")(outputs, y)

        actual.append(hessian(loss, torch.cat([value.reshape(-1) for value in values])))
    return torch.stack(actual)
