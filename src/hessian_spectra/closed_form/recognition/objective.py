"""A network of the user's with its loss and data: checked, copied, and differentiated twice."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form._losses import (
    KnownDerivatives,
    Loss,
    name_of,
    separable_derivatives,
)
from hessian_spectra.closed_form.assumptions import tolerance_of
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.validation import require_length

# Batches (inputs, targets), or one such pair.
Data = Iterable[Any]

_TYPES = (torch.float32, torch.float64)
# Losses of classes, which couple the outputs of a sample.
_OF_CLASSES = (nn.CrossEntropyLoss, nn.NLLLoss, nn.MultiMarginLoss)
# Second derivatives that differ by no more are one number, relative to it.
_EQUAL = 1e-12


class NotCoveredError(ValueError):
    """The theorems are about another loss, or about all parameters at once."""


class Objective:
    """The loss of a network over all its data, as a function of a private float64 copy.

    A loss whose second derivative at the outputs is one number has the Hessian of the squared error
    from other targets, ``f - l'/l''``; so has Huber's where all residuals are small. Of any other
    one ``derivatives`` has both, and the denominator is 2, that of a sum.

    Args:
        model: the network; it is copied.
        data: batches ``(inputs, targets)``, which are joined, or one pair of tensors.
        loss: a sum or a mean of losses of one output each.

    Raises:
        NotCoveredError: a loss that couples outputs or has not two derivatives, or frozen
            parameters.
        ValueError: data that does not fit, parameters on several devices, or numbers that are not
            finite or not floating-point.
    """

    def __init__(self, model: nn.Module, data: Data, loss: Loss) -> None:
        _require_loss(loss)
        first = _require_parameters(model)
        squared = _is_squared_error(loss)
        try:
            x, y, given = _joined(data)
            self.tolerance = tolerance_of(given == first.dtype == torch.float64)
            self.x, self.y = (part.to(first.device, torch.float64, copy=True) for part in (x, y))
            self.model = copy.deepcopy(model).double()
            self.outputs = self._outputs()
        except ValueError as error:
            # Targets that are classes, for one: another loss may have a use for them.
            if squared:
                raise
            raise NotCoveredError(str(error)) from None
        self.loss = copy.deepcopy(loss).double() if isinstance(loss, nn.Module) else loss
        self.targets = self.y
        self.derivatives: KnownDerivatives | None = None
        self.denominator = _denominator(loss, self.outputs) if squared else 2.0
        if squared:
            return
        first, second = self._derivatives()
        curvature = second.mean()
        if bool((second - curvature).abs().max() < _EQUAL * curvature):
            self.targets = self.outputs - first / curvature
            self.denominator = float(2 / curvature)
        else:
            self.derivatives = KnownDerivatives(first, second)

    def _derivatives(self) -> tuple[Tensor, Tensor]:
        """The loss's derivatives by each output, of which it must be a sum of functions."""
        name = name_of(self.loss)

        def total(outputs: Tensor) -> Tensor:
            try:
                value = self.loss(outputs, self.y)
            except (RuntimeError, TypeError, ValueError, IndexError) as error:
                reason = str(error).splitlines()[0]
                raise ValueError(f"loss: expected outputs that {name} takes ({reason})") from None
            if not isinstance(value, Tensor) or value.ndim > 0:
                got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise ValueError(f"loss: expected a scalar tensor, got {got} from {name}")
            return value

        try:
            return separable_derivatives(total, self.outputs, self.y, name)
        except ValueError as error:
            raise NotCoveredError(str(error)) from None

    def _outputs(self) -> Tensor:
        with torch.no_grad():
            try:
                outputs = self.model(self.x)
            except (RuntimeError, ValueError, IndexError) as error:
                raise ValueError(
                    f"data: expected inputs that the model takes, got shape {tuple(self.x.shape)} "
                    f"({error})"
                ) from None
        if outputs.shape != self.y.shape:
            raise ValueError(
                f"data: expected targets of the outputs' shape {tuple(outputs.shape)}, "
                f"got {tuple(self.y.shape)}"
            )
        return outputs

    @torch.enable_grad()
    def hessian_products(self, vectors: Sequence[Tensor]) -> list[Tensor]:
        """``H z`` for each ``z``, by differentiating the gradient."""
        parameters = list(self.model.parameters())
        value = self.loss(self.model(self.x), self.y)
        pieces = torch.autograd.grad(value, parameters, create_graph=True)
        gradient = torch.cat([piece.flatten() for piece in pieces])
        products = []
        for vector in vectors:
            pieces = torch.autograd.grad(
                gradient, parameters, vector, retain_graph=True, materialize_grads=True
            )
            products.append(torch.cat([piece.flatten() for piece in pieces]))
        return products


