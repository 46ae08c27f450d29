"""Norms as functions that can be differentiated twice in reverse, each time with little work.

Each comes as a pair, as the layers of ``layers.py`` do.
"""

# ruff: noqa: D102 -- forward and backward are what torch.autograd.Function asks each class for.

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


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
        return *_wanted(results, mask), None


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


class Fixed(NamedTuple):
    """The statistics of a batch norm that do not depend on the batch, and its ε."""

    mean: Tensor
    variance: Tensor
    epsilon: float


class BatchNorm(Function):
    """``x̂ ∘ w + b`` with ``x̂ = (x − m) ∘ r`` and ``r = (v + ε)^(-1/2)`` for fixed m and v.

    Each channel (axis 1) has its own.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, fixed: Fixed) -> Tensor:
        ctx.fixed = fixed
        ctx.save_for_backward(inputs, weight)
        return _scaled(inputs, weight, bias, fixed)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        if torch.is_grad_enabled():
            return *_BatchNormBackward.apply(gradient, inputs, weight, ctx.fixed), None
        mask = list(ctx.needs_input_grad[:3])
        return *_batch_norm_backward(gradient, inputs, weight, ctx.fixed, mask), None


class _BatchNormBackward(Function):
    """``g ∘ w ∘ r``, ``Σ g ∘ x̂`` and ``Σ g``, as functions of gradient, input and weight."""

    @staticmethod
    def forward(
        ctx: Any, gradient: Tensor, inputs: Tensor, weight: Tensor, fixed: Fixed
    ) -> tuple[Tensor | None, ...]:
        ctx.fixed = fixed
        ctx.save_for_backward(gradient, inputs, weight)
        return _batch_norm_backward(gradient, inputs, weight, fixed, [True, True, True])

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, direction: Tensor, to_weight: Tensor, to_bias: Tensor
    ) -> tuple[Tensor | None, ...]:
        gradient, inputs, weight = ctx.saved_tensors
        scale = (ctx.fixed.variance + ctx.fixed.epsilon).rsqrt()
        axes = [axis for axis in range(gradient.ndim) if axis != 1]
        wide = (-1, *(1,) * (gradient.ndim - 2))
        along_gradient = _scaled(inputs, to_weight, to_bias, ctx.fixed)
        along_gradient.addcmul_(direction, (weight * scale).view(wide))
        along_inputs = gradient * (to_weight * scale).view(wide)
        along_weight = (direction * gradient).sum(axes) * scale
        return along_gradient, along_inputs, along_weight, None


def _scaled(inputs: Tensor, weight: Tensor, bias: Tensor, fixed: Fixed) -> Tensor:
    mean, variance, epsilon = fixed
    return torch.native_batch_norm(inputs, weight, bias, mean, variance, False, 0.0, epsilon)[0]


def _batch_norm_backward(
    gradient: Tensor, inputs: Tensor, weight: Tensor, fixed: Fixed, mask: list[bool]
) -> tuple[Tensor | None, ...]:
    """The derivatives with respect to inputs, weight and bias, as far as ``mask`` asks for them."""
    mean, variance, epsilon = fixed
    results = torch.ops.aten.native_batch_norm_backward(
        gradient, inputs, weight, mean, variance, None, None, False, epsilon, mask
    )
    return _wanted(results, mask)


def _wanted(results: Sequence[Any], mask: Sequence[bool]) -> tuple[Tensor | None, ...]:
    return tuple(part if wanted else None for part, wanted in zip(results, mask, strict=True))
