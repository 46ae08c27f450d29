"""Losses of every kind: torch's, subclasses of them, functions, and such as take derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from ..cases import classes, normal


class Focal(nn.CrossEntropyLoss):
    """A subclass that says nothing new: batches are weighed by the targets that count."""


class Confident(nn.CrossEntropyLoss):
    """A subclass with a forward pass of its own, again a mean over samples."""

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        log = functional.log_softmax(outputs, 1)
        entropy = -(log.exp() * log).sum(1)
        return functional.cross_entropy(outputs, targets) - 0.1 * entropy.mean()


def log_likelihood(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.nll_loss(outputs.log_softmax(1), targets)


def divergence(outputs: Tensor, targets: Tensor) -> Tensor:
    """Between distributions over classes, as a mean over samples and positions."""
    log, own = outputs.log_softmax(1), targets.softmax(1)
    return (own * (own.log() - log)).sum(1).mean()


def hyperbolic(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).cosh().log().mean()


@dataclass(frozen=True)
class Loss:
    """A loss of outputs ``(n, C)`` or ``(n, C, length)``, and targets for them.

    Args:
        name: of the test.
        value: of outputs and targets; of a program: of the model and a batch.
        numbers: whether the targets are numbers like the outputs, or classes.
        ignored: whether some of the classes are to be ignored.
        program: whether the loss calls the model itself.
    """

    name: str
    value: Any
    numbers: bool = True
    ignored: bool = False
    program: bool = False

    def targets(self, outputs: Tensor) -> Tensor:
        if self.numbers:
            return normal(*outputs.shape, seed=3).sigmoid()
        shape = (len(outputs), *outputs.shape[2:])
        drawn = classes(*shape, count=min(outputs.shape[1], 3))
        # Unevenly spread, so that batches count differently.
        return (
            torch.where(classes(*shape, count=4, seed=5) == 0, -100, drawn)
            if (self.ignored)
            else drawn
        )


def of_classes(name: str, value: Any, *, ignored: bool = False) -> Loss:
    return Loss(name, value, numbers=False, ignored=ignored)


LOSSES = [
    Loss("squared error", nn.MSELoss()),
    of_classes("cross-entropy", nn.CrossEntropyLoss(label_smoothing=0.1)),
    Loss("binary cross-entropy", nn.BCEWithLogitsLoss()),
    of_classes("cross-entropy, added up", nn.CrossEntropyLoss(reduction="sum")),
    Loss("smooth absolute error", nn.SmoothL1Loss()),
    of_classes("subclass with ignored targets", Focal(), ignored=True),
    Loss("Huber", nn.HuberLoss(delta=0.8)),
    of_classes("ignored targets", nn.CrossEntropyLoss(), ignored=True),
    Loss("Poisson", nn.PoissonNLLLoss()),
    of_classes("subclass of its own", Confident()),
    Loss("divergence", divergence),
    of_classes("log-likelihood", log_likelihood),
    Loss("function of one's own", hyperbolic),
    of_classes("function", functional.cross_entropy),
    Loss("squared error, added up", nn.MSELoss(reduction="sum")),
]
# Of outputs with three classes.
WEIGHTED = of_classes(
    "weighted classes", nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 5.0]).double()), ignored=True
)


def squared(model: nn.Module, batch: Any) -> Tensor:
    return functional.mse_loss(model(batch[0]), batch[1])


def values(model: nn.Module) -> dict[str, Tensor]:
    return {name: part for name, part in model.named_parameters() if part.requires_grad}


def moved(model: nn.Module, batch: Any, length: Callable[[list[Tensor]], Any], *,
          graph: bool = True) -> Tensor:  # fmt: skip
    """The loss after a step along the gradient, of a length that may depend on it."""
    at = values(model)
    inner = functional.mse_loss(functional_call(model, at, (batch[0],)), batch[1])
    slopes = torch.autograd.grad(inner, list(at.values()), create_graph=graph,
                                 materialize_grads=True)  # fmt: skip
    step = length(list(slopes))
    stepped = {name: at[name] + step * slope for name, slope in zip(at, slopes, strict=True)}
    return functional.mse_loss(functional_call(model, stepped, (batch[0],)), batch[1])


def after_a_step(model: nn.Module, batch: Any) -> Tensor:
    return moved(model, batch, lambda slopes: -0.1)


def sharpness_aware(model: nn.Module, batch: Any, *, graph: bool = True) -> Tensor:
    return moved(
        model, batch, lambda slopes: 0.05 / sum(part.square().sum() for part in slopes).sqrt(),
        graph=graph,
    )  # fmt: skip


def gradient_penalty(model: nn.Module, batch: Any) -> Tensor:
    inputs = batch[0].detach().requires_grad_()
    outputs = model(inputs)
    (slope,) = torch.autograd.grad(outputs.square().sum(), inputs, create_graph=True)
    norms = (slope.flatten(1).square().sum(1) + 1e-6).sqrt()
    return functional.mse_loss(outputs, batch[1]) + (norms - 1).square().mean()


def by_functions(model: nn.Module, batch: Any) -> Tensor:
    slopes = torch.func.vmap(torch.func.grad(lambda x: model(x[None]).sum()))(batch[0])
    return squared(model, batch) + slopes.flatten(1).square().sum(1).mean()


def decayed(model: nn.Module, batch: Any) -> Tensor:
    return squared(model, batch) + 0.1 * sum(part.square().sum() for part in values(model).values())


PROGRAMS = [
    Loss("gradient penalty", gradient_penalty, program=True),
    Loss("a step inside", after_a_step, program=True),
    Loss("weight decay", decayed, program=True),
    Loss("sharpness-aware", sharpness_aware, program=True),
]
FUNCTIONAL = Loss("functional derivatives", by_functions, program=True)