def _require_parameters(model: nn.Module) -> Tensor:
    """Refuse parameters that do not all vary, or of which no float64 copy can be had; the first."""
    parameters = dict(model.named_parameters())
    frozen = [name for name, parameter in parameters.items() if not parameter.requires_grad]
    if frozen:
        raise NotCoveredError(
            f"model: expected every parameter to vary, as in the theorems, got frozen ones "
            f"({', '.join(frozen)})"
        )
    devices = {str(parameter.device) for parameter in parameters.values()}
    if len(devices) > 1:
        raise ValueError(f"model: expected one device, got {sorted(devices)}")
    for name, parameter in parameters.items():
        if parameter.dtype not in _TYPES:
            raise ValueError(f"model: expected float32 or float64, got {name} of {parameter.dtype}")
        if not bool(torch.isfinite(parameter).all()):
            raise ValueError(f"model: expected finite numbers, got NaN or infinity in {name}")
    return next(iter(parameters.values()))


def _joined(data: Data) -> tuple[Tensor, Tensor, torch.dtype]:
    """All inputs and all targets, and the smaller of their types."""
    if not isinstance(data, Iterable):
        raise ValueError(
            "data: expected batches (inputs, targets) or one pair of tensors, got "
            f"{type(data).__name__}"
        )
    require_length("data", data)
    with torch.random.fork_rng(devices=[]):  # a loader draws a seed whenever it is iterated
        batches: list[Any] = [data] if _is_pair(data) else list(data)
    if not batches:
        raise ValueError("data: expected at least one batch (inputs, targets), got none")
    for number, batch in enumerate(batches):
        if not _is_pair(batch):
            raise ValueError(f"data, batch {number}: expected a pair of tensors (inputs, targets)")
        _require_batch(f"data, batch {number}", *batch)
    types = {part.dtype for batch in batches for part in batch}
    try:
        x, y = (
            torch.cat([part.detach() for part in parts]) for parts in zip(*batches, strict=True)
        )
    except (RuntimeError, TypeError):
        shapes = [tuple(tuple(part.shape) for part in batch) for batch in batches]
        raise ValueError(
            f"data: expected batches that can be joined to one, got shapes {shapes[:4]}"
        ) from None
    return x, y, torch.float32 if torch.float32 in types else torch.float64


def _is_pair(batch: object) -> bool:
    return (
        isinstance(batch, list | tuple)
        and len(batch) == 2
        and all(isinstance(part, Tensor) for part in batch)
    )


def _require_batch(where: str, x: Tensor, y: Tensor) -> None:
    if x.ndim == 0 or y.ndim == 0 or min(x.numel(), y.numel()) == 0:
        raise ValueError(
            f"{where}: expected at least one sample, got shapes {tuple(x.shape)} and "
            f"{tuple(y.shape)}"
        )
    for name, part in (("inputs", x), ("targets", y)):
        if part.dtype not in _TYPES:
            raise ValueError(f"{where}: expected {name} in float32 or float64, got {part.dtype}")
        if not bool(torch.isfinite(part).all()):
            raise ValueError(f"{where}: expected finite {name}, got NaN or infinity")


def _require_loss(loss: object) -> None:
    """Refuse what is no loss, and losses whose targets are classes."""
    if isinstance(loss, _OF_CLASSES):
        raise NotCoveredError(
            f"loss: expected a mean of losses of one output each, got {loss}, which couples outputs"
        )
    if not callable(loss):
        raise NotCoveredError(
            "loss: expected a module or a function of outputs and targets, got "
            f"{type(loss).__name__}"
        )


def _is_squared_error(loss: Loss) -> bool:
    known = (HalfSquaredError.forward, nn.MSELoss.forward)
    reduced = getattr(loss, "reduction", None) in ("mean", "sum")
    return reduced and getattr(type(loss), "forward", None) in known


def _denominator(loss: Loss, outputs: Tensor) -> float:
    """The ``N`` of the loss ``1/N Σ (f - y)²``."""
    if isinstance(loss, HalfSquaredError):
        return 2.0 * (len(outputs) if loss.per == "sample" else outputs.numel())
    return float(outputs.numel()) if getattr(loss, "reduction", "") == "mean" else 1.0
