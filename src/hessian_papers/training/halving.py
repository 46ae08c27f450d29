"""The epochs after which full-batch gradient descent halves its learning rate."""

from collections.abc import Sequence

import numpy as np


def gains_too_little(
    losses: Sequence[float] | np.ndarray,
    epoch: int,
    since: int,
    *,
    patience: int,
    threshold: float,
) -> bool:
    """Whether the loss has gained too little over the last epochs.

    That is if at least ``patience`` epochs have passed since the start or since the last time, and
    loss(t) > (1 − threshold) loss(t − patience).

    Args:
        losses: those of all epochs up to t.
        epoch: t.
        since: the epoch of the last time, 0 for the start.
        patience: over how many epochs the gain is taken, at least 1.
        threshold: the relative gain that is enough.

    Source: anon2026data, appendix C: "successively halved anytime < 0.1% improvement in loss is
    observed over 100 epochs". That the count begins anew at each halving is our reading of it.

    Example:
        >>> losses = [8.0, 7.9, 7.8, 5.0]
        >>> [gains_too_little(losses, t, 0, patience=2, threshold=0.1) for t in range(4)]
        [False, False, True, False]
    """
    waited = epoch - since >= patience
    return bool(waited and losses[epoch] > (1 - threshold) * losses[epoch - patience])
