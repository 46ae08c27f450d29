"""Which form a module has: walks ``nn.Sequential``, and knows the networks of this library."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hessian_spectra import models
from hessian_spectra.closed_form.recognition.forms import (
    Form,
    Layer,
    LayeredNetwork,
    WholeNetwork,
)

# What messages call a module, and the module.
Part = tuple[str, nn.Module]
# The places of each parameter in the vector of all.
Places = dict[Tensor, Tensor]


class UnknownStructureError(Exception):
    """No theorem is about such a network; the message says which layer makes it so."""


def parts_of(model: nn.Module) -> list[Part]:
    """The layers, with nested ``nn.Sequential`` laid out and without ``nn.Identity``.

    Raises:
        UnknownStructureError: a layer that no theorem knows, one that shares its parameters, one
            with a hook, or none that has parameters.
    """
    parts = [part for part in _leaves("", model) if type(part[1]) is not nn.Identity]
    owners: dict[Tensor, str] = {}
    for label, module in parts:
        if type(module) not in (*_CHAIN, *_OWN):
            raise UnknownStructureError(
                f"{label} has no closed form; the theorems know nn.Linear, nn.ReLU and the "
                "networks of hessian_spectra.models, in nn.Sequential"
            )
        for parameter in module.parameters():
            if parameter in owners:
                raise UnknownStructureError(f"{label} shares parameters with {owners[parameter]}")
            owners[parameter] = label
    if not owners:
        raise UnknownStructureError("the model has no parameters")
    for name, module in model.named_modules():
        if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module):
            raise UnknownStructureError(f"{_label(name, module)} has a hook on its forward")
    return parts


def is_attention(parts: Sequence[Part]) -> bool:
    """Whether self-attention is among the layers: the paper's loss is then a mean over tokens."""
    kinds = (models.SelfAttention, models.VectorSelfAttention)
    return any(isinstance(module, kinds) for _, module in parts)


def form_of(model: nn.Module, x: Tensor, y: Tensor) -> Form:
    """The form of a network on its inputs and targets.

    Args:
        model: the network; the form holds its weights and no copies of them.
        x: inputs that it takes.
        y: targets of the shape of its outputs.

    Raises:
        UnknownStructureError: as :func:`parts_of`; or a layer where no theorem has one.
    """
    parts = parts_of(model)
    while type(parts[0][1]) in (nn.Flatten, nn.ReLU):
        x = parts.pop(0)[1](x)
    while type(parts[-1][1]) is nn.Flatten:
        # The loss adds up the entries of the outputs, which keep their order in any shape.
        parts.pop()
    places: Places = {}
    start = 0
    for parameter in model.parameters():
        indices = torch.arange(start, start + parameter.numel(), device=parameter.device)
        places[parameter] = indices.view(parameter.shape)
        start += parameter.numel()
    own = next((part for part in parts if type(part[1]) in _OWN), None)
    if own is None:
        return _chain(parts, x, y, places)
    if len(parts) > 1:
        other = parts[1] if parts[0] is own else parts[0]
        raise UnknownStructureError(f"{other[0]} stands beside {own[0]}, which is all of a network")
    return _OWN[type(own[1])](_Own(*own, x, y, places))


def _leaves(name: str, module: nn.Module) -> list[Part]:
    if type(module).forward is not nn.Sequential.forward:
        return [(_label(name, module), module)]
    inner = [(f"{name}.{key}" if name else key, part) for key, part in module._modules.items()]
    return [leaf for key, part in inner if part is not None for leaf in _leaves(key, part)]


def _label(name: str, module: nn.Module) -> str:
    kind = type(module).__name__
    return f"layer {name!r} ({kind})" if name else f"the model ({kind})"


def _chain(parts: Sequence[Part], x: Tensor, y: Tensor, places: Places) -> LayeredNetwork:
    """Linear layers, ReLUs, and flattenings that leave the last dimension as it is."""
    layers: list[Layer] = []
    activations: list[str | None] = []
    shape = x.shape
    for label, module in parts:
        if isinstance(module, nn.Linear):
            layers.append(_layer(label, places, module.weight, module.bias))
            activations.append(None)
            shape = torch.Size([*shape[:-1], module.out_features])
        elif isinstance(module, nn.ReLU):
            activations[-1] = activations[-1] or label
        else:
            flat = module(torch.empty(shape, device="meta")).shape
            if flat[-1] != shape[-1]:
                raise UnknownStructureError(f"{label} joins samples between linear layers")
            shape = flat
    first, last = layers[0].weight, layers[-1].weight
    return LayeredNetwork(
        layers, activations, x.reshape(-1, first.shape[1]), y.reshape(-1, len(last))
    )


