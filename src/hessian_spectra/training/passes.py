"""Passes over samples: how many updates they are, and which samples an update is of."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hessian_spectra.seeding import generator
from hessian_spectra.training.minibatches import Batch, Plan, Task, train_by_minibatches


@dataclass(frozen=True, kw_only=True)
class Passes(Plan):
    """Passes over so many samples: the updates of the weights, in plain precision."""

    samples: int
    epochs: int
    batch_size: int
    clip = math.inf
    precision = "float32"
    compile = False

    @property
    def updates(self) -> int:
        """The updates of an epoch."""
        return math.ceil(self.samples / self.batch_size)

    @property
    def steps(self) -> int:
        """Updates in all."""
        return self.epochs * self.updates


class Order:
    """Which samples an update is of: in each epoch all of them, in an order of its own.

    Args:
        samples: how many there are.
        batch_size: of an update, the last one of an epoch has what is left.
        seed: of the orders.

    Example:
        >>> order = Order(5, 2, seed=0)
        >>> sorted(int(i) for step in range(3) for i in order.samples(step))
        [0, 1, 2, 3, 4]
    """

    def __init__(self, samples: int, batch_size: int, seed: int) -> None:
        self._samples, self._size, self._seed = samples, batch_size, seed
        self._updates = math.ceil(samples / batch_size)
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    def samples(self, step: int) -> Tensor:
        """The samples of the update that follows ``step``."""
        epoch, place = divmod(step, self._updates)
        if epoch != self._epoch:
            draws = generator(self._seed, f"order {epoch}")
            self._epoch, self._order = epoch, torch.randperm(self._samples, generator=draws)
        return self._order[place * self._size : (place + 1) * self._size]


def train_by_passes(
    model: nn.Module,
    loss: Callable[..., Tensor],
    plan: Passes,
    batch: Callable[[int, Tensor], Batch],
    *,
    seed: int,
    unit: str,
    observed: Collection[int] = (),
    identity: Any = None,
    **how: Any,
) -> np.ndarray:
    """Train a network in passes over samples.

    Args:
        model: the network, on its device; trained in place.
        loss: from the model and the tensors of a batch to its mean loss.
        plan: how.
        batch: from the number of an update and its samples to the tensors.
        seed: of the orders of the samples, and of dropout.
        unit: what samples are called where progress is told.
        observed: the epochs before which an observer looks at the network, from 0 to the last.
        identity: what else tells this training from others, as JSON has it.
        how: ``observer``, ``log`` and ``checkpoint`` of :func:`train_by_minibatches`.

    Returns:
        The loss of each batch ``(epochs, updates)`` float64; NaN after a divergence.

    Raises:
        ValueError: as :func:`train_by_minibatches`.
    """
    order = Order(plan.samples, plan.batch_size, seed)
    task = Task(
        model=model,
        loss=loss,
        batches=lambda step: [batch(step, order.samples(step))],
        seed=seed,
        unit=unit,
        units=plan.batch_size,
        identity=identity,
    )
    steps = {epoch * plan.updates for epoch in observed}
    losses = train_by_minibatches(task, plan, observed=steps, **how)
    return losses.reshape(plan.epochs, plan.updates)
