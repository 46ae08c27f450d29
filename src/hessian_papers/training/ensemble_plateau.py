"""The epochs at which networks of an ensemble lower their learning rate, and are done."""

import torch
from torch import Tensor


class Plateau:
    """``torch.optim.lr_scheduler.ReduceLROnPlateau`` for many networks, and an end to it.

    A loss is an improvement if it is below (1 − threshold) times the best before. After more than
    ``patience`` epochs in a row without one, the rate is multiplied by ``factor``, but not taken
    below ``smallest_rate``; a network whose rate is the smallest already is then done.

    Args:
        count: the number of networks.
        rate: the rate at the start.
        smallest_rate: the rate at the end.
        factor: what a rate is multiplied by.
        patience: epochs without improvement that are borne.
        threshold: the relative improvement that counts.
        device: where the losses are.
    """

    def __init__(
        self,
        count: int,
        rate: float,
        smallest_rate: float,
        factor: float,
        patience: int,
        threshold: float,
        device: torch.device,
    ) -> None:
        self.rate = torch.full((count,), rate, dtype=torch.float64, device=device)
        self._best = torch.full_like(self.rate, torch.inf)
        self._waited = torch.zeros(count, dtype=torch.int64, device=device)
        self._smallest, self._factor = smallest_rate, factor
        self._patience, self._threshold = patience, threshold

    def select(self, networks: Tensor) -> None:
        """Go on with the networks at these places only."""
        self.rate, self._best = self.rate[networks], self._best[networks]
        self._waited = self._waited[networks]

    def advance(self, losses: Tensor) -> Tensor:
        """Take in the losses ``(N,)`` after an epoch; returns which networks are done."""
        better = losses < self._best * (1 - self._threshold)
        self._best = torch.where(better, losses, self._best)
        self._waited = torch.where(better, 0, self._waited + 1)
        over = self._waited > self._patience
        # Products of rates and factors miss the smallest rate by rounding.
        last = self.rate <= self._smallest * (1 + 1e-9)
        lowered = (self.rate * self._factor).clamp(min=self._smallest)
        self.rate = torch.where(over & ~last, lowered, self.rate)
        self._waited = torch.where(over, 0, self._waited)
        return over & last
