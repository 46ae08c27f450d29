"""The weight of each batch in the loss over the whole data set."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from hessian_spectra.curvature.batches import Batch, joined, part, rows
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.validation import require

# A number for each batch, or a function of it, or the word that batch losses are added up.
Weights = Callable[[Batch], Any] | Sequence[float | int] | str


@dataclass(frozen=True)
class Weighting:
    """The loss over all data is ``Σ_b c_b L_b / Σ_b c_b``, or ``Σ_b L_b`` where it is a sum.

    Args:
        count: ``c_b`` of a batch: what its mean divides by.
        summed: whether the losses of batches are added up instead.
        targets: how much each of a sample's T targets counts, ``(n, T)``, where the loss says it.
    """

    count: Callable[[Batch], float]
    summed: bool = False
    targets: Callable[[Tensor], Tensor] | None = None

    def counts(self, batch: Batch, samples: int) -> Tensor:
        """``(n, T)`` how much each target counts; T is 1 where only that of samples is known."""
        if self.targets is not None:
            return self.targets(batch[1])
        each = [self.count(part(batch, at, at + 1)) for at in range(samples)]
        return torch.tensor(each, dtype=torch.float64)[:, None]


def _class_weight_total(loss: nn.CrossEntropyLoss | nn.NLLLoss, targets: Tensor) -> float:
    """The divisor of the mean of a classification loss."""
    if targets.is_floating_point():
        # Class probabilities (n, C, ...): torch divides by the number of positions in any case.
        return targets.numel() / targets.shape[1] if targets.ndim > 1 else 1.0
    return float(_target_counts(loss, targets).sum())


def _samples_or_elements(loss: HalfSquaredError, targets: Tensor) -> float:
    return float(len(targets) if loss.per == "sample" else targets.numel())


def _elements(loss: nn.Module | None, targets: Tensor | None) -> float:
    return 0.0 if targets is None else float(targets.numel())


_DENOMINATORS: dict[type[nn.Module], Callable[..., float]] = {
    HalfSquaredError: _samples_or_elements,
    nn.MSELoss: _elements,
    nn.BCEWithLogitsLoss: _elements,
    nn.CrossEntropyLoss: _class_weight_total,
    nn.NLLLoss: _class_weight_total,
}


def _target_counts(loss: Any, targets: Tensor) -> Tensor:
    """Classes that are ignored count nothing, others as much as their class does."""
    if not isinstance(loss, nn.CrossEntropyLoss | nn.NLLLoss) or targets.is_floating_point():
        return targets.new_ones(len(targets), 1, dtype=torch.float64)
    counted = targets != loss.ignore_index
    counts = counted.double()
    if loss.weight is not None:
        counts = counts * loss.weight.to(targets.device)[targets.where(counted, 0)]
    return counts.reshape(len(targets), -1)


_ADDED_UP = Weighting(lambda batch: 1.0, summed=True)


def _known_mean(loss: Any) -> Callable[[Tensor], float] | None:
    """The divisor of the mean of a loss, as a function of the targets.

    ``None`` for a loss of another class, or of a subclass with a ``forward`` of its own.
    """
    for kind, count in _DENOMINATORS.items():
        if isinstance(loss, kind) and type(loss).forward is kind.forward:
            return partial(count, loss)
    return None


def known_weighting(loss: Any, weights: Weights | None) -> Weighting | None:
    """The weighting of batches that the loss itself or the user says; ``None`` if they say none.

    Raises:
        ValueError: ``weights`` is another word than ``"sum"``, or the loss gives no scalar.

    Example:
        >>> import torch
        >>> known_weighting(nn.MSELoss(), None).count((None, torch.zeros(3, 2)))
        6.0
        >>> known_weighting(nn.CrossEntropyLoss(), None).count((None, torch.tensor([0, 1, -100])))
        2.0
    """
    reduction = getattr(loss, "reduction", None)
    if reduction == "none":
        raise ValueError("loss: expected reduction 'mean' or 'sum', got 'none'")
    if isinstance(weights, str):
        require(weights == "sum", "weights", "'sum', numbers or a function", weights)
        return _ADDED_UP
    if callable(weights):
        function = weights
        return Weighting(lambda batch: float(function(batch)))
    over = _known_mean(loss)
    if over is None:
        return None
    targets = partial(_target_counts, loss)
    if reduction == "sum":
        return replace(_ADDED_UP, targets=targets)
    return Weighting(lambda batch: over(batch[1]), targets=targets)


def fixed_counts(weights: Weights | None) -> tuple[float, ...]:
    """The weights of batches where they are given as numbers, else none."""
    if not isinstance(weights, Sequence) or isinstance(weights, str):
        return ()
    numbers = tuple(float(weight) for weight in weights)
    good = all(0 <= number < float("inf") for number in numbers)
    require(good, "weights", "finite numbers of at least 0", list(weights))
    return numbers


def _labels(batch: Batch) -> Tensor | None:
    """The targets of a pair, or what a mapping calls labels."""
    labels = batch.get("labels") if isinstance(batch, Mapping) else None
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        labels = batch[1]
    return labels if isinstance(labels, Tensor) else None


def _counted(batch: Batch, first: int = 0) -> float:
    """The labels that are not ignored, from a position of the last axis on."""
    labels = _labels(batch)
    if labels is None or labels.ndim < 1:
        return 0.0
    return float((labels[..., first:] != -100).sum())


# What a mean may be over: samples, labels that count, those with a token before, or elements.
_CANDIDATES = (
    Weighting(lambda batch: float(rows(batch) or 0)),
    Weighting(_counted),
    Weighting(lambda batch: _counted(batch, 1)),
    Weighting(lambda batch: _elements(None, _labels(batch))),
    _ADDED_UP,
)


def measured_weighting(
    evaluate: Callable[[Batch], float], batches: Iterator[Batch], tolerance: float
) -> Weighting:
    """The weighting of batches, from the loss over each two neighbours joined.

    Args:
        evaluate: the loss of a batch, at parameters where different batches have different losses.
        batches: all batches.
        tolerance: the relative difference that rounding makes.

    Raises:
        ValueError: neighbours cannot be joined, or their losses add up neither as a sum nor as a
            mean over samples, labels or elements.
    """
    possible = list(_CANDIDATES)
    previous: tuple[Batch, float] | None = None
    for number, batch in enumerate(batches):
        value = evaluate(batch)
        if previous is None and abs(evaluate(batch) - value) > tolerance * abs(value):
            raise ValueError(
                "model: the loss of a batch is another each time, as with dropout in training mode "
                "or random numbers in the model or the loss: call model.eval()"
            )
        if previous is not None:
            both = joined(previous[0], batch)
            if both is None:
                raise _unknown(f"batches {number - 1} and {number} cannot be joined")
            whole = evaluate(both)
            scale = tolerance * max(abs(previous[1]), abs(value), abs(whole))
            # Where both have the same loss, every mean is right, and nothing is learnt.
            if abs(previous[1] - value) <= scale:
                raise _unknown(f"batches {number - 1} and {number} have the same loss")
            possible = [
                item
                for item in possible
                if abs(expected_loss(item, previous, (batch, value)) - whole) <= scale
            ]
        previous = batch, value
    if not possible:
        raise _unknown(
            "over two joined, it is no mean over samples, labels or elements, nor a sum, or the "
            "model mixes their samples"
        )
    return possible[0]


def expected_loss(
    weighting: Weighting, first: tuple[Batch, float], second: tuple[Batch, float]
) -> float:
    """The loss of two batches together, if they add up so."""
    if weighting.summed:
        return first[1] + second[1]
    counts = [weighting.count(batch) for batch, _ in (first, second)]
    if not sum(counts):
        return math.nan
    return (counts[0] * first[1] + counts[1] * second[1]) / sum(counts)


def _unknown(reason: str) -> ValueError:
    return ValueError(
        f"loss: how the losses of batches add up is not known ({reason}); say what the mean of "
        "each divides by with weights=lambda batch: ..., or give the data as one batch"
    )
