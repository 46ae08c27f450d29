"""How much each batch counts in the loss over the whole data set."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from hessian_spectra.curvature.batches import Batch, joined, rows
from hessian_spectra.models import HalfSquaredError

# A number for each batch, or a function of it, or the word that batch losses are added up.
Weights = Callable[[Batch], Any] | Sequence[float] | str


@dataclass(frozen=True)
class Weighting:
    """The loss over all data is ``Σ_b c_b L_b / Σ_b c_b``, or ``Σ_b L_b`` where it is a sum.

    Args:
        count: ``c_b`` of a batch: what its mean divides by.
        summed: whether the losses of batches are added up instead.
    """

    count: Callable[[Batch], float]
    summed: bool = False


def _class_weight_total(loss: nn.CrossEntropyLoss | nn.NLLLoss, targets: Tensor) -> float:
    """What the mean of a classification loss divides by."""
    if targets.is_floating_point():
        # Class probabilities (n, C, ...): torch divides by the number of positions in any case.
        return targets.numel() / targets.shape[1] if targets.ndim > 1 else 1.0
    counted = targets[targets != loss.ignore_index]
    if loss.weight is None:
        return float(len(counted))
    return float(loss.weight.to(counted.device)[counted].sum())


def _samples_or_elements(loss: HalfSquaredError, targets: Tensor) -> float:
    return float(len(targets) if loss.per == "sample" else targets.numel())


def _elements(loss: nn.Module, targets: Tensor) -> float:
    return float(targets.numel())


_DENOMINATORS: dict[type[nn.Module], Callable[..., float]] = {
    HalfSquaredError: _samples_or_elements,
    nn.MSELoss: _elements,
    nn.BCEWithLogitsLoss: _elements,
    nn.CrossEntropyLoss: _class_weight_total,
    nn.NLLLoss: _class_weight_total,
}


def denominator(loss: nn.Module, targets: Tensor) -> float | None:
    """What the loss of one batch is divided by, so that batches can be added up.

    The loss over all data is ``Σ_b c_b L_b / Σ_b c_b`` with ``L_b`` the mean loss of batch ``b``
    and ``c_b`` the number returned here: samples, elements, counted targets or their class weights,
    as the loss takes its mean.

    Args:
        loss: the loss.
        targets: the targets of one batch.

    Returns:
        ``c_b``; ``None`` for a mean that is not known here: that of another class, or of a subclass
        with a ``forward`` of its own.

    Example:
        >>> import torch
        >>> denominator(nn.MSELoss(), torch.zeros(3, 2))
        6.0
        >>> denominator(nn.CrossEntropyLoss(), torch.tensor([0, 1, -100]))
        2.0
    """
    for kind, count in _DENOMINATORS.items():
        if isinstance(loss, kind) and type(loss).forward is kind.forward:
            return count(loss, targets)
    return None


def known_weighting(loss: Any, weights: Weights | None) -> Weighting | None:
    """How batches add up, as far as the loss itself or the user says it; ``None`` if they do not.

    Raises:
        ValueError: ``weights`` is another word than ``"sum"``, or the loss gives no scalar.
    """
    reduction = getattr(loss, "reduction", None)
    if reduction == "none":
        raise ValueError("loss: expected reduction 'mean' or 'sum', got 'none'")
    if isinstance(weights, str):
        if weights != "sum":
            raise ValueError(f"weights: expected 'sum', numbers or a function, got {weights!r}")
        return Weighting(lambda batch: 1.0, summed=True)
    if callable(weights):
        function = weights
        return Weighting(lambda batch: float(function(batch)))
    for kind in _DENOMINATORS:
        if isinstance(loss, kind) and type(loss).forward is kind.forward:
            if reduction == "sum":
                return Weighting(lambda batch: 1.0, summed=True)
            return Weighting(lambda batch: float(denominator(loss, batch[1]) or 0.0))
    return None


def measured_weighting(
    evaluate: Callable[[Batch], float], batches: Iterator[Batch], tolerance: float
) -> Weighting:
    """How the losses of batches add up, from the loss over each two neighbours joined.

    Args:
        evaluate: the loss of a batch, at parameters where different batches have different losses.
        batches: all batches.
        tolerance: the relative difference that rounding makes.

    Raises:
        ValueError: neighbours cannot be joined, or their losses add up neither as a mean over
            samples nor as a sum.
    """
    candidates = {"mean": True, "sum": True}
    previous: tuple[Batch, int, float] | None = None
    for number, batch in enumerate(batches):
        count = rows(batch)
        if count is None:
            raise _unknown(f"batch {number} has tensors of different lengths")
        value = evaluate(batch)
        if previous is not None:
            both = joined(previous[0], batch)
            if both is None:
                raise _unknown(f"batches {number - 1} and {number} cannot be joined")
            found = evaluate(both)
            mean = (previous[1] * previous[2] + count * value) / (previous[1] + count)
            scale = tolerance * max(abs(previous[2]), abs(value), abs(found))
            candidates["mean"] &= abs(found - mean) <= scale < abs(previous[2] - value)
            candidates["sum"] &= abs(found - previous[2] - value) <= scale < abs(found)
        previous = batch, count, value
    if candidates["mean"]:
        return Weighting(lambda batch: float(rows(batch) or 0))
    if candidates["sum"]:
        return Weighting(lambda batch: 1.0, summed=True)
    raise _unknown("over two batches joined, it is neither their mean over samples nor their sum")


def _unknown(reason: str) -> ValueError:
    return ValueError(
        f"loss: how the losses of batches add up is not known ({reason}); say what the mean of "
        "each divides by with weights=lambda batch: ..., or give the data as one batch"
    )
