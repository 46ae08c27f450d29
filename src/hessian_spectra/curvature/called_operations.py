"""The operations that a model calls: named, some linearised, each with its part of a product."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_flatten, tree_unflatten

from hessian_spectra.curvature.function_modes import Arguments, Function, FunctionMode, Named
from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.second_derivatives import FastSecondDerivatives
from hessian_spectra.curvature.undisturbed import differentiable_attention
from hessian_spectra.validation import require

LINEAR, SOFTMAX, NORM = "linear map", "softmax", "normalisation"
PRODUCT, WEIGHTED = "product", "product by softmax"
# What torch's functions are called, by their name.
_NAMES = {
    **dict.fromkeys(("linear", "addmm", "bilinear", "conv1d", "conv2d", "conv3d"), LINEAR),
    **dict.fromkeys(("matmul", "bmm", "mm", "einsum", "__matmul__", "__rmatmul__"), PRODUCT),
    **dict.fromkeys(("layer_norm", "group_norm", "batch_norm", "rms_norm", "instance_norm"), NORM),
    "softmax": SOFTMAX,
}
# A softmax's values are still its values behind these.
_KEEP_VALUES = ("dropout", "type", "to", "float", "contiguous", "type_as")
# Patterns of modules' names, and what all that happens in such a module is called.
Modules = Mapping[str, str]


@dataclass
class Call:
    """One call of an operation: what it computes, and its part of the last product.

    Args:
        name: of the operation.
        function: from the tensors that vary.
        inputs: how many these are.
        linear: whether it is linearised.
        plain: whether torch's own second derivatives are used.
        part: of ``vᵀHv``.
    """

    name: str
    function: Function
    inputs: int
    linear: bool
    plain: bool
    part: float = 0.0


class Operations(FunctionMode):
    """While a model runs under it, its operations are named, and some are linearised.

    Args:
        model: the network.
        modules: patterns of its modules' names, and what all that happens in them is called.
        linear: names of the operations to linearise.
        plain: whether torch's own second derivatives are used.
    """

    def __init__(
        self,
        model: nn.Module,
        modules: Modules,
        linear: Collection[str] = (),
        *,
        plain: bool = False,
    ) -> None:
        super().__init__()
        self._model, self._modules = model, modules
        self._linear, self._plain = linear, plain
        # All calls that have a second derivative, in their order.
        self.calls: list[Call] = []
        # The names that the modules being run give: to all inside, and to what has no other.
        self._inside: list[tuple[str, str]] = []
        # The values of softmaxes by identity; what is kept alive has no other's identity.
        self._softmaxes: dict[int, Tensor] = {}
        # What was met with a second derivative; without it a function is asked again.
        self._curved: set[tuple[Function, str]] = set()

    @contextmanager
    def named(self) -> Iterator[None]:
        """Notice which modules run."""
        hooks = []
        for name, module in self._model.named_modules():
            given = next((to for at, to in self._modules.items() if fnmatchcase(name, at)), "")
            hooks.append(module.register_forward_pre_hook(self._entering(given)))
            hooks.append(module.register_forward_hook(self._left, always_call=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _entering(self, given: str) -> Callable[[nn.Module, Any], None]:
        def enter(module: nn.Module, _: Any) -> None:
            outer = self._inside[-1][0] if self._inside else ""
            whole = next(module.children(), None) is None
            self._inside.append((given or outer, type(module).__name__ if whole else ""))

        return enter

    def _left(self, *_: Any) -> None:
        self._inside.pop()

    def call(self, func: Function, args: Arguments, kwargs: Named) -> Any:
        """The result of an operation, or of its linearisation."""
        function = getattr(func, "__name__", "")
        if func in (torch.autograd.grad, torch.autograd.backward, Tensor.backward):
            raise OperatorError("the model or the loss takes derivatives itself, of operations")
        if func is functional.scaled_dot_product_attention:
            return self._attend(*args, **kwargs)
        values, structure = tree_flatten((args, kwargs))
        varying = [at for at, value in enumerate(values) if _varies(value)]
        name = self._name(function, [values[at] for at in varying])
        seen = bool(self._inside and varying) and not _is_left_alone(function, values, kwargs)

        fixed = [None if at in varying else value for at, value in enumerate(values)]

        def of(*points: Tensor) -> Any:
            moved = [*fixed]
            for at, point in zip(varying, points, strict=True):
                moved[at] = point
            positional, named = tree_unflatten(moved, structure)
            return func(*positional, **named)

        inputs = [values[at] for at in varying]
        if seen and (func, name) not in self._curved and _is_curved(of, inputs):
            self._curved.add((func, name))
        if seen and (func, name) in self._curved:
            call = Call(name, of, len(inputs), name in self._linear, self._plain)
            self.calls.append(call)
            result = _Value.apply(call, *inputs)
        else:
            result = func(*args, **kwargs)
        first = id(args[0]) in self._softmaxes if args else False
        if function == SOFTMAX or (first and function in _KEEP_VALUES):
            self._softmaxes[id(result)] = result
        return result

    def _name(self, function: str, inputs: list[Tensor]) -> str:
        """The name of an operation, by its function, inputs and module."""
        given, module = self._inside[-1] if self._inside else ("", "")
        name = _NAMES.get(function, "")
        if name == PRODUCT and any(_is_weight(value) for value in inputs):
            name = LINEAR
        elif name == PRODUCT and any(id(value) in self._softmaxes for value in inputs):
            name = WEIGHTED
        return given or name or module or function

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Torch's attention as the operations that it consists of."""
        mask = attn_mask if attn_mask is not None and attn_mask.dtype == torch.bool else None
        if enable_gqa or (mask is not None and not mask.any(-1).all()):
            settings = (attn_mask, dropout_p, is_causal)
            return functional.scaled_dot_product_attention(
                query, key, value, *settings, scale=scale, enable_gqa=enable_gqa
            )
        factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        scores: Tensor = self.call(torch.matmul, (query, key.mT), {}) * factor
        if is_causal:
            attn_mask = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        weights = self.call(functional.softmax, (scores, -1), {})
        if dropout_p:
            weights = self.call(functional.dropout, (weights, dropout_p), {})
        result: Tensor = self.call(torch.matmul, (weights, value), {})
        return result


