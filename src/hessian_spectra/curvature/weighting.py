"""The weight of each batch in the loss over the whole data set, if batches have a common loss."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from hessian_spectra.curvature.batches import Batch, joined, part, places, rows
from hessian_spectra.curvature.undisturbed import interrupt_behind, with_draws
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
        level: the level of nesting at which the lists of a batch hold samples, ``None`` where its
            tensors do, along their first axis.
    """

    count: Callable[[Batch], float]
    summed: bool = False
    targets: Callable[[Tensor], Tensor] | None = None
    level: int | None = None

    def counts(self, batch: Batch, samples: int) -> Tensor:
        """``(n, T)`` how much each target counts; T is 1 where only that of samples is known."""
        if self.targets is not None:
            return self.targets(batch[1])
        each = [self.count(part(batch, at, at + 1, self.level)) for at in range(samples)]
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


def _counted(tensor: Tensor, first: int = 0) -> int:
    """The numbers that are not ignored as labels are, from a position of the last axis on."""
    chosen = tensor[..., first:] if tensor.ndim else tensor.reshape(1)[first:]
    return chosen.numel() if chosen.is_floating_point() else int((chosen != -100).sum())


# What is counted of a tensor: labels, those with a token before, rows, or elements.
_MEASURES: tuple[Callable[[Tensor], int], ...] = (
    _counted,
    partial(_counted, first=1),
    lambda tensor: len(tensor) if tensor.ndim else 1,
    Tensor.numel,
)


def _candidates(batch: Batch, level: int | None) -> list[Weighting]:
    """The possible weightings: a mean over samples, or over what stands at a place, or a sum."""

    def over(place: int, measure: Callable[[Tensor], int]) -> Weighting:
        def count(batch: Batch) -> float:
            return float(sum(map(measure, next(islice(places(batch, level), place, None), ()))))

        return Weighting(count, level=level)

    # Targets come last, mostly. A tensor that holds all samples is one in any batch.
    last_first = reversed(range(len(list(places(batch, level)))))
    measures = _MEASURES if level is None else (lambda sample: 1, *_MEASURES)
    return [
        Weighting(lambda batch: float(rows(batch, level) or 0), level=level),
        *(over(place, measure) for place in last_first for measure in measures),
        replace(_ADDED_UP, level=level),
    ]


def measured_weighting(
    evaluate: Callable[[Batch], float],
    batches: Iterator[Batch],
    tolerance: float,
    level: int | None = None,
) -> Weighting | str:
    """The weighting of batches, from the loss over each two neighbours joined.

    Args:
        evaluate: the loss of a batch, at parameters where different batches have different losses.
        batches: all batches.
        tolerance: the relative difference that rounding makes.
        level: of the lists that are taken to hold samples.

    Returns:
        The weighting; or why there is none: neighbours cannot be joined, or their losses add up
        neither as a sum nor as a mean over samples, labels, rows or elements.

    Raises:
        ValueError: the loss of a batch is another each time.
    """
    possible: list[Weighting] = []
    previous: tuple[Batch, float] | None = None
    for number, batch in enumerate(batches):
        value = evaluate(batch)
        if previous is None:
            if abs(evaluate(batch) - value) > tolerance * abs(value):
                raise ValueError(
                    "model: the loss of a batch is another each time, as with dropout in training "
                    "mode or random numbers in the model or the loss: call model.eval()"
                )
            possible = _candidates(batch, level)
        else:
            whole = joined_loss(evaluate, previous[0], batch, level=level)
            if math.isnan(whole):
                return f"batches {number - 1} and {number} cannot be joined"
            scale = tolerance * max(abs(previous[1]), abs(value), abs(whole))
            # Where both have the same loss, every mean is right, and nothing is learnt.
            if abs(previous[1] - value) <= scale:
                return f"batches {number - 1} and {number} have the same loss"
            possible = [
                item
                for item in possible
                if abs(expected_loss(item, previous, (batch, value)) - whole) <= scale
            ]
            if not possible:
                return (
                    "over two joined, it is no mean over samples, labels or elements, nor a sum, "
                    "or the model mixes their samples"
                )
        previous = batch, value
    return possible[0]


