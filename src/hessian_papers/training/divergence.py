"""Whether a training of a classifier or of a language model has diverged."""

import math

import torch
from torch import nn

# A loss of so many times that of a guess is no end of a descent.
GUESSES = 2.0


def has_diverged(model: nn.Module, loss: float, classes: int) -> bool:
    """Whether a network ended with weights or a loss that no descent ends with.

    The gradient of the cross-entropy is bounded by the inputs: at too large a learning rate the
    weights grow without an overflow, and every softmax is as sure as it is wrong. So a loss that is
    finite is held to ``ln c``, that of giving each of c classes the same probability.

    Args:
        model: the network after its training.
        loss: its cross-entropy over what it was trained on, a mean.
        classes: ``c``; of a language model its vocabulary.

    Example:
        >>> model = nn.Linear(1, 10)
        >>> has_diverged(model, 2.4, 10), has_diverged(model, 20.0, 10)
        (False, True)
        >>> _ = model.weight.data.fill_(torch.nan)
        >>> has_diverged(model, 2.4, 10)
        True
    """
    finite = all(bool(torch.isfinite(value).all()) for value in model.state_dict().values())
    return not (finite and loss <= GUESSES * math.log(classes))
