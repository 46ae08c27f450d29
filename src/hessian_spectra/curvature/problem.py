"""What a curvature matrix belongs to: a network, a loss, data, and the parameters that vary."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from hessian_spectra.curvature.weighting import denominator

# Inputs and targets; a loader gives a list of the two.
Batch = Sequence[Tensor]


class Problem:
    """The loss ``L(θ) = Σ_b c_b L_b(θ) / Σ_b c_b`` over a data set in batches, as a function of θ.

    ``L_b`` is the loss of batch ``b`` and ``c_b`` the number that its mean divides by (samples,
    elements or counted targets), so that ``L`` is the loss over all data however the batches are
    cut. For a loss with ``reduction="sum"`` it is ``Σ_b L_b``. θ is the vector ``(p,)`` of the
    chosen parameters, each flattened row by row, one after the other.

    Args:
        model: the network, a map from a batch of inputs to outputs.
        loss: ``nn.MSELoss``, ``nn.CrossEntropyLoss``, ``nn.BCEWithLogitsLoss``, ``nn.NLLLoss``,
            ``HalfSquaredError``, or another module from outputs and targets to a scalar with a
            ``reduction`` of ``"mean"`` or ``"sum"`` (another mean needs batches of one shape).
            Class scores stand in axis 1, as torch has it: ``(n, C)`` or ``(n, C, length)``.
        data: a list of ``(inputs, targets)`` batches, or a loader that gives the same batches each
            time it is iterated.
        parameters: names of the parameters that vary, in the order wanted; by default all of
            ``model.named_parameters()`` that require a gradient.

    Raises:
        ValueError: no batch, an empty one, inputs and targets of different lengths, numbers that
            are not finite, mixed types or devices, no such parameter, a frozen one, an iterator
            that can be read only once, or a batch norm in training mode with several batches.

    Example:
        >>> model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
        >>> x = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
        >>> problem = Problem(model, nn.MSELoss(), [(x[:1], x[:1]), (x[1:], x[1:])])
        >>> problem.size, [weight for _, _, weight in problem.batches()]
        (1, [0.3333333333333333, 0.6666666666666666])
    """

    def __init__(
        self,
        model: nn.Module,
        loss: nn.Module,
        data: Iterable[Batch],
        parameters: Sequence[str] | None = None,
    ) -> None:
        self.model = model
        self.loss = loss
        self.data = data
        self.names = _names(model, parameters)
        chosen = dict(model.named_parameters())
        self.shapes = tuple(chosen[name].shape for name in self.names)
        self.size = sum(shape.numel() for shape in self.shapes)
        first = chosen[self.names[0]]
        self.dtype, self.device = first.dtype, first.device
        for name in self.names:
            _require_parameter(name, chosen[name], self.dtype, self.device)
        self._total, self.batch_count = self._survey()
        layers = [
            name or type(module).__name__
            for name, module in model.named_modules()
            if isinstance(module, _BatchNorm) and module.training
        ]
        if layers and self.batch_count > 1:
            raise ValueError(
                f"model: batch norm in training mode ({', '.join(layers)}) makes each batch "
                f"another function, so {self.batch_count} have no common loss; call model.eval() "
                "or give the data as one batch"
            )

    def _survey(self) -> tuple[float, int]:
        """One pass over the data: checks each batch, counts what the loss divides by."""
        if iter(self.data) is self.data:
            raise ValueError(
                "data: expected a list of batches or a loader that can be iterated again, "
                f"got {type(self.data).__name__}; use list(data)"
            )
        total, shapes, known = 0.0, [], True
        for number, batch in enumerate(self.data):
            _require_batch(number, batch, self.dtype, self.device)
            count = denominator(self.loss, batch[1])
            known = known and count is not None
            total += 1.0 if count is None else count
            shapes.append(tuple(batch[1].shape))
        if not shapes:
            raise ValueError("data: expected at least one batch (inputs, targets), got none")
        if self.loss.reduction == "mean" and not known and len(set(shapes)) > 1:
            raise ValueError(
                f"loss: how {type(self.loss).__name__} takes its mean over unequal batches is not "
                f"known; give batches of one shape or reduction='sum', got shapes {shapes}"
            )
        if not total > 0:
            raise ValueError(f"data: the loss counts no target, its mean divides by {total}")
        return total, len(shapes)

    def batches(self) -> Iterator[tuple[Tensor, Tensor, float]]:
        """The batches as ``(inputs, targets, weight)``: the loss is the weighted sum over them."""
        for inputs, targets in self.data:
            count = denominator(self.loss, targets)
            share = (1.0 if count is None else count) / self._total
            yield inputs, targets, 1.0 if self.loss.reduction == "sum" else share

    def split(self, vector: Tensor) -> list[Tensor]:
        """A vector ``(p,)`` as tensors of the parameters' shapes."""
        pieces = vector.split([shape.numel() for shape in self.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]


def _names(model: nn.Module, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the parameters that vary."""
    available = dict(model.named_parameters())
    trainable = [name for name, parameter in available.items() if parameter.requires_grad]
    names = tuple(trainable if wanted is None else wanted)
    if not names:
        raise ValueError("parameters: expected at least one that requires a gradient, got none")
    for name in names:
        if name not in available:
            raise ValueError(f"parameters: there is no {name!r}; available are {sorted(available)}")
        if name not in trainable:
            raise ValueError(f"parameters: {name!r} is frozen (requires_grad is False)")
    if len(set(names)) != len(names):
        raise ValueError(f"parameters: expected each name once, got {list(names)}")
    return names


def _require_parameter(
    name: str, parameter: Tensor, dtype: torch.dtype, device: torch.device
) -> None:
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"parameters: expected float32 or float64, got {name!r} of {dtype}")
    if parameter.dtype != dtype or parameter.device != device:
        raise ValueError(
            f"parameters: expected one dtype and device, got {dtype} on {device} and "
            f"{name!r} of {parameter.dtype} on {parameter.device}"
        )
    if not torch.isfinite(parameter).all():
        raise ValueError(f"parameters: expected finite numbers, got NaN or infinity in {name!r}")


def _require_batch(number: int, batch: Batch, dtype: torch.dtype, device: torch.device) -> None:
    where = f"data, batch {number}"
    if len(batch) != 2 or not all(isinstance(part, Tensor) for part in batch):
        raise ValueError(f"{where}: expected a pair of tensors (inputs, targets)")
    inputs, targets = batch
    if inputs.ndim == 0 or targets.ndim == 0 or len(inputs) == 0 or len(inputs) != len(targets):
        raise ValueError(
            f"{where}: expected as many targets as inputs and at least one, "
            f"got shapes {tuple(inputs.shape)} and {tuple(targets.shape)}"
        )
    for part, tensor in (("inputs", inputs), ("targets", targets)):
        if tensor.device != device:
            raise ValueError(
                f"{where}: expected {part} on the parameters' device {device}, got {tensor.device}"
            )
        if tensor.is_floating_point():
            if tensor.dtype != dtype:
                raise ValueError(
                    f"{where}: expected {part} of the parameters' type {dtype}, got {tensor.dtype}"
                )
            if not torch.isfinite(tensor).all():
                raise ValueError(f"{where}: expected finite {part}, got NaN or infinity")
