"""Full-batch gradient descent over thousands of epochs, which can be interrupted."""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hessian_papers.training.descent import LOSS_LIMIT
from hessian_papers.training.halving import gains_too_little
from hessian_papers.training.objectives import Objective
from hessian_spectra.files import Arrays, digest, write_arrays
from hessian_spectra.matrix_products import fastest_products
from hessian_spectra.progress import LOGGED_EPOCHS, Log, silent
from hessian_spectra.training import STATE, Saver, read_unfinished, tensors_digest
from hessian_spectra.validation import require


@dataclass(frozen=True, kw_only=True)
class FullBatchTraining:
    """The course of a training. Epoch t stands for the state after t updates.

    Args:
        recorded: the epochs at which the weights were kept; without those that a divergence left
            unreached.
        weights: for each of them W_1, ..., W_L.
        losses: ``(epochs + 1,)`` float64, at each epoch; from the divergence on NaN, after an early
            stop that at the stop.
        rates: ``(epochs + 1,)`` float64, the learning rate of the update that follows; likewise.
        halvings: the epochs at which the rate was lowered.
        finished: the last epoch that was reached: all of them, that of the early stop, or the one
            before the divergence.
        diverged_at: the epoch at which the loss was not finite or exceeded 10¹²; else ``None``.
    """

    recorded: tuple[int, ...]
    weights: list[tuple[Tensor, ...]]
    losses: Tensor
    rates: Tensor
    halvings: tuple[int, ...]
    finished: int
    diverged_at: int | None


@dataclass(frozen=True, kw_only=True)
class FullBatchDescent:
    """The settings of :func:`full_batch_descent`.

    The rule of halving is that of anon2026data, appendix C: "< 0.1% improvement in loss over 100
    epochs".

    Args:
        learning_rate: η at the start.
        epochs: the number of updates.
        record: the epochs to keep the weights at, in rising order; 0 is the start.
        patience: over how many epochs the gain is taken.
        threshold: the relative gain below which the rate is lowered.
        factor: what the rate is multiplied by.
        smallest_rate: the training stops below it; 0 for never.
    """

    learning_rate: float
    epochs: int
    record: Sequence[int]
    patience: int = 100
    threshold: float = 1e-3
    factor: float = 0.5
    smallest_rate: float = 0.0


def full_batch_descent(
    objective: Objective,
    weights: Sequence[Tensor],
    *,
    log: Log = silent,
    checkpoint: Path | None = None,
    **settings: Any,
) -> FullBatchTraining:
    """Gradient descent W ← W − η ∇L(W), whose rate η is halved when the loss gains too little.

    The rule is that of ``training.halving``.

    With a positive ``smallest_rate`` the training stops as soon as η falls below it. Weights and
    losses of later epochs are taken to be those at the stop: running on would move each weight by
    less than ``smallest_rate`` times the sum of its slopes over the epochs left.

    Args:
        objective: the loss.
        weights: W_l ``(d_l, d_{l−1})`` at the start, of the objective's type; not changed.
        log: called at about a hundred epochs with ``loss`` and ``learning_rate``; by a training
            that goes on, first with those before.
        checkpoint: a folder for the unfinished state, written about every half minute. If it is
            that of this training, which was interrupted, the training goes on from it, to the same
            bits as without the interruption; any other is written over. Whoever trains removes it.
        settings: those of :class:`FullBatchDescent`, by their names.

    Returns:
        The :class:`FullBatchTraining`.

    Raises:
        ValueError: the loss at the start is not finite or above 10¹².

    Source: anon2026data, appendix C.

    Example:
        >>> from hessian_papers.training.full_batch import full_batch_descent
        >>> from hessian_papers.training.objectives import SampleObjective
        >>> x, y = torch.ones(1, 1).double(), torch.full((1, 1), 4.0).double()
        >>> start = [torch.ones(1, 1).double(), torch.ones(1, 1).double()]
        >>> end = full_batch_descent(SampleObjective(x, y, "linear"), start, learning_rate=0.1,
        ...                          epochs=100, record=[0, 100])
        >>> [round((last @ first).item(), 6) for first, last in end.weights], end.finished
        ([1.0, 4.0], 100)
    """
    plan = FullBatchDescent(**settings)
    state, save = _State(weights), None
    if checkpoint is not None:
        words = vars(plan) | {"record": [*plan.record]}
        name = digest([words, objective.digest(), tensors_digest("start", *weights)])
        state.read(checkpoint / STATE, name)
        save = Saver(partial(state.write, checkpoint / STATE, name))
    fast = fastest_products() if objective.dtype == torch.float32 else nullcontext()
    with torch.no_grad(), fast:
        diverged_at = _descend(objective, state, plan, log, save)
    return _finished(state, plan, diverged_at)


