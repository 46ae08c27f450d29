"""A network and its loss, held at the values they had when an operator was built."""

import copy
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.curvature.batches import Batch, cast
from hessian_spectra.curvature.function_modes import Doubles, HeldPadding, Kept
from hessian_spectra.curvature.hooks import make_hooks_private
from hessian_spectra.curvature.interface import OperatorError
from hessian_spectra.curvature.rows import norm
from hessian_spectra.curvature.selection import named_parameters
from hessian_spectra.curvature.undisturbed import differentiable_attention, users_code
from hessian_spectra.validation import require

# Broadcasting outputs (n, 1) against targets (n,) gives these losses a wrong value, not an error.
_ELEMENTWISE = (nn.MSELoss, nn.BCEWithLogitsLoss)


@dataclass(frozen=True)
class Objective:
    """A network, and how the loss of a batch comes from it.

    Args:
        model: the network, without ``torch.compile`` around it.
        loss: a map from outputs and targets of a pair to a scalar, or ``None``.
        loss_fn: a map from the model and a batch to a scalar, with or without outputs, or ``None``.
        names: of the parameters that vary.
    """

    model: nn.Module
    loss: Callable[..., Any] | None
    loss_fn: Callable[..., Any] | None
    names: tuple[str, ...]


class FixedNetwork:
    """A private copy of network and loss: what is done to it, the user's own do not notice.

    Model and loss are copied together, so that a loss that holds the model's parameters (weight
    decay, say) holds those of the copy.

    Args:
        objective: network and loss.
        dtype: floating-point type to compute in; the parameters' own by default.

    Raises:
        ValueError: the model or the loss cannot be copied.
    """

    def __init__(self, objective: Objective, dtype: torch.dtype | None = None) -> None:
        self._objective = objective
        self._originals = {id(tensor) for tensor in objective.model.parameters()}
        self.model, self.loss, self.loss_fn = private_copies(objective)
        available = named_parameters(self.model)
        # Whether the graph of a loss was looked through.
        self._inspected = False
        self.dtype = dtype or available[objective.names[0]].dtype
        self._convert = self.dtype != available[objective.names[0]].dtype
        if self._convert:
            for module in (self.model, self.loss, self.loss_fn):
                if isinstance(module, nn.Module):
                    module.to(self.dtype)
            available = named_parameters(self.model)
        self.model.requires_grad_(False)
        self._padding = {
            id(module.weight): module.weight[module.padding_idx].clone()
            for module in self.model.modules()
            if isinstance(module, nn.Embedding) and module.padding_idx is not None
        }
        self.parameters = [available[name].requires_grad_() for name in objective.names]

    def forward(self, batch: Batch) -> tuple[Tensor, Any]:
        """The loss of one batch, and the outputs that it is a function of, where they are known.

        Raises:
            ValueError: outputs and targets of an elementwise loss differ in shape, or the loss is
                no scalar.
            OperatorError: the loss does not depend on the parameters, or reaches those of the
                user's own model.
        """
        if self._convert:
            batch = cast(batch, self.dtype)
        with users_code(self.parameters[0].device), self._exactly():
            if self.loss_fn is not None:
                loss, outputs = loss_and_outputs(self.loss_fn(self.model, batch))
            else:
                inputs, targets = batch
                outputs = self.model(inputs)
                loss = self._of_outputs(outputs, targets)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise ValueError(f"loss: expected a scalar tensor, got {_described(loss)}")
        if torch.is_grad_enabled() and not self._inspected:
            self._require_own_parameters(loss)
            self._inspected = True
        return loss.reshape(()), outputs

    @contextmanager
    def _exactly(self) -> Iterator[None]:
        """The settings under which the function that runs is the one that is meant."""
        with Kept(), differentiable_attention(), ExitStack() as stack:
            if "torch._dynamo" in sys.modules:
                # What is compiled inside has no second derivatives; the function behind it has.
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            if self.dtype == torch.float64:
                stack.enter_context(Doubles())
            if self._padding:
                stack.enter_context(HeldPadding(self._padding))
            yield

    def value(self, batch: Batch) -> tuple[Tensor, Any]:
        """The loss of one batch, and its outputs, without a graph.

        They are made with one, since a loss may contain derivatives, as a gradient penalty does.
        """
        with torch.enable_grad():
            loss, outputs = self.forward(batch)
        return loss.detach(), outputs.detach() if isinstance(outputs, Tensor) else outputs

    def _of_outputs(self, outputs: Any, targets: Any) -> Any:
        assert self.loss is not None
        if not isinstance(outputs, Tensor) and type(self.loss).__module__.startswith("torch.nn"):
            raise ValueError(
                f"model: expected outputs that are a tensor, got {type(outputs).__name__}; say how "
                "the loss comes from them with loss_fn=lambda model, batch: ..."
            )
        if isinstance(self.loss, _ELEMENTWISE) and outputs.shape != targets.shape:
            raise ValueError(
                f"{type(self.loss).__name__}: expected outputs and targets of one shape, "
                f"got {tuple(outputs.shape)} and {tuple(targets.shape)}"
            )
        return self.loss(outputs, targets)

    def _require_own_parameters(self, loss: Tensor) -> None:
        """Refuse a loss that is constant, or that a closure ties to the user's own parameters."""
        if torch.is_inference_mode_enabled():
            raise OperatorError(
                "torch.inference_mode is on around the call, and under it nothing has derivatives; "
                "expected the call outside of it"
            )
        if not loss.requires_grad:
            raise OperatorError(
                "the loss does not depend on the parameters, so that its Hessian is zero; likely "
                "causes: (a) torch.no_grad, detach or inference_mode in the model, (b) parameters "
                "that the model does not use"
            )
        for leaf in leaves(loss):
            if id(leaf) in self._originals:
                names = named_parameters(self._objective.model).items()
                name = next(name for name, result in names if result is leaf)
                raise OperatorError(
                    f"the loss reaches {name!r} of the model outside, through a closure, which "
                    "cannot be copied; let loss_fn(model, batch) use the model that it is given"
                )

    def length(self) -> float:
        """``‖θ‖``, 1 where it is zero."""
        return math.hypot(*(norm(part.detach().flatten()) for part in self.parameters)) or 1.0

    @contextmanager
    def moved(self, vector: Tensor, step: float) -> Iterator[None]:
        """While this is on, the parameters are θ + step · vector, ``vector`` of shape ``(p,)``."""
        before = [parameter.detach().clone() for parameter in self.parameters]
        pieces = split(vector, [parameter.shape for parameter in self.parameters])
        with torch.no_grad():
            for parameter, piece in zip(self.parameters, pieces, strict=True):
                parameter.add_(piece, alpha=step)
        try:
            yield
        finally:
            with torch.no_grad():
                for parameter, value in zip(self.parameters, before, strict=True):
                    parameter.copy_(value)


