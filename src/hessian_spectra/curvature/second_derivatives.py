"""Operations whose second derivative torch computes slowly, with a faster one."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.overrides import TorchFunctionMode

# What the operations of this module call their arguments, in order. (An activation or a rectifier
# has only the first; its others come by name.)
_NAMES = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_GEOMETRY = (("stride", 1), ("padding", 0), ("dilation", 1))


class FastSecondDerivatives(TorchFunctionMode):
    """While this is on, common layers differentiate twice at less cost, with torch's values.

    A smooth activation keeps its first and second derivative, so that each later product is one
    multiplication instead of a new evaluation. A rectifier's second derivative is nothing rather
    than a tensor of zeros that all that follows would carry along. A linear layer adds up within
    the matrix products. A convolution's second derivative uses the kernels of the first, where
    torch falls back to a slow general one. Gradients can then be differentiated once more, in
    reverse, and no further.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Replace the operations of this module, leave all others alone."""
        settings = dict(kwargs or {})
        replace = _REPLACEMENTS.get(func) if torch.is_grad_enabled() else None
        if replace is not None and len(args) <= len(_NAMES):
            replaced = replace(func, {**dict(zip(_NAMES, args, strict=False)), **settings})
            if replaced is not None:
                return replaced
        return func(*args, **settings)


def _activate(func: Callable[..., Tensor], settings: dict[str, Any]) -> Tensor | None:
    inputs = settings.pop("input")
    if not inputs.requires_grad or settings.get("inplace", False) or "weight" in settings:
        return None
    point = inputs.detach().requires_grad_()
    value = func(point, **settings)
    (first,) = torch.autograd.grad(value.sum(), point, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), point)
    return _Activation.apply(inputs, value.detach(), first.detach(), second)


def _rectify(func: Callable[..., Tensor], settings: dict[str, Any]) -> Tensor | None:
    if not settings["input"].requires_grad or settings.get("inplace", False):
        return None
    return _Rectifier.apply(settings["input"])


def _map_linearly(func: Callable[..., Tensor], settings: dict[str, Any]) -> Tensor | None:
    inputs, weight = settings["input"], settings["weight"]
    if inputs.ndim < 2 or weight.ndim != 2:
        return None
    rows = inputs.reshape(-1, inputs.shape[-1])
    return _Linear.apply(rows, weight, settings.get("bias")).view(*inputs.shape[:-1], -1)


def _convolve(func: Callable[..., Tensor], settings: dict[str, Any]) -> Tensor | None:
    inputs, weight = settings["input"], settings["weight"]
    dimensions = weight.ndim - 2
    geometry = [settings.get(name, default) for name, default in _GEOMETRY]
    # Padding may be a word, and an image may come without a batch axis; torch knows what to do.
    if isinstance(geometry[1], str) or inputs.ndim != weight.ndim:
        return None
    numbers = [
        [value] * dimensions if isinstance(value, int) else list(value) * (dimensions // len(value))
        for value in geometry
    ]
    outputs = _Convolution.apply(inputs, weight, *numbers, settings.get("groups", 1))
    bias = settings.get("bias")
    return outputs if bias is None else outputs + bias.view(-1, *(1,) * dimensions)


_REPLACEMENTS: dict[Callable[..., Any], Callable[..., Tensor | None]] = {
    functional.gelu: _activate,
    functional.silu: _activate,
    functional.mish: _activate,
    functional.relu: _rectify,
    torch.relu: _rectify,
    Tensor.relu: _rectify,
    functional.linear: _map_linearly,
    functional.conv1d: _convolve,
    functional.conv2d: _convolve,
    functional.conv3d: _convolve,
}


class _Activation(Function):
    """An elementwise function with known value and derivatives."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, value: Tensor, first: Tensor, second: Tensor) -> Tensor:
        ctx.save_for_backward(inputs, first, second)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, first, second = ctx.saved_tensors
        return _ActivationBackward.apply(gradient, inputs, first, second), None, None, None


class _ActivationBackward(Function):
    """The gradient times the first derivative, as a function of gradient and input."""

    @staticmethod
    def forward(
        ctx: Any, gradient: Tensor, inputs: Tensor, first: Tensor, second: Tensor
    ) -> Tensor:
        ctx.save_for_backward(gradient, first, second)
        return gradient * first

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direction: Tensor) -> tuple[Tensor | None, ...]:
        gradient, first, second = ctx.saved_tensors
        needs_gradient, needs_inputs = ctx.needs_input_grad[:2]
        return (
            direction * first if needs_gradient else None,
            direction * gradient * second if needs_inputs else None,
            None,
            None,
        )


