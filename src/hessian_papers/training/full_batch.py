"""Full-batch gradient descent over thousands of epochs, which can be interrupted."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hessian_papers.training.descent import LOSS_LIMIT
from hessian_papers.training.full_batch_state import State
from hessian_papers.training.halving import gains_too_little
from hessian_papers.training.objectives import Objective
from hessian_spectra.files import digest
from hessian_spectra.matrix_products import fastest_products
from hessian_spectra.progress import LOGGED_EPOCHS, Log, silent
from hessian_spectra.training import STATE, Saver, tensors_digest
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
        >>> from hessian_papers.training import SampleObjective, full_batch_descent
        >>> x, y = torch.ones(1, 1).double(), torch.full((1, 1), 4.0).double()
        >>> start = [torch.ones(1, 1).double(), torch.ones(1, 1).double()]
        >>> end = full_batch_descent(SampleObjective(x, y, "linear"), start, learning_rate=0.1,
        ...                          epochs=100, record=[0, 100])
        >>> [round((last @ first).item(), 6) for first, last in end.weights], end.finished
        ([1.0, 4.0], 100)
    """
    plan = FullBatchDescent(**settings)
    state = State.start(weights, plan.learning_rate, plan.epochs)
    save = None
    if checkpoint is not None:
        words = vars(plan) | {"record": [*plan.record]}
        name = digest([words, objective.digest(), tensors_digest("start", *weights)])
        state.read(checkpoint / STATE, name)
        save = Saver(partial(state.write, checkpoint / STATE, name))
    fast = fastest_products() if objective.dtype == torch.float32 else nullcontext()
    with torch.no_grad(), fast:
        diverged_at = _descend(objective, state, plan, log, save)
    return _finished(state, plan, diverged_at)


def _descend(
    objective: Objective,
    state: State,
    plan: FullBatchDescent,
    log: Log,
    save: Saver | None,
) -> int | None:
    """Train until ``state.epoch`` is the last epoch reached; the epoch of divergence, if any."""
    evaluate, factors = objective.follow(state.weights)
    updates = [(weight, *pair) for weight, pair in zip(state.weights, factors, strict=True)]
    record, losses, every = set(plan.record), state.losses, max(plan.epochs // LOGGED_EPOCHS, 1)

    def tell(epoch: int) -> None:
        if epoch % every == 0:
            rate = float(state.rates[epoch])
            log(epoch, {"loss": float(losses[epoch]), "learning_rate": rate})

    for epoch in range(state.epoch):
        tell(epoch)
    while True:
        epoch = state.epoch
        loss = evaluate()
        # Written so that NaN, which compares false with everything, counts as divergence.
        if not loss <= LOSS_LIMIT:
            require(epoch > 0, "weights", f"a loss of at most {LOSS_LIMIT:g} at the start", loss)
            state.epoch -= 1
            return epoch
        losses[epoch] = loss
        since = max(state.halvings, default=0)
        if gains_too_little(losses, epoch, since, patience=plan.patience, threshold=plan.threshold):
            state.rate *= plan.factor
            state.halvings.append(epoch)
        state.rates[epoch] = state.rate
        if epoch in record:
            state.keep()
        tell(epoch)
        if epoch == plan.epochs or state.rate < plan.smallest_rate:
            return None
        for weight, left, right in updates:
            weight.addmm_(left, right, alpha=-state.rate)
        state.epoch += 1
        if save is not None:
            save()


def _finished(state: State, plan: FullBatchDescent, diverged_at: int | None) -> FullBatchTraining:
    losses, rates = torch.from_numpy(state.losses), torch.from_numpy(state.rates)
    if diverged_at is None:
        losses[state.epoch :], rates[state.epoch :] = losses[state.epoch], rates[state.epoch]
        while len(state.kept) < len(plan.record):
            state.keep()
    return FullBatchTraining(
        recorded=tuple(plan.record[: len(state.kept)]),
        weights=state.kept,
        losses=losses,
        rates=rates,
        halvings=tuple(state.halvings),
        finished=state.epoch,
        diverged_at=diverged_at,
    )