def agreed(readings: Sequence[Weighting | str], batches: Iterable[Batch]) -> Weighting:
    """The weighting that is left where lists of a batch were read in several ways.

    Joined element by element, lists of samples give a sum where the loss is a mean over them; what
    belongs together, joined as lists of samples, mostly gives no loss at all. So the first reading
    that fits is right, unless a later one is a mean with other weights.

    Args:
        readings: of each level, the outermost first, the weighting, or why there is none.
        batches: those of which the weights matter.

    Raises:
        ValueError: none fits, or it is not known which.
    """
    fitting = [reading for reading in readings if isinstance(reading, Weighting)]
    if not fitting:
        reasons = [str(reading) for reading in readings]
        raise _unknown(next((at for at in reversed(reasons) if "over two" in at), reasons[-1]))
    first, *others = fitting
    means = [other for other in others if not other.summed]
    if means:
        known = list(batches)
        if any(not _alike(_shares(first, known), _shares(other, known)) for other in means):
            raise _unknown(
                "a list in a batch may hold samples, or tensors of which each holds samples, and "
                "the losses add up either way"
            )
    return first


def _shares(weighting: Weighting, batches: Sequence[Batch]) -> list[float]:
    """The weight of each batch."""
    counts = [weighting.count(batch) for batch in batches]
    return counts if weighting.summed else [count / sum(counts) for count in counts]


def _alike(first: Sequence[float], second: Sequence[float]) -> bool:
    return all(math.isclose(*pair) for pair in zip(first, second, strict=True))


def joined_loss(
    evaluate: Callable[[Batch], float],
    first: Batch,
    second: Batch,
    *,
    axis: int = 0,
    level: int | None = None,
) -> float:
    """The loss of two batches as one, not a number where they cannot be joined so."""
    both = joined(first, second, axis, level)
    return math.nan if both is None else loss_if_any(evaluate, both)


def loss_if_any(evaluate: Callable[[Batch], float], made: Batch) -> float:
    """The loss of what was made of batches, not a number where the user's code has none for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return evaluate(made)
        except Exception as error:
            if (interrupt := interrupt_behind(error)) is not None:
                raise interrupt from None
            return math.nan


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


def training_modes(model: nn.Module) -> tuple[bool, ...]:
    """Which modules are in training mode."""
    return tuple(module.training for module in model.modules())


def require_fixed_statistics(model: nn.Module, count: int) -> None:
    """Refuse several batches where batch norm takes its statistics from each.

    Raises:
        ValueError: it is in training mode, or has no other statistics; the message names layers.
    """
    for trains in (True, False):
        layers = [
            name or type(module).__name__
            for name, module in model.named_modules()
            if isinstance(module, _BatchNorm)
            and (module.training if trains else module.running_mean is None)
        ]
        if layers:
            raise ValueError(
                f"model: batch norm {'in training mode' if trains else 'without statistics'} "
                f"({', '.join(layers)}) makes each batch another function, so {count} have no "
                f"common loss; {'call model.eval() or ' if trains else ''}give the data as one "
                "batch"
            )


def require_one_loss(
    evaluate: Callable[[Batch], float],
    weighting: Weighting,
    pair: tuple[Batch, Batch],
    tolerance: float,
) -> None:
    """Refuse a network or a loss that makes of two batches joined something else than of each.

    What a loss divides by does not tell: a layer that takes its statistics from the batch makes
    each batch another function.

    Args:
        evaluate: the loss of a batch.
        weighting: how the losses of batches should add up.
        pair: two batches.
        tolerance: the relative difference that rounding makes.

    Raises:
        ValueError: the loss of both joined, along the first axis or the second (where sequences
            come first), is not the one that theirs add up to.
    """
    parts, drawn = with_draws(lambda: [(batch, evaluate(batch)) for batch in pair])
    expected = expected_loss(weighting, *parts)
    scale = tolerance * max(abs(value) for _, value in parts)
    # Of what is drawn at random nothing is learnt here; two passes over the data will tell.
    if drawn or abs(evaluate(pair[0]) - parts[0][1]) > scale:
        return
    whole = joined_loss(evaluate, *pair, level=weighting.level)
    # Of losses that are not finite nothing is learnt either.
    if not math.isfinite(whole + expected) or abs(whole - expected) <= scale:
        return
    # Where sequences come first, samples stand along the second axis; elsewhere it is no batch.
    if abs(joined_loss(evaluate, *pair, axis=1) - expected) <= scale:
        return
    raise ValueError(
        f"model: the loss of two batches joined is {whole:.6g}, where theirs add up to "
        f"{expected:.6g}: the samples of a batch are mixed, as by batch norm with the batch's own "
        "statistics, so that several batches have no common loss; give the data as one batch, or "
        "say with weights how the losses of batches add up"
    )


def _unknown(reason: str) -> ValueError:
    return ValueError(
        f"loss: how the losses of batches add up is not known ({reason}); say what the mean of "
        "each divides by with weights=lambda batch: ..., or give the data as one batch"
    )
