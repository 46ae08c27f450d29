"""Curvature by other means: differences of the gradient, dense Jacobians, other libraries."""

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacfwd, jacrev
from torch.nn.attention import SDPBackend, sdpa_kernel

from .cases import Case

Model = nn.Module


def trainable(model: Model) -> list[Tensor]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.to_dense().reshape(-1) for tensor in tensors])


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


def gauss_newton(case: Case) -> Tensor:
    """Jᵀ (∇² of the loss in the outputs) J, with dense Jacobians, for the whole data."""
    model = case.model()
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    values = {name: dict(model.named_parameters())[name] for name in names}

    def outputs(parameters: dict[str, Tensor]) -> list[Tensor]:
        return [functional_call(model, parameters, (x,)) for x, _ in case.data]

    def value(all_outputs: list[Tensor]) -> Tensor:
        calls = iter(all_outputs)
        if case.total is not None:
            return case.total(lambda _: next(calls), case.data)
        return case.loss(torch.cat(all_outputs), torch.cat([y for _, y in case.data]))

    at = outputs(values)
    sizes = [output.numel() for output in at]
    with sdpa_kernel(SDPBackend.MATH):
        jacobians = jacrev(outputs)(values)
    rows = [
        torch.cat([jacobian[name].reshape(size, -1) for name in names], dim=1).detach()
        for jacobian, size in zip(jacobians, sizes, strict=True)
    ]
    jacobian = torch.cat(rows)

    def of_flat(vector: Tensor) -> Tensor:
        pieces = vector.split(sizes)
        return value([piece.view(o.shape) for piece, o in zip(pieces, at, strict=True)])

    curvature = jacfwd(jacrev(of_flat))(flat(at).detach())
    return jacobian.T @ curvature @ jacobian