class _State:
    """Where a descent stands between two epochs.

    The present weights are changed in place; losses and rates are those of the epochs that were
    evaluated, and ``kept`` the recorded weights so far.
    """

    def __init__(self, weights: Sequence[Tensor]) -> None:
        contiguous = torch.contiguous_format
        self.weights = tuple(w.detach().clone(memory_format=contiguous) for w in weights)
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.kept: list[tuple[Tensor, ...]] = []

    @property
    def halvings(self) -> list[int]:
        """The epochs at which the rate was lowered."""
        return [t for t, (a, b) in enumerate(pairwise(self.rates), start=1) if b < a]

    def keep(self) -> None:
        """Record the present weights."""
        self.kept.append(tuple(weight.clone() for weight in self.weights))

    def write(self, path: Path, name: str) -> None:
        """Write the state of the training of a name, whole or not at all."""
        arrays: Arrays = {"digest": np.array(name)}
        arrays |= {"losses": np.array(self.losses), "rates": np.array(self.rates)}
        for place, weights in enumerate([self.weights, *self.kept]):
            for layer, weight in enumerate(weights):
                arrays[f"weights/{place}/{layer}"] = weight.cpu().numpy()
        write_arrays(path, arrays)

    def read(self, path: Path, name: str) -> None:
        """Go on from a file, if there is a whole one and it is that of the same training."""
        arrays = None
        with suppress(ValueError):
            arrays = read_unfinished(path, name)
        if arrays is None:
            return
        self.losses, self.rates = arrays["losses"].tolist(), arrays["rates"].tolist()
        places = sum(key.startswith("weights/") for key in arrays) // len(self.weights)
        present, *self.kept = [
            tuple(
                torch.from_numpy(arrays[f"weights/{place}/{layer}"]).to(weight)
                for layer, weight in enumerate(self.weights)
            )
            for place in range(places)
        ]
        for weight, own in zip(self.weights, present, strict=True):
            weight.copy_(own)


def _descend(
    objective: Objective, state: _State, plan: FullBatchDescent, log: Log, save: Saver | None
) -> int | None:
    """Train to the last epoch that is reached; the epoch of divergence, if any."""
    evaluate, factors = objective.follow(state.weights)
    updates = [(weight, *pair) for weight, pair in zip(state.weights, factors, strict=True)]
    record, every = set(plan.record), max(plan.epochs // LOGGED_EPOCHS, 1)
    losses, rates, since = state.losses, state.rates, max(state.halvings, default=0)

    def tell(epoch: int) -> None:
        if epoch % every == 0:
            log(epoch, {"loss": losses[epoch], "learning_rate": rates[epoch]})

    for epoch in range(len(losses)):
        tell(epoch)
    for epoch in range(len(losses), plan.epochs + 1):
        loss = evaluate()
        # Written so that NaN, which compares false with everything, counts as divergence.
        if not loss <= LOSS_LIMIT:
            require(epoch > 0, "weights", f"a loss of at most {LOSS_LIMIT:g} at the start", loss)
            return epoch
        losses.append(loss)
        rate = rates[-1] if rates else plan.learning_rate
        if gains_too_little(losses, epoch, since, patience=plan.patience, threshold=plan.threshold):
            rate, since = rate * plan.factor, epoch
        rates.append(rate)
        if epoch in record:
            state.keep()
        tell(epoch)
        if epoch == plan.epochs or rate < plan.smallest_rate:
            break
        for weight, left, right in updates:
            weight.addmm_(left, right, alpha=-rate)
        if save is not None:
            save()
    return None


def _finished(state: _State, plan: FullBatchDescent, diverged_at: int | None) -> FullBatchTraining:
    left, ended = plan.epochs + 1 - len(state.losses), diverged_at is None
    losses, rates = (
        torch.from_numpy(np.pad(values, (0, left), constant_values=values[-1] if ended else np.nan))
        for values in (state.losses, state.rates)
    )
    while ended and len(state.kept) < len(plan.record):
        state.keep()
    return FullBatchTraining(
        recorded=tuple(plan.record[: len(state.kept)]),
        weights=state.kept,
        losses=losses,
        rates=rates,
        halvings=tuple(state.halvings),
        finished=len(state.losses) - 1,
        diverged_at=diverged_at,
    )
