"""Networks whose closed form is recognised, as a user would build them, and their Hessians."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hessian_spectra import models
from hessian_spectra.models import HalfSquaredError

from .deep_networks import balanced, normal, orthonormal, outputs, whitened

# By name, so that a test can draw one; None is the default.
LOSSES: dict[str, nn.Module | None] = {
    "default": None,
    "per sample": HalfSquaredError("sample"),
    "per element": HalfSquaredError("element"),
    "mean squared": nn.MSELoss(),
    "summed": nn.MSELoss(reduction="sum"),
}


@dataclass(frozen=True)
class Example:
    """A network with its data, and the name of the closed form that applies to it."""

    function: str
    model: nn.Module
    x: Tensor
    y: Tensor
    default: nn.Module = field(default_factory=HalfSquaredError)

    def hessian(self, loss: nn.Module | None = None) -> Tensor:
        """The dense Hessian in float64, in the order of the model's own parameters."""
        return brute_force(self.model, self.x, self.y, loss or self.default)


def brute_force(model: nn.Module, x: Tensor, y: Tensor, loss: nn.Module) -> Tensor:
    """The Hessian of one vector of all parameters, by reverse over reverse."""
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    theta = torch.cat([parameter.detach().double().flatten() for parameter in model.parameters()])

    def value(vector: Tensor) -> Tensor:
        pieces = vector.split([shape.numel() for shape in shapes.values()])
        named = zip(shapes.items(), pieces, strict=True)
        state = {name: piece.view(shape) for (name, shape), piece in named}
        return loss(functional_call(model, state, (x.double(),)), y.double())

    return torch.autograd.functional.hessian(value, theta)


def linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    """A layer of given weights."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


Random = torch.Generator
Make = Callable[[Random], Example]


def size(random: Random, low: int, high: int) -> int:
    return int(torch.randint(low, high + 1, (), generator=random))


def scalar_data(random: Random) -> tuple[Tensor, Tensor]:
    n = size(random, 1, 6)
    return normal(random, n, 1), normal(random, n, 1)


def two_layers(random: Random) -> tuple[Tensor, Tensor]:
    """``v`` and ``w``, ``(m,)``."""
    m = size(random, 1, 5)
    return normal(random, m), normal(random, m)


def sequential_linear(random: Random) -> Example:
    v, w = two_layers(random)
    model = nn.Sequential(linear(v[:, None]), linear(w[None]))
    return Example("two_layer_linear", model, *scalar_data(random))


def nested_linear(random: Random) -> Example:
    """With layers that change nothing, and two dimensions of samples."""
    v, w = two_layers(random)
    inner = nn.Sequential(nn.Identity(), nn.Sequential(linear(v[:, None])))
    model = nn.Sequential(inner, nn.Identity(), linear(w[None]), nn.Flatten())
    n = size(random, 1, 3)
    return Example("two_layer_linear", model, normal(random, n, 2, 1), normal(random, n, 2))


def sequential_relu(random: Random) -> Example:
    v, w = two_layers(random)
    model = nn.Sequential(linear(v[:, None]), nn.ReLU(), nn.Sequential(linear(w[None])))
    return Example("two_layer_relu", model, *scalar_data(random))


def standardised(random: Random) -> tuple[Tensor, Tensor]:
    x = normal(random, size(random, 2, 6), 1)
    x = x - x.mean()
    return x / x.square().mean().sqrt(), normal(random, *x.shape)


def sequential_bias(random: Random) -> Example:
    v, w = two_layers(random)
    model = nn.Sequential(linear(v[:, None], normal(random, len(v))), linear(w[None]))
    return Example("linear_with_bias", model, *standardised(random))


def sequential_biases(random: Random) -> Example:
    """The biases that ``nn.Linear`` has by default."""
    v, w = two_layers(random)
    first = linear(v[:, None], normal(random, len(v)))
    model = nn.Sequential(first, linear(w[None], normal(random, 1)))
    return Example("linear_with_bias", model, *standardised(random))


def uncorrelated_targets(random: Random, x: Tensor) -> Tensor:
    """``(n,)`` targets that no linear function of the inputs, ``(n, D)``, fits at all."""
    y = normal(random, len(x))
    return y - x @ torch.linalg.lstsq(x, y[:, None]).solution[:, 0]


def sequential_orthogonal(random: Random) -> Example:
    inputs = size(random, 2, 3)
    m = inputs + size(random, 0, 2)
    V = 1.3 * orthonormal(random, m, inputs)
    x = whitened(random, inputs, inputs + 3, scale=2.0).T
    model = nn.Sequential(nn.Flatten(), linear(V), linear(normal(random, 1, m)))
    y = uncorrelated_targets(random, x)[:, None]
    return Example("orthogonal_first_layer", model, x[:, :, None], y)


def sequential_orthogonal_bias(random: Random) -> Example:
    inputs = size(random, 2, 3)
    m = inputs + 1 + size(random, 0, 2)
    columns = 0.7 * orthonormal(random, m, inputs + 1)
    ones = torch.ones(inputs + 4, 1, dtype=torch.float64)
    x = torch.linalg.qr(torch.cat([ones, normal(random, inputs + 4, inputs)], 1)).Q[:, 1:]
    x = x * len(x) ** 0.5
    first = linear(columns[:, :inputs], columns[:, inputs])
    model = nn.Sequential(first, linear(normal(random, 1, m)))
    y = uncorrelated_targets(random, torch.cat([x, ones], 1))[:, None]
    return Example("orthogonal_first_layer", model, x, y)


def deep_weights(random: Random) -> tuple[list[Tensor], Tensor, Tensor]:
    """Balanced layers at a least-squares solution, on whitened inputs ``(n, d_0)``."""
    depth = size(random, 1, 4)
    widths = [size(random, 2, 3) for _ in range(depth + 1)]
    values = normal(random, min(widths)).abs() + 0.1
    weights = balanced(random, widths, values)
    x = whitened(random, widths[0], widths[0] + 2, scale=0.8)
    noise = normal(random, widths[-1], x.shape[1])
    noise = noise - noise @ x.T @ torch.linalg.inv(x @ x.T) @ x
    return weights, x.T, (outputs(weights, x) + noise).T


def sequential_deep(random: Random) -> Example:
    weights, x, y = deep_weights(random)
    return Example("deep_linear", nn.Sequential(*map(linear, weights)), x, y)


def single_layer(random: Random) -> Example:
    """Linear in its parameters: any targets will do. The bias is a weight of a constant input."""
    ones = torch.ones(5, 1, dtype=torch.float64)
    x = torch.linalg.qr(torch.cat([ones, normal(random, 5, 2)], 1)).Q[:, 1:] * 5**0.5
    model = linear(normal(random, 3, 2), normal(random, 3))
    return Example("deep_linear", model, x, normal(random, 5, 3))


def own_linear(random: Random) -> Example:
    v, w = two_layers(random)
    x, y = scalar_data(random)
    return Example("two_layer_linear", models.TwoLayerLinear(v, w), x[:, 0], y[:, 0])


def own_relu(random: Random) -> Example:
    v, w = two_layers(random)
    x, y = scalar_data(random)
    model = nn.Sequential(nn.Flatten(0), models.TwoLayerReLU(v, w))
    return Example("two_layer_relu", model, x, y[:, 0])


def own_bias(random: Random) -> Example:
    v, w = two_layers(random)
    x, y = standardised(random)
    model = models.LinearWithBias(w, v, normal(random, len(v)))
    return Example("linear_with_bias", model, x[:, 0], y[:, 0])


def own_orthogonal(random: Random) -> Example:
    made = sequential_orthogonal(random)
    model = models.LinearNetwork(made.model[1].weight, made.model[2].weight[0])
    return Example("orthogonal_first_layer", model, made.x[:, :, 0], made.y[:, 0])


def own_inputs(random: Random) -> Example:
    inputs, m, n = (size(random, 1, 3) for _ in range(3))
    model = models.MultiInputLinear(normal(random, inputs, m), normal(random, inputs, m))
    return Example("multi_input", model, normal(random, n, inputs), normal(random, n))


def own_outputs(random: Random) -> Example:
    heads, m, n = (size(random, 1, 3) for _ in range(3))
    model = models.MultiOutputLinear(normal(random, heads, m), normal(random, heads, m))
    return Example("multi_output", model, normal(random, n), normal(random, n, heads))


def own_attention(random: Random) -> Example:
    d, batch, length = (size(random, 1, 3) for _ in range(3))
    model = models.SelfAttention(
        normal(random), normal(random, d), normal(random, d), sink_bias=float(size(random, 0, 1))
    )
    x, y = normal(random, batch, length), normal(random, batch, length)
    return Example("self_attention", nn.Sequential(model), x, y, HalfSquaredError("element"))


def own_vector_attention(random: Random) -> Example:
    d, batch, length = (size(random, 1, 3) for _ in range(3))
    model = models.VectorSelfAttention(
        normal(random, 1, 1), normal(random, 1, d), normal(random, 1, d), sink_bias=0.5
    )
    x, y = normal(random, batch, length, 1), normal(random, batch, length, 1)
    return Example("self_attention", model, x, y, HalfSquaredError("element"))


def own_deep(random: Random) -> Example:
    weights, x, y = deep_weights(random)
    multipliers = [0.5, 3.0, 0.8, 1.25][: len(weights)]
    scale = math.prod(multipliers)
    return Example("deep_linear", models.Perceptron(weights, multipliers, "linear"), x, scale * y)


def own_relu_perceptron(random: Random) -> Example:
    v, w = two_layers(random)
    model = models.Perceptron([v[:, None], w[None]], [-2.0, 0.5], "relu")
    return Example("two_layer_relu", model, *scalar_data(random))


FAMILIES: dict[str, Make] = {
    make.__name__: make
    for make in (
        sequential_linear,
        nested_linear,
        sequential_relu,
        sequential_bias,
        sequential_biases,
        sequential_orthogonal,
        sequential_orthogonal_bias,
        sequential_deep,
        single_layer,
        own_linear,
        own_relu,
        own_bias,
        own_orthogonal,
        own_inputs,
        own_outputs,
        own_attention,
        own_vector_attention,
        own_deep,
        own_relu_perceptron,
    )
}


def example(name: str, seed: int = 0) -> Example:
    """One network of a family."""
    return FAMILIES[name](torch.Generator().manual_seed(seed))


def edges() -> dict[str, Example]:
    """Degenerate networks by name."""
    random = torch.Generator().manual_seed(3)
    v, w = normal(random, 4), normal(random, 4)
    x, y = normal(random, 5, 1), normal(random, 5, 1)
    dead = v * torch.tensor([1.0, 0.0, -1.0, 0.0])

    def linear_of(v: Tensor, w: Tensor, x: Tensor, y: Tensor) -> Example:
        model = nn.Sequential(linear(v[:, None]), linear(w[None]))
        return Example("two_layer_linear", model, x, y)

    def relu_of(v: Tensor, x: Tensor) -> Example:
        model = nn.Sequential(linear(v[:, None]), nn.ReLU(), linear(w[None]))
        return Example("two_layer_relu", model, x, y)

    def deep_of(weights: list[Tensor], **changes: Any) -> Example:
        x = whitened(random, 3, 5)
        model = nn.Sequential(*map(linear, weights))
        return replace(Example("deep_linear", model, x.T, outputs(weights, x).T), **changes)

    rank_one = balanced(random, [3, 4, 3, 2], torch.tensor([1.5, 0.0]).double())
    zeros = [torch.zeros(2, 3).double(), torch.zeros(2, 2).double()]
    joining = nn.Sequential(linear(v[:, None]), nn.Flatten(0, 1), linear(w[None]), nn.Flatten(0))
    return {
        "samples joined": Example(
            "two_layer_linear", joining, x.expand(5, 3)[..., None], x[:, 0].repeat(3)
        ),
        "one hidden unit": linear_of(v[:1], w[:1], x, y),
        "one sample": linear_of(v, w, x[:1], y[:1]),
        "one sample without a batch dimension": linear_of(v, w, x[0], y[0]),
        "perfect fit": linear_of(v, w, x, (w @ v) * x),
        "equal layers": linear_of(v, v, x, y),
        "all weights 0": linear_of(0 * v, 0 * w, x, y),
        "x = 0": linear_of(v, w, 0 * x, y),
        "ReLUs at 0": relu_of(dead, x),
        "dead ReLUs": relu_of(-v.abs(), x.abs()),
        "samples at 0": relu_of(v, x * (x > 0)),
        "rank deficient": deep_of(rank_one),
        "layers of 0 that fit": deep_of(zeros),
        "two layers, one unit": deep_of([normal(random, 1, 3), normal(random, 2, 1)]),
    }