def _layer(
    label: str,
    places: Places,
    weight: Tensor,
    bias: Tensor | None = None,
    inputs: int | None = None,
) -> Layer:
    """A layer by its parameters; a vector is the only row of its weight, or of ``inputs`` each."""
    shape = (-1, inputs or weight.shape[-1])
    biases = () if bias is None else (bias.detach(), places[bias])
    return Layer(label, weight.detach().view(shape), places[weight].view(shape), *biases)


class _Own(NamedTuple):
    """A network of this library, what messages call it, its data and the parameters' places."""

    label: str
    core: Any
    x: Tensor
    y: Tensor
    places: Places


def _two_layer(own: _Own) -> LayeredNetwork:
    core, bias = own.core, getattr(own.core, "b", None)
    first = _layer(own.label, own.places, core.v, bias, inputs=1)
    second = _layer(own.label, own.places, core.w)
    relu = own.label if isinstance(core, models.TwoLayerReLU) else None
    return LayeredNetwork([first, second], [relu, None], own.x[:, None], own.y[:, None])


def _linear_network(own: _Own) -> LayeredNetwork:
    layers = [_layer(own.label, own.places, weight) for weight in (own.core.V, own.core.w)]
    return LayeredNetwork(layers, [None, None], own.x, own.y[:, None])


def _perceptron(own: _Own) -> LayeredNetwork:
    """The first multiplier goes to the inputs, the others to the outputs."""
    label, core = own.label, own.core
    if core.activation == "tanh":
        raise UnknownStructureError(f"{label} has the activation 'tanh', which has no closed form")
    scale = float(math.prod(core.multipliers[1:]))
    if scale == 0:
        raise UnknownStructureError(f"{label} has a multiplier of 0, which makes all outputs 0")
    names = [f"{label}, weights.{number}" for number in range(len(core.weights))]
    layers = [
        _layer(name, own.places, weight) for name, weight in zip(names, core.weights, strict=True)
    ]
    relu = [f"the ReLU of {name}" if core.activation == "relu" else None for name in names[:-1]]
    return LayeredNetwork(layers, [*relu, None], core.multipliers[0] * own.x, own.y / scale, scale)


def _separate(own: _Own) -> WholeNetwork:
    rows = [row.detach() for row in own.core.rows]
    of = "input" if isinstance(own.core, models.MultiInputLinear) else "output"
    w, v = torch.stack(rows[1::2]), torch.stack(rows[0::2])
    places = torch.cat([own.places[row] for row in own.core.rows])
    arguments = {"w": w, "v": v, "x": own.x, "y": own.y}
    return WholeNetwork(f"separate networks for each {of}", arguments, places, len(own.x))


def _attention(own: _Own) -> WholeNetwork:
    value, query, key = own.core.parameters()
    if query.ndim == 2 and len(query) > 1:
        raise UnknownStructureError(
            f"{own.label} has tokens of {len(query)} entries, and the theorem is about numbers; "
            "vector_attention_bulk gives the eigenvalues that repeat"
        )
    shape = own.x.shape[:2]
    score_bias = own.x.new_zeros(shape[1])
    score_bias[0] = own.core.sink_bias
    arguments = {
        "w_value": value.detach().reshape(()),
        "w_query": query.detach().flatten(),
        "w_key": key.detach().flatten(),
        "score_bias": score_bias,
        "x": own.x.reshape(shape),
        "y": own.y.reshape(shape),
    }
    places = torch.cat([own.places[weight].flatten() for weight in (value, query, key)])
    return WholeNetwork("self-attention", arguments, places, own.x.numel())


_CHAIN = (nn.Linear, nn.ReLU, nn.Flatten)
_OWN: dict[type[nn.Module], Callable[[_Own], Form]] = {
    models.TwoLayerLinear: _two_layer,
    models.TwoLayerReLU: _two_layer,
    models.LinearWithBias: _two_layer,
    models.LinearNetwork: _linear_network,
    models.Perceptron: _perceptron,
    models.MultiInputLinear: _separate,
    models.MultiOutputLinear: _separate,
    models.SelfAttention: _attention,
    models.VectorSelfAttention: _attention,
}