def require_network_and_loss(model: Any, loss: Any, loss_fn: Any) -> None:
    """Refuse what is no network, or not one loss.

    Raises:
        ValueError: the model is no module, a compiled script or changes its weights, there are both
            losses or none, or a loss cannot be called or is a class.
    """
    if _has_parameters(loss) and not _has_parameters(model):
        raise ValueError(
            f"model, loss: expected a network and a loss, got {_described(model)} without "
            f"parameters and {_described(loss)} with some; give them the other way round"
        )
    if not isinstance(model, nn.Module):
        raise ValueError(f"model: expected a torch.nn.Module, got {_described(model)}")
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise ValueError(
            "model: a scripted or traced module (torch.jit) cannot be differentiated twice here; "
            "give the module that it was made from"
        )
    for name, module in model.named_modules():
        if getattr(module, "max_norm", None) is not None:
            raise ValueError(
                f"model: {name!r} rescales its weight in each forward pass (max_norm), so that "
                "the loss is no function of it; expected max_norm=None"
            )
    if (loss is None) == (loss_fn is None):
        raise ValueError(
            "expected one of loss (of outputs and targets) and loss_fn (of model and batch), "
            f"got {'neither' if loss is None else 'both'}"
        )
    name, given = ("loss", loss) if loss_fn is None else ("loss_fn", loss_fn)
    if isinstance(given, type):
        raise ValueError(f"{name}: expected an instance, got the class; use {given.__name__}()")
    require(callable(given), name, "a function or a module", given)


def _has_parameters(value: Any) -> bool:
    return isinstance(value, nn.Module) and next(value.parameters(), None) is not None


