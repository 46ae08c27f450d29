"""Training of a classifier by stochastic gradient descent with a constant learning rate.

The set-up is that of wu2022dissecting, appendix E.3.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hessian_papers.constraints import AtLeast, Checked, Count, Fraction, Positive
from hessian_spectra.training import Passes, train_by_passes


@dataclass(frozen=True, kw_only=True)
class ClassifierDescent(Checked):
    """The settings with which classifiers are trained, whatever the number of samples.

    Args:
        epochs: passes over the samples, each in a new order; paper: 1000.
        batch_size: samples of an update, the last one of an epoch has what is left; paper: 128.
        learning_rate: of all updates; paper: 0.01.
        momentum: of stochastic gradient descent, 0 for none; paper: none, 0.9 in a variation.
        weight_decay: of all parameters; paper: none, 0.0005 in a variation.
    """

    epochs: Count
    batch_size: Count
    learning_rate: Positive
    momentum: Fraction
    weight_decay: Annotated[float, AtLeast(0)]


@dataclass(frozen=True, kw_only=True)
class Classification(ClassifierDescent, Passes):
    """The steps and rates with which a classifier is trained on so many samples.

    Args:
        samples: how many there are.

    Example:
        >>> plan = Classification(samples=10, epochs=3, batch_size=4, learning_rate=0.1,
        ...                       momentum=0.0, weight_decay=0.0)
        >>> plan.updates, plan.steps
        (3, 9)
    """

    samples: Count

    def rate(self, step: int) -> float:
        """The learning rate of an update."""
        return self.learning_rate

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Stochastic gradient descent."""
        return torch.optim.SGD(
            model.parameters(),
            lr=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )


def train_classifier(
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    plan: Classification,
    **how: Any,
) -> np.ndarray:
    """Minimise the cross-entropy of a classifier.

    Args:
        model: the network, on its device; trained in place.
        inputs: ``(n, ...)`` on that device, or where its batches are to be fetched from.
        labels: ``(n,)`` numbers of classes.
        plan: how.
        how: ``seed``, ``observed`` epochs, ``identity``, ``observer``, ``log`` and ``checkpoint``,
            as for :func:`~hessian_spectra.training.train_by_passes`.

    Returns:
        The mean loss of each epoch's batches ``(epochs,)`` float64; NaN after a divergence.

    Raises:
        ValueError: as :func:`~hessian_spectra.training.train_by_passes`.

    Example:
        >>> x = torch.tensor([[-1.0], [1.0]] * 8)
        >>> plan = Classification(samples=16, epochs=40, batch_size=4, learning_rate=1.0,
        ...                       momentum=0.0, weight_decay=0.0)
        >>> losses = train_classifier(nn.Linear(1, 2), x, torch.tensor([0, 1] * 8), plan, seed=0)
        >>> bool(losses[-1] < 0.1)
        True
    """
    losses = train_by_passes(
        model,
        lambda network, x, y: functional.cross_entropy(network(x), y),
        plan,
        lambda step, chosen: (inputs[chosen], labels[chosen]),
        unit="images",
        **how,
    )
    return np.asarray(losses.mean(axis=1))
