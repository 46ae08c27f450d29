"""Layers as functions that can be differentiated twice in reverse, each time with little work.

All but the rectifier come as a pair: the layer, and its backward pass as a function of its own,
whose derivative is written out. No third derivative is there.
"""

# ruff: noqa: D102 -- forward and backward are what torch.autograd.Function asks each class for.

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional


class Activation(Function):
    """An elementwise function with known value and derivatives."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, value: Tensor, first: Tensor, second: Tensor) -> Tensor:
        ctx.save_for_backward(inputs, first, second)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, first, second = ctx.saved_tensors
        if torch.is_grad_enabled():
            result = _ActivationBackward.apply(gradient, inputs, first, second)
        else:
            # A product passes here a second time, with nothing left to differentiate.
            result = gradient * first
        return result, None, None, None


class _ActivationBackward(Function):
    """The gradient times the first derivative, as a function of gradient and input."""

    @staticmethod
    def forward(
        ctx: Any, gradient: Tensor, inputs: Tensor, first: Tensor, second: Tensor
    ) -> Tensor:
        ctx.save_for_backward(first, gradient * second)
        return gradient * first

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direction: Tensor) -> tuple[Tensor | None, ...]:
        first, curvature = ctx.saved_tensors
        needs_gradient, needs_inputs = ctx.needs_input_grad[:2]
        return (
            direction * first if needs_gradient else None,
            direction * curvature if needs_inputs else None,
            None,
            None,
        )


class Rectifier(Function):
    """max(x, 0), whose second derivative is zero rather than a tensor of zeros."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        outputs = torch.relu(inputs)
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (outputs,) = ctx.saved_tensors
        # Without the outputs' graph it is a linear function of the gradient.
        return torch.ops.aten.threshold_backward(gradient, outputs.detach(), 0)


class Bilinear(NamedTuple):
    """A map ``B(x, W)`` that is linear in its inputs and in its weight.

    Attributes:
        add: ``s + B(x, W)`` of s, x and W; s may be a bias or none, else it may be overwritten.
        pull_back: of g, x and W, the derivatives of ``⟨g, B(x, W)⟩`` with respect to x and W, as
            far as a mask asks for them.
    """

    add: Callable[[Tensor | None, Tensor, Tensor], Tensor]
    pull_back: Callable[..., tuple[Tensor | None, Tensor | None]]


def _add_product(start: Tensor | None, inputs: Tensor, weight: Tensor) -> Tensor:
    if start is None or start.ndim == 1:
        return functional.linear(inputs, weight, start)
    # The matrix products add up in place, where torch would add three results.
    return start.addmm_(inputs, weight.T)


