"""Whether a training of a classifier or of a language model has diverged."""

import math

import numpy as np
import torch
from torch import nn

# A loss of so many times that of a guess is no end of a descent.
GUESSES = 2.0


def has_diverged(model: nn.Module, loss: float, classes: int, *measured: np.ndarray) -> bool:
    """Whether a network ended with weights or a loss that no descent ends with.

    So it did, too, where what was measured on the way is not finite: products with the Hessian
    overflow before weights and loss do.

    The gradient of the cross-entropy is bounded by the inputs: at too large a learning rate the
    weights grow without an overflow, and every softmax is as sure as it is wrong. So a loss that is
    finite is held to ``ln c``, that of giving each of c classes the same probability.

    Args:
        model: the network after its training.
        loss: its cross-entropy over what it was trained on, a mean.
        classes: ``c``; of a language model its vocabulary.
        measured: what else is known of it, such as eigenvalues.

    Example:
        >>> model = nn.Linear(1, 10)
        >>> has_diverged(model, 2.4, 10), has_diverged(model, 20.0, 10)
        (False, True)
        >>> has_diverged(model, 2.4, 10, np.array([3.1, np.nan]))
        True
        >>> _ = model.weight.data.fill_(torch.nan)
        >>> has_diverged(model, 2.4, 10)
        True
    """
    finite = all(bool(torch.isfinite(value).all()) for value in model.state_dict().values())
    finite &= all(bool(np.isfinite(values).all()) for values in measured)
    return not (finite and loss <= GUESSES * math.log(classes))
