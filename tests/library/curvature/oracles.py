"""Curvature by other means: differences of the gradient, dense Jacobians, other libraries."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .cases import Case

Model = nn.Module


def trainable(model: Model) -> list[Tensor]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.to_dense().reshape(-1) for tensor in tensors])


def double_backward(value: Tensor, parameters: Iterable[Tensor]) -> Tensor:
    """The Hessian of a value as plain torch has it, row by row."""
    parts = list(parameters)

    def slopes(of: Tensor, **settings: bool) -> Tensor:
        return flat(torch.autograd.grad(of, parts, materialize_grads=True, **settings))

    gradient = slopes(value, create_graph=True)
    return torch.stack([slopes(entry, retain_graph=True) for entry in gradient])


def gradient(case: Case, model: Model) -> Tensor:
    """The gradient of the loss over all data, by one backward pass."""
    return flat(torch.autograd.grad(case.value(model), trainable(model)))


def hessian_by_differences(case: Case, step: float = 1e-5) -> Tensor:
    """Central differences of the gradient, one coordinate after the other."""
    model = case.model()
    columns = []
    for parameter in trainable(model):
        entries = parameter.data.view(-1)
        for index in range(len(entries)):
            value = entries[index].item()
            sides = []
            for shift in (step, -step):
                entries[index] = value + shift
                sides.append(gradient(case, model))
            entries[index] = value
            columns.append((sides[0] - sides[1]) / (2 * step))
    return torch.stack(columns, dim=1)
