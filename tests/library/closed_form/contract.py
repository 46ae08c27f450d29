"""The dense truth behind an instance, and what every closed form promises of its spectrum."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.functional import hessian, jacobian
from torch.func import functional_call

from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import FAMILIES, Draw, Instance
from hessian_spectra.spectrum import Spectrum

# Relative to the largest eigenvalue; both sides round, and the widest case has 30 parameters.
TOLERANCE = 1e-10
# Two draws beside the ledger's.
DRAW = Draw(seed=3, instances=9, width=6, size=8)
# One instance for each closed form.
FORMS = {
    name: FAMILIES[name].drawn(DRAW)[case]
    for name, case in {
        "linear": "random 3",
        "relu": "random 1",
        "sextic": "random 0",
        "correlated_input": "random 0",
        "multi_output": "random 1",
        "orthogonal": "random 0",
        "attention": "random 1",
        "balanced": "a singular value of 0",
        "linear_loss": "random 0",
        "relu_loss": "random 5",
    }.items()
}


def functions(model: nn.Module, x: Tensor) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """The outputs as a function of all parameters in one vector, and this vector, in float64."""
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    theta = torch.cat([parameter.detach().double().flatten() for parameter in model.parameters()])

    def outputs(vector: Tensor) -> Tensor:
        pieces = vector.split([shape.numel() for shape in shapes.values()])
        named = zip(shapes.items(), pieces, strict=True)
        state = {name: piece.view(shape) for (name, shape), piece in named}
        return functional_call(model, state, (x.double(),))

    return outputs, theta


def brute_force(model: nn.Module, x: Tensor, y: Tensor, loss: nn.Module) -> Tensor:
    """The Hessian by reverse over reverse, in the order of the model's own parameters."""
    outputs, theta = functions(model, x)
    return hessian(lambda vector: loss(outputs(vector), y.double()), theta)


def gauss_newton(
    model: nn.Module, x: Tensor, y: Tensor | None = None, loss: nn.Module | None = None
) -> Tensor:
    """``Jᵀ M J`` by automatic differentiation; ``Jᵀ J / n`` where no loss is given."""
    outputs, theta = functions(model, x)
    at = outputs(theta)
    matrix = jacobian(outputs, theta).reshape(-1, len(theta))
    if loss is None:
        return matrix.T @ matrix / len(x)
    inner = hessian(lambda vector: loss(vector.view_as(at), y), at.flatten())
    return matrix.T @ inner @ matrix


def truth(net: Instance) -> Tensor:
    """The dense matrix that the closed form is about."""
    if isinstance(net, instances.Deep):
        return gauss_newton(net.model(), net.x, net.y, net.objective)
    return brute_force(net.model(), net.x, net.y, net.objective)


def flat(net: Instance) -> dict[str, Tensor]:
    """The closed form's tensors by the names that messages use."""
    arguments = dict(net.arguments)
    layers = arguments.pop("weights", [])
    return {f"W_{k}": layer for k, layer in enumerate(layers, start=1)} | arguments


def evaluate(net: Instance, tensors: dict[str, Any] | None = None, **keywords: Any) -> Spectrum:
    """The closed form of an instance, or of others of its arguments."""
    taken = flat(net) if tensors is None else dict(tensors)
    if isinstance(net, instances.Deep):
        taken["weights"] = [taken.pop(name) for name in list(taken) if name.startswith("W_")]
    return type(net).closed_form(**taken, **net.options, **keywords)


def unchecked(net: Instance) -> dict[str, bool]:
    """The option by which inputs may break the closed form's assumptions, where it has any."""
    some = (instances.Biased, instances.Orthogonal)
    return {"check": False} if isinstance(net, some) else {}


def mapped(net: Instance, function: Callable[[str, Tensor], Tensor]) -> Instance:
    """The instance with other weights and data, by name."""
    changes = {name: function(name, getattr(net, name)) for name in (*net.layers, "x", "y")}
    if isinstance(net, instances.Deep):
        changes["weights"] = tuple(function(f"W_{k}", w) for k, w in enumerate(net.weights, 1))
    return replace(net, **changes)


