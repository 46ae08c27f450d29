"""Linear and convolutional layers as matrix products, and what passes through them."""

import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
KINDS = (nn.Linear, *CONVOLUTIONS)


def _is_transposed(module: Any) -> bool:
    """Whether it is Hugging Face's ``Conv1D``, a linear layer with the weight ``(d, m)``."""
    weight = getattr(module, "weight", None)
    named = type(module).__name__ == "Conv1D" and hasattr(module, "nf")
    return named and isinstance(weight, Tensor) and weight.ndim == 2


def is_layer(module: Any) -> bool:
    """Whether a module is of a kind that has a layer-wise Hessian."""
    return isinstance(module, KINDS) or _is_transposed(module)


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A linear or convolutional layer: ``Z = X Wᵀ`` at each of P positions, in g groups.

    Args:
        name: of the module; its weight is ``<name>.weight``.
        outputs: ``m``, the rows of the weight.
        inputs: ``d``, the numbers that each row has: of a convolution the input channels of a group
            times the kernel.
        groups: ``g``; each has ``m / g`` rows and inputs of its own.
        has_bias: whether something is added to the outputs.
        transposed: whether its parameter is the weight's transpose, ``(d, m)``.
    """

    name: str
    outputs: int
    inputs: int
    groups: int
    has_bias: bool
    transposed: bool = False

    @property
    def weight(self) -> str:
        """The name of its parameter."""
        return f"{self.name}.weight" if self.name else "weight"


def layer_of(model: nn.Module, name: str) -> Layer:
    """A layer of a network by the name of its module.

    Raises:
        ValueError: there is none, it is of another kind, or its weight is shared or computed.
    """
    modules = dict(model.named_modules(remove_duplicate=False))
    known = [key for key, module in modules.items() if is_layer(module)]
    if not is_layer(modules.get(name)):
        got = type(modules[name]).__name__ if name in modules else "no module of that name"
        raise ValueError(
            f"layerwise: expected the name of a linear or convolutional layer, one of "
            f"{', '.join(map(repr, known)) or 'none in this model'}, got {name!r}, {got}"
        )
    module: Any = modules[name]
    if "weight" not in module._parameters:
        raise ValueError(f"layerwise: the weight of {name!r} is computed from others; it is none")
    uses = Counter(id(named) for _, named in model.named_parameters(remove_duplicate=False))
    if uses[id(module.weight)] > 1:
        raise ValueError(
            f"layerwise: the weight of {name!r} is shared with another layer, so that its Hessian "
            "is no sum over the inputs of one; expected each weight used once"
        )
    transposed = _is_transposed(module)
    rows, *columns = module.weight.T.shape if transposed else module.weight.shape
    return Layer(
        name=name,
        outputs=rows,
        inputs=torch.Size(columns).numel(),
        groups=getattr(module, "groups", 1),
        has_bias=module.bias is not None,
        transposed=transposed,
    )


def layers_of(model: nn.Module, names: Sequence[str] | None) -> list[Layer]:
    """Layers of a network by the names of their modules, by default all that have a Hessian.

    Warns:
        UserWarning: by default, which are left out and why.

    Raises:
        ValueError: as :func:`layer_of`; there is none; a batch norm or dropout in training mode.
    """
    modules = dict(model.named_modules())
    for name, module in modules.items():
        random = isinstance(module, _DropoutNd) and module.p > 0
        if module.training and (isinstance(module, _BatchNorm) or random):
            raise ValueError(
                f"layerwise: {name!r} ({type(module).__name__}) in training mode makes a sample's "
                "loss depend on chance or on other samples; call model.eval()"
            )
    if names is not None:
        layers = [layer_of(model, name) for name in names]
    else:
        layers = _all_layers(model, [name for name, result in modules.items() if is_layer(result)])
    if not layers:
        raise ValueError("layerwise: expected a linear or convolutional layer, got none")
    return layers


def _all_layers(model: nn.Module, names: Sequence[str]) -> list[Layer]:
    layers = []
    for name in names:
        try:
            layers.append(layer_of(model, name))
        except ValueError as error:
            left_out(name, error)
    return layers


def left_out(name: str, reason: object) -> None:
    """Say that a layer is left out where all are asked for."""
    warnings.warn(f"layer {name!r} is left out: {reason}", stacklevel=5)


class Captured:
    """While this is on, inputs and outputs of layers are kept as a model is called, once.

    Attributes:
        inputs: ``(n, g, P, d)`` of each layer, without a graph.
        outputs: ``(n, P, m)`` of each layer, views that what follows is computed from.

    Raises:
        ValueError: at the end, a layer was not used, or more than once.
    """

    def __init__(self, model: nn.Module, layers: Sequence[Layer]) -> None:
        self._model, self._layers = model, layers
        self._found: dict[str, tuple[Tensor, Tensor]] = {}
        self._hooks = ExitStack()

    def __enter__(self) -> "Captured":
        for layer in self._layers:
            module, keep = self._model.get_submodule(layer.name), partial(self._keep, layer)
            hook = module.register_forward_hook(keep, with_kwargs=True)
            self._hooks.callback(hook.remove)
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.close()

    def _keep(self, layer: Layer, module: Any, inputs: Any, named: Any, output: Tensor) -> Tensor:
        if layer.name in self._found:
            raise ValueError(
                f"layerwise: {layer.name!r} is used more than once in the network, so that "
                "its Hessian is no sum over its inputs; expected each layer used once"
            )
        flat = by_position(module, output)
        self._found[layer.name] = patches(module, input_of(inputs, named)), flat
        # What follows is computed from this, so that it can be differentiated by it; a copy,
        # because a rectifier may overwrite what it is given.
        return in_shape(module, flat, output.shape).clone()

    def _of(self, layer: Layer) -> tuple[Tensor, Tensor]:
        if layer.name not in self._found:
            raise ValueError(f"layerwise: the network does not use {layer.name!r}")
        return self._found[layer.name]

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors of each layer."""
        return [self._of(layer)[0] for layer in self._layers]

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors of each layer."""
        return [self._of(layer)[1] for layer in self._layers]


def input_of(inputs: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """The one tensor that a layer is called with, by its place or by its name."""
    tensor: Tensor = (*inputs, *named.values())[0]
    return tensor.detach()


def by_position(module: nn.Module, output: Tensor) -> Tensor:
    """Outputs as ``(n, P, m)``."""
    if not isinstance(module, CONVOLUTIONS):
        return output.reshape(len(output), -1, output.shape[-1])
    # Channels come first: they are moved to the end, and not just counted anew.
    return output.flatten(2).transpose(1, 2)


def in_shape(module: nn.Module, flat: Tensor, shape: torch.Size) -> Tensor:
    """Outputs ``(n, P, m)`` as the module has them, the inverse of :func:`by_position`."""
    if not isinstance(module, CONVOLUTIONS):
        return flat.reshape(shape)
    return flat.transpose(1, 2).reshape(shape)


def patches(module: Any, inputs: Tensor) -> Tensor:
    """The patch that the weight of each group multiplies at each position, ``(n, g, P, d)``.

    Example:
        >>> conv = nn.Conv1d(1, 1, 2)
        >>> patches(conv, torch.tensor([[[1.0, 2.0, 3.0]]]))[0, 0]
        tensor([[1., 2.],
                [2., 3.]])
    """
    if not isinstance(module, CONVOLUTIONS):
        return inputs.reshape(len(inputs), 1, -1, inputs.shape[-1])
    # A convolution with the unit vectors copies its inputs, whatever its geometry is. That is
    # torch's own, because a subclass may do something else with its weight.
    convolve: Any = next(kind for kind in CONVOLUTIONS if isinstance(module, kind))._conv_forward
    kernel = module.weight.shape[1:]
    size = kernel.numel()
    units = torch.eye(size, dtype=inputs.dtype, device=inputs.device).view(size, *kernel)
    repeated = units.repeat(module.groups, *(1 for _ in kernel))
    outputs = convolve(module, inputs, repeated, None).flatten(2)
    return outputs.view(len(inputs), module.groups, size, -1).transpose(2, 3)
