"""Passes over samples: how many updates they are, and which samples an update is of."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.seeding import generator


@dataclass(frozen=True, kw_only=True)
class Passes:
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