def require_spectrum(actual: Spectrum, matrix: Tensor) -> None:
    """All eigenvalues and, as an orthonormal basis, all eigenvectors are the matrix's."""
    p = len(matrix)
    expected = torch.linalg.eigvalsh(matrix)
    size = float(expected.abs().max())
    values, vectors = actual.eigenvalues, actual.eigenvectors()
    assert values.shape == (p,)
    assert values.dtype == torch.float64
    assert bool((values.diff() >= 0).all())
    assert float((values - expected).abs().max()) <= TOLERANCE * size
    assert vectors.shape == (p, p)
    assert float((vectors.T @ vectors - torch.eye(p).double()).abs().max()) <= TOLERANCE
    assert float((matrix @ vectors - vectors * values).abs().max()) <= TOLERANCE * size


def kinds(net: Any) -> dict[str, int]:
    """The number of eigenvalues of each kind that the theorem tells of."""
    match net:
        case instances.Relu(v=v):
            cells = [size for size in (int((v > 0).sum()), int((v < 0).sum())) if size > 0]
            zeros = 2 * int((v == 0).sum())
            bulk = sum(2 * size - 2 for size in cells)
            return {"outlier": 2 * len(cells), "bulk": bulk, "zero": zeros}
        case instances.TwoLayer(w=w):
            return {"outlier": 2, "bulk": 2 * len(w) - 2}
        case instances.Biased(w=w):
            m = len(w)
            return {"outlier": 5 if m > 1 else 3, "bulk": 2 * max(m - 2, 0), "zero": m - 1}
        case instances.SeveralInputs(w=w) | instances.MultiOutput(w=w):
            return {"outlier": 2 * len(w), "bulk": 2 * len(w) * (w.shape[1] - 1)}
        case instances.Orthogonal(V=V):
            (m, inputs), rank = V.shape, min(V.shape)
            zeros = (inputs - 1) * (m - 1)
            return {"outlier": 2 * rank + inputs - 1, "bulk": 2 * (m - rank), "zero": zeros}
        case instances.AnyAttention(w_query=query):
            return {"outlier": 3, "bulk": 2 * len(query) - 2}
        case instances.AnyLayers():
            return {}
        case instances.RawInputs(weights=weights, x=x):
            return kinds_on_raw_inputs(weights, x)
        case _:
            return kinds_of_layers(net.weights)


def kinds_on_raw_inputs(weights: tuple[Tensor, ...], x: Tensor) -> dict[str, int]:
    """The kinds for balanced layers, or two of them, on inputs of any rank."""
    if len(weights) == 1:
        bulk, outliers = len(weights[0]) * rank(x), 0
    else:
        hidden = x @ instances.end_to_end(weights[:-1]).mT
        outliers = rank(weights[-1]) * rank(x)
        bulk = (len(weights[-1]) - rank(weights[-1])) * rank(hidden)
    zeros = sum(weight.numel() for weight in weights) - outliers - bulk
    return {"outlier": outliers, "bulk": bulk, "zero": zeros}


def rank(matrix: Tensor) -> int:
    """The number of singular values that are no rounding."""
    return int(torch.linalg.matrix_rank(matrix))


def kinds_of_layers(weights: tuple[Tensor, ...]) -> dict[str, int]:
    """The kinds for layers that the theorem is about: balanced, or two of them."""
    parameters = sum(weight.numel() for weight in weights)
    if len(weights) == 1:
        return {"bulk": parameters}
    first, last = (int(torch.linalg.matrix_rank(weights[k])) for k in (0, -1))
    inputs, outputs = weights[0].shape[1], len(weights[-1])
    positive = inputs * outputs - (inputs - first) * (outputs - last)
    pairs = first * last
    return {"outlier": pairs, "bulk": positive - pairs, "zero": parameters - positive}
