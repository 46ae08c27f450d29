"""Networks whose closed form is recognised, as a user would build them, and their Hessians."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor, nn

from hessian_spectra import models
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import (
    FAMILIES,
    Draw,
    Instance,
    orthonormal,
    whitened,
    without,
)
from hessian_spectra.models import HalfSquaredError

from .contract import brute_force

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


def linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    """A layer of given weights."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, dtype=torch.float64)
    layer.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
    return layer


Make = Callable[[Draw], Example]
# The library's names of the families' closed forms, for those that a network is recognised by.
OWN = {
    "linear": "two_layer_linear",
    "relu": "two_layer_relu",
    "sextic": "linear_with_bias",
    "orthogonal": "orthogonal_first_layer",
    "correlated_input": "multi_input",
    "multi_output": "multi_output",
    "attention": "self_attention",
    "balanced": "deep_linear",
}


def net_of(family: str, draw: Draw) -> Instance:
    """A network of several inputs, where scalar ones have a theorem of their own."""
    if family == "orthogonal":
        return instances.Orthogonal.of_size(draw, draw.integer(2, 3))
    if family == "balanced":
        widths = [draw.integer(2, 3) for _ in range(draw.integer(2, 5))]
        return instances.Balanced.of_widths(draw, widths, instances.LEAST_SQUARES)
    return FAMILIES[family].random(draw, 1)


def own(family: str, draw: Draw) -> Example:
    """A network of the library."""
    net = net_of(family, draw)
    return Example(OWN[family], net.model(), net.x, net.y, HalfSquaredError(net.per))


def layers(family: str, draw: Draw) -> Example:
    """The same in layers of PyTorch."""
    net = net_of(family, draw)
    x, y = (t[:, None] if t.ndim == 1 else t for t in (net.x, net.y))
    match net:
        case instances.Deep(weights=weights):
            model = nn.Sequential(*map(linear, weights))
        case instances.Orthogonal(V=V, w=w):
            model, x = nn.Sequential(nn.Flatten(), linear(V), linear(w[None])), x[:, :, None]
        case _:
            first = linear(net.v[:, None], getattr(net, "b", None))
            relu = [nn.ReLU()] if family == "relu" else []
            model = nn.Sequential(first, *relu, nn.Sequential(linear(net.w[None])))
    return Example(OWN[family], model, x, y)


def nested_linear(draw: Draw) -> Example:
    """With layers that change nothing, and two dimensions of samples."""
    v, w = draw.normal(3), draw.normal(3)
    inner = nn.Sequential(nn.Identity(), nn.Sequential(linear(v[:, None])))
    model = nn.Sequential(inner, nn.Identity(), linear(w[None]), nn.Flatten())
    return Example("two_layer_linear", model, draw.normal(3, 2, 1), draw.normal(3, 2))


def output_bias(draw: Draw) -> Example:
    """The biases that ``nn.Linear`` has by default."""
    made = layers("sextic", draw)
    last = linear(made.model[1][0].weight, draw.normal(1))
    return replace(made, model=nn.Sequential(made.model[0], last))


def orthogonal_with_bias(draw: Draw) -> Example:
    inputs = draw.integer(2, 3)
    m, ones = inputs + draw.integer(1, 3), torch.ones(inputs + 4, 1).double()
    columns = 0.7 * orthonormal(draw.normal(m, inputs + 1))
    x = whitened(torch.cat([ones, draw.normal(inputs + 4, inputs)], 1))[:, 1:]
    first = linear(columns[:, :inputs], columns[:, inputs])
    y = without(draw.normal(len(x)), torch.cat([x, ones], 1))[:, None]
    model = nn.Sequential(first, linear(draw.normal(1, m)))
    return Example("orthogonal_first_layer", model, x, y)


def single_layer(draw: Draw) -> Example:
    """Linear in its parameters: any targets will do. The bias is a weight of a constant input."""
    x = whitened(torch.cat([torch.ones(5, 1), draw.normal(5, 2)], 1))[:, 1:]
    return Example("deep_linear", linear(draw.normal(3, 2), draw.normal(3)), x, draw.normal(5, 3))


def attention_with_sink(draw: Draw) -> Example:
    d, made = draw.integer(1, 3), own("attention", draw)
    weights = draw.normal(1, 1), draw.normal(1, d), draw.normal(1, d)
    x, y = made.x[..., None], made.y[..., None]
    return replace(made, model=models.VectorSelfAttention(*weights, sink_bias=0.5), x=x, y=y)


def multipliers(draw: Draw) -> Example:
    made = own("balanced", draw)
    weights = [weight.detach() for weight in made.model.parameters()]
    factors = [0.5, 3.0, 0.8, 1.25][: len(weights)]
    model = models.Perceptron(weights, factors, "linear")
    return replace(made, model=model, y=math.prod(factors) * made.y)


def relu_perceptron(draw: Draw) -> Example:
    model = models.Perceptron([draw.normal(4, 1), draw.normal(1, 4)], [-2.0, 0.5], "relu")
    return Example("two_layer_relu", model, draw.normal(6, 1), draw.normal(6, 1))


MAKERS: dict[str, Make] = {
    **{f"own {name}": partial(own, name) for name in OWN},
    **{
        f"layers {name}": partial(layers, name)
        for name in ("linear", "relu", "sextic", "orthogonal", "balanced")
    },
    **{
        make.__name__: make
        for make in (
            *(nested_linear, output_bias, orthogonal_with_bias, single_layer),
            *(attention_with_sink, multipliers, relu_perceptron),
        )
    },
}


def example(name: str, seed: int = 0) -> Example:
    """One network of a family."""
    return MAKERS[name](Draw(seed=seed, width=5, size=6, family="recognition"))


def edges() -> dict[str, Example]:
    """Degenerate networks by name: some of the library's edge cases, and of shapes of data."""
    draw = Draw(seed=3, family="recognition")
    v, w, x, y = draw.normal(4), draw.normal(4), draw.normal(5, 1), draw.normal(5, 1)
    plain = Example("two_layer_linear", nn.Sequential(linear(v[:, None]), linear(w[None])), x, y)
    joining = nn.Sequential(linear(v[:, None]), nn.Flatten(0, 1), linear(w[None]), nn.Flatten(0))
    joined = x.expand(5, 3)[..., None], x[:, 0].repeat(3)
    known = {
        f"{family}: {name}": Example(OWN[family], net.model(), net.x, net.y)
        for family in ("linear", "relu")
        for name, net in FAMILIES[family].drawn(draw).items()
        if "random" not in name
    }
    deep = {
        name: Example("deep_linear", net.model(), net.x, net.y)
        for name, net in FAMILIES["balanced"].drawn(draw).items()
        if net.kind == instances.ZERO_LOSS
    }
    zeros = nn.Sequential(linear(torch.zeros(2, 1)), linear(torch.zeros(2, 2)))
    return {
        **known,
        **deep,
        "samples joined": replace(plain, model=joining, x=joined[0], y=joined[1]),
        "one sample without a batch dimension": replace(plain, x=x[0], y=y[0]),
        "x = 0": replace(plain, x=0 * x),
        "layers of 0 that fit": Example("deep_linear", zeros, x, torch.zeros(5, 2).double()),
    }
