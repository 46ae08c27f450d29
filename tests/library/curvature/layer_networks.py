"""Small networks with layers of all kinds, and dense second derivatives by these."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.functional import hessian
from torch.testing import assert_close

from hessian_spectra import curvature as cv

from .cases import built, classes, normal
from .oracles import double_backward


class PerToken(nn.Module):
    """Scores of three classes for each token, (n, 3, T)."""

    def __init__(self) -> None:
        super().__init__()
        self.each, self.head = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.each(x))).mT


class Tokens(nn.Module):
    """A linear layer that is used at each place of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.each, self.head = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.each(x)).mean(dim=1))


ENTROPY = nn.CrossEntropyLoss()


@dataclass(frozen=True)
class Network:
    make: Callable[[], nn.Module]
    inputs: Sequence[int]
    loss: nn.Module = ENTROPY
    samples: int = 7

    def model(self) -> nn.Module:
        return built(self.make).eval()

    def data(self) -> tuple[Tensor, Tensor]:
        x = normal(self.samples, *self.inputs)
        y = classes(self.samples)
        return x, y if isinstance(self.loss, nn.CrossEntropyLoss) else normal(self.samples, 3)


def convolutions(activation: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), activation,
        nn.Conv2d(4, 3, 2), activation, nn.Flatten(), nn.Linear(6, 3),
    )  # fmt: skip


def unusual() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, (2, 3), padding="same", padding_mode="circular", bias=False),
        nn.BatchNorm2d(3), nn.ReLU(inplace=True),
        nn.Conv2d(3, 2, 2, dilation=2), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2, 3, bias=False),
    )  # fmt: skip


def plain(activation: nn.Module) -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, 5), activation, nn.Linear(5, 4, bias=False), activation, nn.Linear(4, 3)
    )


NETWORKS = {
    "linear": Network(lambda: plain(nn.ReLU()), (4,)),
    "smooth": Network(lambda: plain(nn.Tanh()), (4,)),
    "squared": Network(lambda: plain(nn.ReLU()), (4,), nn.MSELoss()),
    "summed": Network(lambda: plain(nn.ReLU()), (4,), nn.CrossEntropyLoss(reduction="sum")),
    "convolutions": Network(lambda: convolutions(nn.ReLU()), (2, 4, 5)),
    "smooth convolutions": Network(lambda: convolutions(nn.Tanh()), (2, 4, 5), samples=3),
    "unusual": Network(unusual, (2, 5, 5)),
    "sequence": Network(
        lambda: nn.Sequential(
            nn.Conv1d(2, 3, 2, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(6, 3)
        ),
        (2, 4),
    ),
    "tokens": Network(Tokens, (5, 3)),
}


def problem_of(network: Network, model: nn.Module) -> cv.Problem:
    """In two batches of different lengths."""
    x, y = network.data()
    return cv.Problem(model, network.loss, [(x[:2], y[:2]), (x[2:], y[2:])])


def layer_of(key: str, name: str) -> cv.Layerwise:
    """A layer of one of the networks."""
    return cv.layerwise(problem_of(NETWORKS[key], NETWORKS[key].model()), name)


def dense(network: Network, model: nn.Module, name: str) -> Tensor:
    """The Hessian by the weight, row by row."""
    x, y = network.data()
    return double_backward(network.loss(model(x), y), [model.get_submodule(name).weight])


def passing(network: Network, model: nn.Module, name: str) -> tuple[Tensor, Tensor]:
    """The inputs and outputs of a layer."""
    actual: list[tuple[Tensor, Tensor]] = []
    module = model.get_submodule(name)
    hook = module.register_forward_hook(lambda _, x, z: actual.append((x[0].clone(), z.clone())))
    model(network.data()[0])
    hook.remove()
    return actual[0][0].detach(), actual[0][1].detach()


def blocks(network: Network, model: nn.Module, name: str) -> tuple[Tensor, Tensor]:
    """``M_pq (n, P, P, m, m)`` by the outputs, and what the weight meets, (n, P, d)."""
    module: Any = model.get_submodule(name)
    inputs, outputs = passing(network, model, name)
    x, targets = network.data()

    def loss(changed: Tensor) -> Tensor:
        hook = module.register_forward_hook(lambda *_: changed)
        value = network.loss(model(x), targets)
        hook.remove()
        return value

    n, second = len(outputs), hessian(loss, outputs)
    if isinstance(module, nn.Linear):
        m, at = outputs.shape[-1], inputs.reshape(n, -1, inputs.shape[-1])
        second = second.reshape(n, -1, m, n, at.shape[1], m)
    else:
        m, at = outputs.shape[1], by_derivative(module, inputs)
        second = second.reshape(n, m, -1, n, m, at.shape[1]).permute(0, 2, 1, 3, 5, 4)
    return torch.stack([second[i, :, :, i].transpose(1, 2) for i in range(n)]), at


def dense_factors(network: Network, model: nn.Module, name: str) -> tuple[Tensor, Tensor]:
    """E[M] and E[x xᵀ], added up place by place."""
    second, at = blocks(network, model, name)
    n, positions, _ = at.shape
    output = torch.einsum("nppij->ij", second) / positions
    return output, torch.einsum("npi,npj->ij", at, at) / n


def by_derivative(module: Any, inputs: Tensor) -> Tensor:
    """A convolution's inputs at each place, (n, P, g d): what its outputs are per weight."""
    weight, rows = module.weight.detach(), len(module.weight) // module.groups
    derivative = torch.autograd.functional.jacobian(
        lambda w: module._conv_forward(inputs, w, None).flatten(2), weight
    )
    # One row of each group: (n, g, P, d), the rest is the same.
    chosen = [derivative[:, g * rows, :, g * rows].flatten(2) for g in range(module.groups)]
    return torch.cat(chosen, dim=2)


def close(actual: Tensor, expected: Tensor) -> None:
    assert_close(actual, expected, rtol=0, atol=1e-12 * float(expected.abs().max()))


def nearest(matrix: Tensor, m: int, d: int) -> Tensor:
    """The first singular product, the blocks as rows (Van Loan and Pitsianis 1993)."""
    rearranged = matrix.view(m, d, m, d).transpose(1, 2).reshape(m * m, d * d)
    left, values, right = torch.linalg.svd(rearranged, full_matrices=False)
    return values[0] * torch.kron(left[:, 0].view(m, m), right[0].view(d, d))