class _Value(torch.autograd.Function):
    """The value of a call; its derivative is that of :class:`_Derivative`."""

    @staticmethod
    def forward(ctx: Any, call: Call, *points: Tensor) -> Any:
        """The value."""
        ctx.call = call
        ctx.save_for_backward(*points)
        return call.function(*points)

    @staticmethod
    def backward(ctx: Any, *weights: Tensor | None) -> tuple[Tensor | None, ...]:
        """The derivative ``Jᵀ w`` at the points."""
        given = (weight for weight in weights if weight is not None)
        return None, *_Derivative.apply(ctx.call, *ctx.saved_tensors, *given)


class _Derivative(torch.autograd.Function):
    """The derivative ``Jᵀ w`` of a call, which depends on where it is taken and on ``w``."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The derivative, for points and weights."""
        ctx.call = call
        ctx.save_for_backward(*tensors)
        return tuple(part.detach() for part in _pulled_back(call, tensors)[1])

    @staticmethod
    def backward(ctx: Any, *tangents: Tensor) -> tuple[Tensor | None, ...]:
        """The call's share of a product, of which ``D²(wᵀo)[x', x']`` is its part.

        That is ``J x'`` for the weights, and ``D²(wᵀo)[x', ·]`` for the points of what is not
        linearised.
        """
        call = ctx.call
        with FastSecondDerivatives(plain=call.plain):
            tensors, derivatives = _pulled_back(call, ctx.saved_tensors)
            varying = [at for at, part in enumerate(derivatives) if part.requires_grad]
            gradients = torch.autograd.grad(
                [derivatives[at] for at in varying],
                tensors,
                [tangents[at] for at in varying],
                allow_unused=True,
            )
        curved = gradients[: len(tangents)]
        met = [(part, x) for part, x in zip(curved, tangents, strict=True) if part is not None]
        call.part = math.fsum(float((part * x).sum()) for part, x in met)
        passed = (None for _ in curved) if call.linear else curved
        return None, *passed, *gradients[len(tangents) :]


def _pulled_back(call: Call, tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Points and weights that vary, and the derivative ``Jᵀ w`` of a call with its graph."""
    varying = [tensor.detach().requires_grad_() for tensor in tensors]
    points, weights = varying[: call.inputs], varying[call.inputs :]
    with torch.enable_grad(), differentiable_attention():
        derivatives = torch.autograd.grad(
            _values(call.function(*points)),
            points,
            weights,
            create_graph=True,
            materialize_grads=True,
        )
    return varying, [*derivatives]


def _varies(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_weight(value: Tensor) -> bool:
    """Whether it is a parameter, or a view of one, such as its transpose."""
    return isinstance(value if value._base is None else value._base, nn.Parameter)


def _is_left_alone(function: str, values: Sequence[Any], kwargs: Named) -> bool:
    """Whether a function is a loss, or does not do the same when it is called again elsewhere.

    That is so of what changes its input, draws random numbers, or is under autocast. Complex
    numbers and nested tensors are left alone as well.
    """
    in_place = function.startswith(("__i", "__set")) or (
        function.endswith("_") and not function.endswith("__")
    )
    loss = function.endswith("loss") or "cross_entropy" in function
    other = in_place or "dropout" in function
    tensors = [value for value in values if isinstance(value, Tensor)]
    return (
        loss
        or other
        or bool(kwargs.get("inplace"))
        or not torch.is_grad_enabled()
        or torch.is_autocast_enabled(tensors[0].device.type)
        or any(value.is_complex() or value.is_nested for value in tensors)
    )


def _values(result: Any) -> list[Tensor]:
    """The tensors of a result; none where it has another form, or parts that do not vary."""
    parts = [*result] if type(result) is tuple else [result]
    values = [part for part in parts if part is not None]
    return values if all(map(_varies, values)) else []


def _is_curved(function: Function, inputs: Sequence[Tensor]) -> bool:
    """Whether the derivative of a function depends on where it is taken."""
    # The modes around this one are about the model, not about this question.
    with torch.enable_grad(), torch._C.DisableTorchFunction():
        points = [value.detach().requires_grad_() for value in inputs]
        values = _values(function(*points))
        if not values:
            return False
        weights = [torch.ones_like(value) for value in values]
        derivatives = torch.autograd.grad(
            values, points, weights, create_graph=True, allow_unused=True
        )
    return any(part is not None and part.requires_grad for part in derivatives)


def require_modules(model: nn.Module, modules: Modules) -> None:
    """Refuse a pattern that fits no module.

    Raises:
        ValueError: there is one.
    """
    names = [name for name, _ in model.named_modules()]
    for pattern in modules:
        fits = any(fnmatchcase(name, pattern) for name in names)
        require(fits, "modules", f"patterns of {', '.join(filter(None, names))}", pattern)
