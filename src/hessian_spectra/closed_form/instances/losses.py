"""Two layers with scalar inputs under losses that are not the squared error."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from hessian_spectra.closed_form.instances.drawing import Draw, numbers, without
from hessian_spectra.closed_form.instances.two_layer import Linear, Relu, TwoLayer

Elementwise = Callable[[Tensor, Tensor], Tensor]
# Where Huber's losses have kinks, which rounded numbers do not meet.
KINK = 0.7
# The largest outputs, whose exponentials are numbers of a usual size.
LARGEST = 3.0


class OwnLoss(nn.Module):
    """A user's own loss, the mean of a function of one output and one target."""

    reduction = "mean"

    def __init__(self, function: Elementwise) -> None:
        super().__init__()
        self.function = function

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean, or a value for each output."""
        values = self.function(outputs, targets)
        return values.mean() if self.reduction == "mean" else values


@dataclass(frozen=True)
class KnownLoss:
    """A loss with its derivatives as they are found on paper.

    Args:
        module: the loss.
        first: ``l'`` of outputs and targets.
        second: ``l''`` of outputs and targets.
        targets: what it takes as targets, made of any numbers.
    """

    module: nn.Module
    first: Elementwise
    second: Elementwise
    targets: Callable[[Tensor], Tensor] = torch.clone


def _logistic_second(outputs: Tensor, targets: Tensor) -> Tensor:
    return torch.sigmoid(outputs) * torch.sigmoid(-outputs)


LOSSES: dict[str, KnownLoss] = {
    "logistic": KnownLoss(
        nn.BCEWithLogitsLoss(),
        lambda f, y: torch.sigmoid(f) - y,
        _logistic_second,
        lambda y: (y > 0).double(),
    ),
    "soft margin": KnownLoss(
        nn.SoftMarginLoss(),
        lambda f, y: -y * torch.sigmoid(-y * f),
        lambda f, y: y * y * _logistic_second(y * f, y),
        torch.sign,
    ),
    "exponential": KnownLoss(
        OwnLoss(lambda f, y: torch.exp(-y * f)),
        lambda f, y: -y * torch.exp(-y * f),
        lambda f, y: y * y * torch.exp(-y * f),
        torch.sign,
    ),
    "Huber": KnownLoss(
        nn.HuberLoss(delta=KINK),
        lambda f, y: (f - y).clamp(-KINK, KINK),
        lambda f, y: ((f - y).abs() < KINK).double(),
    ),
    "smooth L1": KnownLoss(
        nn.SmoothL1Loss(beta=KINK),
        lambda f, y: ((f - y) / KINK).clamp(-1, 1),
        lambda f, y: ((f - y).abs() < KINK).double() / KINK,
    ),
    "log cosh": KnownLoss(
        OwnLoss(lambda f, y: torch.logaddexp(f - y, y - f)),
        lambda f, y: torch.tanh(f - y),
        lambda f, y: torch.cosh(f - y) ** -2,
    ),
    "Poisson": KnownLoss(
        nn.PoissonNLLLoss(),
        lambda f, y: torch.exp(f) - y,
        lambda f, y: torch.exp(f),
        lambda y: y.abs().round(),
    ),
    "quartic": KnownLoss(
        OwnLoss(lambda f, y: (f - y) ** 4),
        lambda f, y: 4 * (f - y) ** 3,
        lambda f, y: 12 * (f - y) ** 2,
    ),
    # Not convex.
    "Welsch": KnownLoss(
        OwnLoss(lambda f, y: -torch.exp(-((f - y) ** 2) / 2)),
        lambda f, y: (f - y) * torch.exp(-((f - y) ** 2) / 2),
        lambda f, y: (1 - (f - y) ** 2) * torch.exp(-((f - y) ** 2) / 2),
    ),
}


@dataclass(eq=False, kw_only=True)
class AnyLoss(TwoLayer):
    """Two layers ``w``, ``v`` ``(m,)`` on ``x``, ``y`` ``(n,)`` under one of :data:`LOSSES`."""

    name: str = "logistic"

    @property
    def objective(self) -> nn.Module:
        """The loss of the name."""
        return LOSSES[self.name].module

    @property
    def options(self) -> dict[str, Any]:
        """The loss, which the closed form takes."""
        return {"loss": self.objective}

    @classmethod
    def under(cls, draw: Draw, name: str, width: int = 4, points: int = 7) -> Self:
        """One network with outputs that no exponential is too large for."""
        net = cls.of_size(draw, width, points)
        largest = float((net.w.abs() @ net.v.abs()) * net.x.abs().max())
        x = net.x * min(1.0, LARGEST / largest)
        return replace(net, x=x, y=LOSSES[name].targets(net.y), name=name)

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """A network for each loss; vanishing derivatives and layers, and the smallest sizes."""
        each = {name: cls.under(draw, name) for name in LOSSES}
        base = partial(cls.under, draw)
        return each | {
            "width 1": base("logistic", width=1),
            "one point": base("Poisson", points=1),
            "w = v": replace(i := base("exponential"), w=i.v),
            "w = -v": replace(i := base("Welsch"), w=-i.v),
            "w = 0": replace(i := base("soft margin"), w=0 * i.w),
            "all weights 0": replace(i := base("logistic"), w=0 * i.w, v=0 * i.v),
            "no curvature": replace(i := base("Huber"), y=i.y + 20),
            "negative curvature": replace(i := base("Welsch"), y=i.x.sign() * (i.y.abs() / 9 + 5)),
            "zero residual": replace(i := base("log cosh"), y=i.model()(i.x).detach()),
        }

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """One loss after the other, any width and number of points."""
        name = [*LOSSES][number % len(LOSSES)]
        return cls.under(draw, name, draw.integer(2, draw.width), draw.integer(1, draw.size))


@dataclass(eq=False, kw_only=True)
class LinearLoss(AnyLoss, Linear):
    """Linear networks under any loss (singh2026cracking, Theorem 3.1, beyond its loss)."""

    stream: ClassVar[str] = "linear_loss"

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The edge cases of all networks, equal outliers, and slopes that cancel."""
        edges = super().edges(draw)
        base = partial(cls.under, draw)
        i = base("quartic", points=1)
        balanced = base("logistic", points=2)
        orthogonal = without(balanced.w, balanced.v[:, None])
        return edges | {
            # l' = -l'' f
            "equal outliers": replace(i, w=i.v, y=4 * (i.v @ i.v) * i.x),
            # l' is 1/2 and -1/2 at an output of 0.
            "slopes that cancel": replace(
                balanced, w=orthogonal, x=balanced.x[[0, 0]], y=numbers(0.0, 1.0)
            ),
        }


@dataclass(eq=False, kw_only=True)
class ReluLoss(AnyLoss, Relu):
    """ReLU networks under any loss (singh2026cracking, Theorem 3.4, beyond its loss)."""

    stream: ClassVar[str] = "relu_loss"