class _Rectifier(Function):
    """max(x, 0), whose second derivative is zero rather than a tensor of zeros."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        outputs = torch.relu(inputs)
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (outputs,) = ctx.saved_tensors
        return _RectifierBackward.apply(gradient, outputs.detach())


class _RectifierBackward(Function):
    """The gradient where the output is positive: a linear function of the gradient."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, outputs: Tensor) -> Tensor:
        ctx.save_for_backward(outputs)
        return torch.ops.aten.threshold_backward(gradient, outputs, 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direction: Tensor) -> tuple[Tensor, None]:
        (outputs,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(direction, outputs, 0), None


class _Linear(Function):
    """x Wᵀ + b for the rows of a matrix x."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return functional.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        return _LinearBackward.apply(gradient, inputs, weight, tuple(ctx.needs_input_grad))


class _LinearBackward(Function):
    """The derivatives of a linear layer, as functions of gradient, inputs and weight."""

    @staticmethod
    def forward(
        ctx: Any, gradient: Tensor, inputs: Tensor, weight: Tensor, mask: Any
    ) -> tuple[Tensor | None, ...]:
        ctx.save_for_backward(gradient, inputs, weight)
        ctx.set_materialize_grads(False)
        return (
            gradient @ weight if mask[0] else None,
            gradient.T @ inputs if mask[1] else None,
            gradient.sum(dim=0) if mask[2] else None,
        )

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, to_inputs: Tensor | None, to_weight: Tensor | None, to_bias: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        gradient, inputs, weight = ctx.saved_tensors
        along_gradient = along_inputs = along_weight = None
        if ctx.needs_input_grad[0]:
            # The matrix products add up in place, where torch would add three results.
            if to_weight is not None:
                along_gradient = functional.linear(inputs, to_weight, to_bias)
            elif to_bias is not None:
                along_gradient = to_bias.expand_as(gradient).contiguous()
            if to_inputs is not None and along_gradient is not None:
                along_gradient.addmm_(to_inputs, weight.T)
            elif to_inputs is not None:
                along_gradient = to_inputs @ weight.T
        if ctx.needs_input_grad[1] and to_weight is not None:
            along_inputs = gradient @ to_weight
        if ctx.needs_input_grad[2] and to_inputs is not None:
            along_weight = gradient.T @ to_inputs
        return along_gradient, along_inputs, along_weight, None


def _forward(inputs: Tensor, weight: Tensor, geometry: tuple[Any, ...]) -> Tensor:
    stride, padding, dilation, groups = geometry
    return torch.convolution(
        inputs, weight, None, stride, padding, dilation, False, [0] * len(stride), groups
    )


def _backward(
    gradient: Tensor, inputs: Tensor, weight: Tensor, geometry: tuple[Any, ...], mask: list[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The derivatives with respect to inputs and weight, as far as ``mask`` asks for them."""
    stride, padding, dilation, groups = geometry
    if not any(mask):
        return None, None
    to_inputs, to_weight, _ = torch.ops.aten.convolution_backward(
        gradient, inputs, weight, None, stride, padding, dilation, False,
        [0] * len(stride), groups, [*mask, False],
    )  # fmt: skip
    return to_inputs if mask[0] else None, to_weight if mask[1] else None


class _Convolution(Function):
    """A convolution without bias."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, *geometry: Any) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.geometry = geometry
        return _forward(inputs, weight, geometry)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        mask = tuple(ctx.needs_input_grad[:2])
        pair = _ConvolutionBackward.apply(gradient, inputs, weight, mask, *ctx.geometry)
        return *pair, None, None, None, None


class _ConvolutionBackward(Function):
    """The derivatives of a convolution, as functions of gradient, inputs and weight."""

    @staticmethod
    def forward(
        ctx: Any, gradient: Tensor, inputs: Tensor, weight: Tensor, mask: Any, *geometry: Any
    ) -> tuple[Tensor | None, Tensor | None]:
        ctx.save_for_backward(gradient, inputs, weight)
        ctx.geometry = geometry
        ctx.set_materialize_grads(False)
        return _backward(gradient, inputs, weight, geometry, list(mask))

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, to_inputs: Tensor | None, to_weight: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        gradient, inputs, weight = ctx.saved_tensors
        geometry = ctx.geometry
        needs_gradient, needs_inputs, needs_weight = ctx.needs_input_grad[:3]
        along_gradient = along_inputs = along_weight = None
        if needs_gradient:
            if to_inputs is not None:
                along_gradient = _forward(to_inputs, weight, geometry)
            if to_weight is not None:
                change = _forward(inputs, to_weight, geometry)
                along_gradient = change if along_gradient is None else along_gradient + change
        if needs_inputs and to_weight is not None:
            along_inputs, _ = _backward(gradient, inputs, to_weight, geometry, [True, False])
        if needs_weight and to_inputs is not None:
            _, along_weight = _backward(gradient, to_inputs, weight, geometry, [False, True])
        return along_gradient, along_inputs, along_weight, None, *(None,) * len(geometry)