def _pull_back_product(
    gradient: Tensor, inputs: Tensor, weight: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    return gradient @ weight if mask[0] else None, gradient.T @ inputs if mask[1] else None


# x Wᵀ for the rows of a matrix x.
ROWS = Bilinear(_add_product, _pull_back_product)


def convolution(stride: Any, padding: Any, dilation: Any, groups: int) -> Bilinear:
    """The convolution of this geometry, without bias."""
    rest = (stride, padding, dilation, False, [0] * len(stride), groups)

    def add(start: Tensor | None, inputs: Tensor, weight: Tensor) -> Tensor:
        image = torch.convolution(inputs, weight, None, *rest)
        return image if start is None else start + image

    def pull_back(
        gradient: Tensor, inputs: Tensor, weight: Tensor, mask: Sequence[bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        if not any(mask[:2]):
            return None, None
        to_inputs, to_weight, _ = torch.ops.aten.convolution_backward(
            gradient, inputs, weight, None, *rest, [*mask[:2], False]
        )
        return to_inputs if mask[0] else None, to_weight if mask[1] else None

    return Bilinear(add, pull_back)


class Product(Function):
    """``B(x, W) + b`` with a bilinear map; a bias is there for that of rows alone."""

    @staticmethod
    def forward(
        ctx: Any, bilinear: Bilinear, inputs: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        ctx.bilinear = bilinear
        ctx.save_for_backward(inputs, weight)
        return bilinear.add(bias, inputs, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        mask = tuple(ctx.needs_input_grad[1:])
        return None, *_ProductBackward.apply(ctx.bilinear, gradient, *ctx.saved_tensors, mask)


class _ProductBackward(Function):
    """The derivatives of a product, as functions of gradient, inputs and weight."""

    @staticmethod
    def forward(
        ctx: Any, bilinear: Bilinear, gradient: Tensor, inputs: Tensor, weight: Tensor, mask: Any
    ) -> tuple[Tensor | None, ...]:
        ctx.bilinear = bilinear
        ctx.save_for_backward(gradient, inputs, weight)
        ctx.set_materialize_grads(False)
        to_bias = gradient.sum(dim=0) if mask[2] else None
        return *bilinear.pull_back(gradient, inputs, weight, mask), to_bias

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, to_inputs: Tensor | None, to_weight: Tensor | None, to_bias: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        gradient, inputs, weight = ctx.saved_tensors
        (add, pull_back), along = ctx.bilinear, to_bias
        _, needs_gradient, needs_inputs, needs_weight, _ = ctx.needs_input_grad
        along_inputs = along_weight = None
        if needs_gradient and to_weight is not None:
            along = add(along, inputs, to_weight)
        if needs_gradient and to_inputs is not None:
            along = add(along, to_inputs, weight)
        if needs_inputs and to_weight is not None:
            along_inputs, _ = pull_back(gradient, inputs, to_weight, (True, False))
        if needs_weight and to_inputs is not None:
            _, along_weight = pull_back(gradient, to_inputs, weight, (False, True))
        # The bias alone is as long as a row.
        along_gradient = along.expand_as(gradient) if needs_gradient and along is not None else None
        return None, along_gradient, along_inputs, along_weight, None


class Softmax(Function):
    """``y = softmax(x)`` along one axis."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, axis: int) -> Tensor:
        outputs = torch.softmax(inputs, axis)
        ctx.axis = axis
        ctx.save_for_backward(inputs, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        inputs, outputs = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _SoftmaxBackward.apply(gradient, inputs, outputs.detach(), ctx.axis), None
        return torch._softmax_backward_data(gradient, outputs, ctx.axis, outputs.dtype), None


class _SoftmaxBackward(Function):
    """``u = y ∘ (g − Σ g y)``, with ``y`` taken as a function of x in its derivative."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, inputs: Tensor, outputs: Tensor, axis: int) -> Tensor:
        ctx.axis = axis
        result = outputs * (gradient - (gradient * outputs).sum(axis, keepdim=True))
        ctx.save_for_backward(outputs, result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, direction: Tensor) -> tuple[Tensor | None, ...]:
        outputs, result = ctx.saved_tensors
        centred = direction - (direction * outputs).sum(ctx.axis, keepdim=True)
        total = (direction * result).sum(ctx.axis, keepdim=True)
        along_inputs = (result * centred).addcmul_(outputs, total, value=-1)
        return outputs * centred, along_inputs, None, None


class LayerNorm(Function):
    """``x̂ ∘ w + b`` with ``x̂`` the last axis of x, centred and scaled to unit variance."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
        outputs, mean, scale = torch.native_layer_norm(
            inputs, (inputs.shape[-1],), weight, bias, epsilon
        )
        ctx.save_for_backward(inputs, weight, bias, mean, scale)
        return outputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, bias, mean, scale = ctx.saved_tensors
        if torch.is_grad_enabled():
            return *_LayerNormBackward.apply(gradient, inputs, weight, mean, scale), None
        mask = list(ctx.needs_input_grad[:3])
        results = torch.ops.aten.native_layer_norm_backward(
            gradient, inputs, (inputs.shape[-1],), mean, scale, weight, bias, mask
        )
        wanted = (part if needed else None for part, needed in zip(results, mask, strict=True))
        return *wanted, None


class _LayerNormBackward(Function):
    """``P (g ∘ w)``, ``Σ g ∘ x̂`` and ``Σ g`` with ``P h = r (h − ⟨h⟩ − x̂ ⟨h x̂⟩)``, ``r = 1/σ``.

    ``⟨ ⟩`` is the mean over the last axis. ``P`` is symmetric, ``dx̂ = P dx`` and
    ``dr = −r² ⟨x̂ dx⟩``.
    """

    @staticmethod
    def forward(
        ctx: Any, gradient: Tensor, inputs: Tensor, weight: Tensor, mean: Tensor, scale: Tensor
    ) -> tuple[Tensor, ...]:
        normal = (inputs - mean) * scale
        weighted = gradient * weight
        along = (weighted * normal).mean(-1, keepdim=True)
        projected = (weighted - weighted.mean(-1, keepdim=True) - normal * along) * scale
        ctx.save_for_backward(
            gradient, weight, normal, scale, weighted * scale, along * scale, projected * scale
        )
        return projected, _over_rows(gradient * normal), _over_rows(gradient)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, direction: Tensor, to_weight: Tensor, to_bias: Tensor
    ) -> tuple[Tensor | None, ...]:
        gradient, weight, normal, scale, weighted, along, projected = ctx.saved_tensors
        share = (direction * normal).mean(-1, keepdim=True)
        moved = direction - direction.mean(-1, keepdim=True)
        moved = moved.addcmul_(normal, share, value=-1).mul_(scale)  # P V
        along_gradient = torch.addcmul(to_bias, normal, to_weight).addcmul_(moved, weight)
        # Through x̂: P (g ∘ p − r (V ⟨h x̂⟩ + h ⟨V x̂⟩)); through r: −r ⟨V P h⟩ x̂.
        change = (gradient * to_weight).addcmul_(direction, along, value=-1)
        change = change.addcmul_(weighted, share, value=-1)
        through = (change * normal).mean(-1, keepdim=True)
        change = change.sub_(change.mean(-1, keepdim=True)).addcmul_(normal, through, value=-1)
        stretch = (direction * projected).mean(-1, keepdim=True)
        along_inputs = change.mul_(scale).addcmul_(normal, stretch, value=-1)
        return along_gradient, along_inputs, _over_rows(gradient * moved), None, None


def _over_rows(values: Tensor) -> Tensor:
    return values.reshape(-1, values.shape[-1]).sum(dim=0)
