"""Second derivatives that are faster than torch's, wherever a model calls a common layer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hessian_spectra.curvature.function_modes import Arguments, Function, FunctionMode, Named
from hessian_spectra.curvature.layers import (
    ROWS,
    Activation,
    LayerNorm,
    Product,
    Rectifier,
    Softmax,
    convolution,
)

Settings = dict[str, Any]
# Given the function that a model calls and its arguments by name: the result, or None to leave it.
Replacement = Callable[[Callable[..., Tensor], Settings], Tensor | None]


class FastSecondDerivatives(FunctionMode):
    """While this is on, common layers differentiate twice at less cost, with torch's values.

    A smooth activation keeps its first and second derivative, so that each later product is one
    multiplication instead of a new evaluation. A rectifier's second derivative is nothing rather
    than a tensor of zeros that all that follows would carry along. A linear layer adds up within
    the matrix products. A layer norm and a softmax keep what their derivatives share. A batch norm
    with fixed statistics is the linear map that it is, and a convolution's second derivative uses
    the kernels of the first, where torch falls back to slow general ones. A weight norm gets the
    right one, where torch has a wrong one. Gradients can then be differentiated once more, in
    reverse, and no further; ``nested`` tells afterwards that the model took derivatives itself.

    Under ``torch.autocast`` torch's own layers stay, since they choose the type of each operation;
    ``autocast`` tells afterwards that this was met. So do those of complex numbers and of nested
    tensors.

    Args:
        plain: whether torch's own layers stay wherever they are right.
    """

    def __init__(self, *, plain: bool = False) -> None:
        super().__init__()
        self._replacements = _CORRECTIONS if plain else _REPLACEMENTS
        self.autocast = False
        self.nested = False

    def call(self, func: Function, args: Arguments, kwargs: Named) -> Any:
        """Replace the operations of this module, leave all others alone."""
        transformed = torch._C._functorch.maybe_current_level() is not None
        self.nested |= transformed or func in _DERIVATIVES
        known = self._replacements.get(func) if torch.is_grad_enabled() else None
        if transformed and self._replacements is not _CORRECTIONS:
            # The functions of this module are not made for torch.func.
            known = None
        if known is not None and any(map(_is_uncommon, (*args, *kwargs.values()))):
            known = None
        if known is not None and torch.is_autocast_enabled(_device_type(args, kwargs)):
            self.autocast = True
        elif known is not None:
            replace, names = known
            settings = {**dict(zip(names, args, strict=False)), **kwargs}
            result = replace(func, settings) if len(args) <= len(names) else None
            if result is not None:
                return result
        return func(*args, **kwargs)


def _is_uncommon(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_complex() or value.is_nested)


def _device_type(args: Arguments, kwargs: Named) -> str:
    inputs = args[0] if args else kwargs.get("input")
    return inputs.device.type if isinstance(inputs, Tensor) else "cpu"


def _activate(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    inputs = settings.pop("input")
    if not inputs.requires_grad or settings.get("inplace", False):
        return None
    point = inputs.detach().requires_grad_()
    value = func(point, **settings)
    (first,) = torch.autograd.grad(value.sum(), point, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), point)
    return Activation.apply(inputs, value.detach(), first.detach(), second)


def _rectify(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    if not settings["input"].requires_grad or settings.get("inplace", False):
        return None
    return Rectifier.apply(settings["input"])


def _map_linearly(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    inputs, weight = settings["input"], settings["weight"]
    if inputs.ndim < 2 or weight.ndim != 2:
        return None
    rows = inputs.reshape(inputs.shape[:-1].numel(), inputs.shape[-1])
    outputs = Product.apply(ROWS, rows, weight, settings.get("bias"))
    return outputs.view(*inputs.shape[:-1], len(weight))


def _normalise(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    weight, bias = settings.get("weight"), settings.get("bias")
    if weight is None or bias is None or weight.ndim != 1:
        return None
    return LayerNorm.apply(settings["input"], weight, bias, settings.get("eps", 1e-5))


def _normalise_batch(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    # The linear map that it is; in training mode the statistics are functions of the inputs.
    names = ("running_mean", "running_var", "weight", "bias")
    if settings.get("training", False) or any(settings.get(name) is None for name in names):
        return None
    wide = (-1, *(1,) * (settings["input"].ndim - 2))
    mean, variance, weight, bias = (settings[name] for name in names)
    scale = weight * (variance + settings.get("eps", 1e-5)).rsqrt()
    shift = bias - mean * scale
    return torch.addcmul(shift.view(wide), settings["input"], scale.view(wide))


def _soften(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    axis, dtype = settings.get("dim"), settings.get("dtype")
    if not isinstance(axis, int) or dtype is not None or not settings["input"].requires_grad:
        return None
    return Softmax.apply(settings["input"], axis)


def _convolve(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    inputs, weight = settings["input"], settings["weight"]
    dimensions = weight.ndim - 2
    geometry = [settings.get(name, default) for name, default in _GEOMETRY]
    # Padding may be a word, and an image may come without a batch axis; torch knows what to do.
    if isinstance(geometry[1], str) or inputs.ndim != weight.ndim:
        return None
    stride, padding, dilation = (
        [value] * dimensions if isinstance(value, int) else list(value) * (dimensions // len(value))
        for value in geometry
    )
    bilinear = convolution(stride, padding, dilation, settings.get("groups", 1))
    outputs = Product.apply(bilinear, inputs, weight, None)
    bias = settings.get("bias")
    return outputs if bias is None else outputs + bias.view(-1, *(1,) * dimensions)


def _normalise_weight(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    # Torch's fused form has a wrong second derivative.
    direction, length = settings["v"], settings["g"]
    return direction * (length / torch.norm_except_dim(direction, 2, settings.get("dim", 0)))


_GEOMETRY = (("stride", 1), ("padding", 0), ("dilation", 1))
_ONE = ("input",)
_CONVOLUTION = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_BATCH_NORM = (
    "input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps",
)  # fmt: skip


def _normalise_elementarily(func: Callable[..., Tensor], settings: Settings) -> Tensor | None:
    # Torch's own has a wrong third derivative, which a loss with derivatives inside needs.
    inputs, shape = settings["input"], settings["normalized_shape"]
    if not inputs.numel():
        return None
    axes = tuple(range(-len(shape), 0))
    variance, mean = torch.var_mean(inputs, axes, correction=0, keepdim=True)
    outputs = (inputs - mean) * torch.rsqrt(variance + settings.get("eps", 1e-5))
    weight, bias = settings.get("weight"), settings.get("bias")
    outputs = outputs if weight is None else outputs * weight
    return outputs if bias is None else outputs + bias


_DERIVATIVES = (torch.autograd.grad, torch.autograd.backward, Tensor.backward)
# What to call instead of a function, and the names of its arguments in order.
_Table = dict[Callable[..., Any], tuple[Replacement, tuple[str, ...]]]
_LAYER_NORM = ("input", "normalized_shape", "weight", "bias", "eps")
_CORRECTIONS: _Table = {
    torch._weight_norm: (_normalise_weight, ("v", "g", "dim")),
    functional.layer_norm: (_normalise_elementarily, _LAYER_NORM),
}
_ACTIVATIONS = (functional.gelu, functional.silu, functional.mish)
_CONVOLUTIONS = (functional.conv1d, functional.conv2d, functional.conv3d)
_REPLACEMENTS: _Table = {
    **_CORRECTIONS,
    **dict.fromkeys(_ACTIVATIONS, (_activate, _ONE)),
    **dict.fromkeys((functional.relu, torch.relu, Tensor.relu), (_rectify, _ONE)),
    functional.softmax: (_soften, ("input", "dim")),
    **dict.fromkeys((torch.softmax, Tensor.softmax), (_soften, ("input", "dim", "dtype"))),
    functional.linear: (_map_linearly, ("input", "weight", "bias")),
    functional.layer_norm: (_normalise, _LAYER_NORM),
    functional.batch_norm: (_normalise_batch, _BATCH_NORM),
    **dict.fromkeys(_CONVOLUTIONS, (_convolve, _CONVOLUTION)),
}
