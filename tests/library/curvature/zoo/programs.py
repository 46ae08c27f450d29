"""Networks that are programs: iterations, experts, derivatives, operations of one's own."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from .specimens import Lambda, free, listed
from .vectors import between, evaluated


class Checkpointed(nn.Module):
    """A network whose first part is computed anew in the backward pass."""

    def __init__(self, *, reentrant: bool = False) -> None:
        super().__init__()
        self.reentrant, self.kept = reentrant, False
        self.stem = nn.Linear(3, 3)
        self.first = nn.Sequential(
            nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 4), nn.Tanh()
        )
        self.last = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.stem(x)
        if self.kept:
            return self.last(self.first(hidden))
        return self.last(checkpoint(self.first, hidden, use_reentrant=self.reentrant))


class Mixture(nn.Module):
    """Two experts, of which the second gets no sample."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 3))
            for _ in range(2)
        )
        self.gate = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        shares, result = self.gate(x).softmax(1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = torch.arange(len(x))[: None if number == 0 else 0]
            values = expert(x[rows]) * shares[rows, number : number + 1]
            result = result.index_put((rows,), values, accumulate=True)
        return result


class Residual(nn.Module):
    """The derivatives of a network in its input beside its values, as physics needs them."""

    def __init__(self, activation: type[nn.Module]) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, 4), activation(), nn.Linear(4, 4), activation(), nn.Linear(4, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        points = x[:, :1].detach().requires_grad_()
        value = self.net(points)
        (slope,) = torch.autograd.grad(value.sum(), points, create_graph=True)
        (curvature,) = torch.autograd.grad(slope.sum(), points, create_graph=True)
        return torch.cat([value, slope, curvature], 1)


class Complex(nn.Module):
    """Complex weights from real parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.real, self.imaginary = (nn.Parameter(0.3 * torch.randn(3, 3)) for _ in range(2))
        self.head = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.complex(self.real, self.imaginary)
        hidden = functional.linear(torch.complex(self.head(x), x), weight)
        return functional.linear(hidden * hidden, weight).abs()


def energy() -> nn.Module:
    """A force: minus the gradient of a learnt energy."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        points = x.detach().requires_grad_()
        value = self.net(points).square().sum()
        return -torch.autograd.grad(value, points, create_graph=True)[0]

    return Lambda(forward, net=nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 2)))


def solved() -> nn.Module:
    """A layer that solves a linear system, and one of its logarithm and exponential."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        matrix = self.root @ self.root.T + torch.eye(3, dtype=x.dtype)
        rotation = torch.linalg.matrix_exp(self.root - self.root.T)
        return torch.linalg.solve(matrix, x.T).T @ rotation + torch.logdet(matrix)

    return Lambda(forward, root=free(3, 3))


def transformed() -> nn.Module:
    """A filter in the frequencies, as in Fourier neural operators."""

    def forward(self: nn.Module, x: Tensor) -> Tensor:
        waves = torch.fft.rfft(self.lift(x)) * torch.view_as_complex(self.filter)
        return self.head(torch.fft.irfft(waves, n=4).tanh())

    return Lambda(forward, lift=nn.Linear(3, 4), filter=free(3, 2), head=nn.Linear(4, 3))


class Cube(torch.autograd.Function):
    """With a derivative that can be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * upstream


class Once(torch.autograd.Function):
    """A square whose backward pass cannot be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * upstream


class Straight(torch.autograd.Function):
    """Rounded, with the derivative of the identity."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return (4 * x).round() / 4

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        return upstream


def operation(function: Any) -> nn.Module:
    return Lambda(lambda self, x: self.last(function(self.first(x))),
                  first=nn.Linear(3, 3), last=nn.Linear(3, 3))  # fmt: skip


class OnceDifferentiable(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return Once.apply(super().forward(x))


class NoGradients(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


NETWORKS = listed(
    ("checkpoint", Checkpointed),
    ("expert without samples", Mixture),
    ("complex weights", Complex),
    ("derivatives of tanh", lambda: Residual(nn.Tanh)),
    ("derivatives of sigmoid units", lambda: Residual(nn.SiLU)),
    ("frequencies", transformed),
    ("operation of one's own", lambda: operation(Cube.apply)),
)
NETWORKS += listed(
    ("reentrant checkpoint", lambda: Checkpointed(reentrant=True)),
    refused="use_reentrant=False",
)
NETWORKS += listed(
    ("operation differentiable once", lambda: operation(Once.apply)),
    refused="cannot be differentiated twice: its backward",
)
NETWORKS += listed(
    ("straight-through", lambda: operation(Straight.apply)),
    refused=r"Straight \(torch.autograd.Function\) has a backward pass whose own derivative",
)
NETWORKS += listed(
    ("detached", lambda: operation(lambda x: x * x.detach())),
    refused=r"detach\(\) in the model or the loss makes a constant",
)
NETWORKS += listed(
    ("noise", lambda: operation(lambda x: x * torch.rand_like(x))),
    refused="draws random numbers|random numbers in the model",
)
NETWORKS += listed(
    ("no gradients", lambda: NoGradients(3, 3)),
    refused="the loss does not depend on the parameters",
)
# Calls of common layers that are not a module's with its weights; last, so that others keep theirs.
NETWORKS += listed(
    ("norms without weights", lambda: evaluated(*between(
        nn.LayerNorm(4, elementwise_affine=False), nn.BatchNorm1d(4, affine=False)))),
    ("methods of tensors", lambda: Lambda(
        lambda self, x: self.head((y := self.body(x)).relu() + torch.relu(-y) + y.softmax(1)
                                  + torch.softmax(y, dim=1) + functional.gelu(input=y)),
        body=nn.Linear(3, 4), head=nn.Linear(4, 3))),
)  # fmt: skip
