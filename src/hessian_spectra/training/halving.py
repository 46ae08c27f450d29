"""When full-batch gradient descent halves its learning rate."""

from collections.abc import Sequence

import numpy as np


class Halving:
    """Lower the rate whenever the loss has gained too little over the last epochs.

    At epoch t, if at least ``patience`` epochs have passed since the start or since the last time,
    and loss(t) > (1 − threshold) loss(t − patience), the rate is multiplied by ``factor``.

    Args:
        rate: the learning rate at the start.
        patience: over how many epochs the gain is taken, at least 1.
        threshold: the relative gain below which the rate is lowered.
        factor: what the rate is multiplied by.
        epochs: at which the rate was lowered already.

    Source: anon2026data, appendix C: "successively halved anytime < 0.1% improvement in loss is
    observed over 100 epochs". That the count begins anew at each halving is our reading of it.

    Example:
        >>> rule = Halving(1.0, patience=2, threshold=0.1, factor=0.5)
        >>> losses = [8.0, 7.9, 7.8, 7.7, 5.0]
        >>> rates = []
        >>> for epoch in range(5):
        ...     rule.advance(losses, epoch)
        ...     rates.append(rule.rate)
        >>> rates, rule.epochs
        ([1.0, 1.0, 0.5, 0.5, 0.5], [2])
    """

    def __init__(
        self,
        rate: float,
        *,
        patience: int,
        threshold: float,
        factor: float,
        epochs: Sequence[int] = (),
    ) -> None:
        self.rate = rate
        self.epochs = list(epochs)
        self._patience = patience
        self._threshold = threshold
        self._factor = factor

    def advance(self, losses: Sequence[float] | np.ndarray, epoch: int) -> None:
        """Take in the loss of an epoch; ``losses`` holds those of all epochs up to it."""
        since = self.epochs[-1] if self.epochs else 0
        if epoch - since < self._patience:
            return
        if losses[epoch] > (1 - self._threshold) * losses[epoch - self._patience]:
            self.rate *= self._factor
            self.epochs.append(epoch)