def private_copies(objective: Objective) -> tuple[nn.Module, Any, Any]:
    """Copies of model, loss and loss function that share what these share."""
    copies: dict[int, Any] = {}
    try:
        for module in objective.model.modules():
            if hasattr(module, "_orig_mod"):
                # A compiled module has no second derivatives; the one inside is the same function.
                copies[id(module)] = copy.deepcopy(module._orig_mod, copies)
            for value in vars(module).values():
                # What a hook computes anew at each call, such as a normalised weight.
                if isinstance(value, Tensor) and not value.is_leaf:
                    copies[id(value)] = value.detach().clone()
        parts = (objective.model, objective.loss, objective.loss_fn)
        model, loss, loss_fn = copy.deepcopy(parts, copies)
    except (TypeError, RuntimeError, AttributeError, NotImplementedError) as error:
        raise ValueError(
            "model: expected a network and a loss that copy.deepcopy can copy, got "
            f"{type(error).__name__}: {str(error).splitlines()[0]}"
        ) from error
    for module in model.modules():
        make_hooks_private(module, copies)
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
            # Sparse gradients have no second derivative; dense ones are the same numbers.
            module.sparse = False
    return model, loss, loss_fn


def loss_and_outputs(result: Any) -> tuple[Any, Any]:
    """The loss and the outputs in a scalar, ``(loss, outputs)``, or an object that has both."""
    if isinstance(result, tuple) and len(result) == 2 and not hasattr(result, "loss"):
        return result
    if hasattr(result, "loss"):
        if result.loss is None:
            raise ValueError(
                "loss_fn: the model's output has no loss; a batch for it needs 'labels'"
            )
        return result.loss, getattr(result, "logits", None)
    return result, None


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"shape {tuple(value.shape)}"
    return type(value).__name__


def leaves(value: Tensor, behind: Tensor | None = None) -> Iterator[Tensor]:
    """The leaf tensors that a value's graph reaches, other than through the tensor ``behind``."""
    return (node.variable for node in operations([value], behind) if hasattr(node, "variable"))


def operations(values: Sequence[Tensor], behind: Tensor | None = None) -> Iterator[Any]:
    """The operations that values come from, other than through the tensor ``behind``."""
    waiting: list[Any] = [value.grad_fn for value in values]
    seen = {None, None if behind is None else behind.grad_fn}
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        waiting.extend(following for following, _ in node.next_functions)


def require_graph(derivatives: Sequence[Tensor]) -> None:
    """Refuse derivatives that say in their graph that they have none themselves.

    Torch raises when it passes there; asked for parameters that lie behind, it does not pass there,
    and what is missing would count as zero.

    Raises:
        OperatorError: such an operation is among those that they come from.
    """
    if any(node.name().endswith("::Error") for node in operations(derivatives)):
        raise OperatorError(
            "the model has an operation that cannot be differentiated twice: its backward pass is "
            "marked once_differentiable, or takes a derivative without create_graph=True"
        )


def first_derivatives(
    value: Tensor, variables: Sequence[Tensor], *, keep_graph: bool = False
) -> tuple[Tensor, ...]:
    """The derivatives of a scalar, zero where it does not depend on a variable.

    Raises:
        OperatorError: a checkpoint of the kind that gives none to ``torch.autograd.grad``.
    """
    if not value.requires_grad:
        return tuple(torch.zeros_like(variable) for variable in variables)
    grad = torch.autograd.grad
    try:
        return grad(value, variables, create_graph=keep_graph, materialize_grads=True)
    except RuntimeError as error:
        if "use_reentrant=True" not in str(error):
            raise
        raise OperatorError(
            "the model has a checkpoint with use_reentrant=True, which cannot be differentiated "
            "twice; expected torch.utils.checkpoint.checkpoint(..., use_reentrant=False)"
        ) from None


def weighted_derivatives(
    values: Sequence[Tensor], variables: Sequence[Tensor], weights: Sequence[Tensor], keep: bool
) -> Sequence[Tensor]:
    """The derivatives of weighted values, zero where there is no graph, which may be kept."""
    varying = [
        (value, weight)
        for value, weight in zip(values, weights, strict=True)
        if value.requires_grad
    ]
    if not varying:
        return [torch.zeros_like(variable) for variable in variables]
    outputs, chosen = zip(*varying, strict=True)
    return torch.autograd.grad(
        outputs, variables, chosen, retain_graph=keep, materialize_grads=True
    )


def flatten(pieces: Sequence[Tensor]) -> Tensor:
    """Tensors of the parameters' shapes as one vector ``(p,)``."""
    return torch.cat([piece.reshape(-1) for piece in pieces])


def split(vector: Tensor, shapes: Sequence[torch.Size]) -> list[Tensor]:
    """A vector as tensors of these shapes, one after the other."""
    pieces = vector.split([shape.numel() for shape in shapes])
    return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
