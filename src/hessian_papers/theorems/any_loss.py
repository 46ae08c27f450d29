"""Theorems 3.1 to 3.4 and Corollary 3.1 under losses that are not the squared error."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import torch
from torch import Tensor

from hessian_papers.theorems import linear, relu
from hessian_papers.theorems.catalogue import Error, theorem
from hessian_papers.theorems.errors import excess, relative, worst
from hessian_papers.theorems.two_layer import Linear, Moments, TwoLayer
from hessian_spectra.closed_form import instances
from hessian_spectra.closed_form.instances import LOSSES, Draw


@dataclass(eq=False, kw_only=True)
class AnyLoss(TwoLayer, instances.AnyLoss):
    """Two layers under a loss whose derivatives are known on paper."""

    def moments_of(self, w: Tensor, v: Tensor, points: Tensor) -> Moments:
        """The moments with mean(l'' x²) for σ_x², and for mean(y x) what makes δx mean(l' x)."""
        inner, loss = w @ v, LOSSES[self.name]
        x, outputs = self.x * points, inner * self.x * points
        s2 = (loss.second(outputs, self.y) * x.square()).mean()
        dx = (loss.first(outputs, self.y) * x).mean()
        return Moments(s2, inner * s2 - dx, inner, w @ w, v @ v)


@dataclass(eq=False, kw_only=True)
class LinearLoss(AnyLoss, Linear, instances.LinearLoss):
    """Two-layer linear networks under any loss; steps move the weights by about their size."""

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """The library's networks, with steps behind which exponentials are finite."""
        nets = super().taken(draw).items()
        return {
            name: replace(net, step=net.step / (1 + net.moments.dx.abs())) for name, net in nets
        }

    @property
    def outliers(self) -> Tensor:
        """Both measured outliers, the larger one first; of a negative σ² the smaller one is last.

        The sign of σ² is that of the trace, and the other outlier lies between the bulk
        eigenvalues.
        """
        m = len(self.w)
        return self.eigenvalues[[m, 0] if self.moments.trace < 0 else [-1, m - 1]]


@dataclass(eq=False, kw_only=True)
class ReluLoss(AnyLoss, relu.Relu, instances.ReluLoss):
    """Two-layer ReLU networks under any loss."""


of_any_loss = partial(theorem, ours=True, cracking="Theorems 3.1 to 3.3, beyond their loss")


@of_any_loss()
def any_loss_spectrum(net: LinearLoss) -> Error:
    r"""Theorem 3.1 holds for every loss $l(f, y)$ with two derivatives, convex or not, with $σ^2 =
    \frac1n Σ l''x^2$ and $δx = \frac1n Σ l'x$, the derivatives by the output. The half squared
    error is one case.
    """
    blocks = linear.linear_hessian(net), linear.linear_gradient(net)
    return worst(linear.linear_spectrum(net) or 0.0, *(error or 0.0 for error in blocks))


@of_any_loss(of="any-loss-spectrum")
def any_loss_product(net: LinearLoss) -> Error:
    """$-λ_1λ_2 = δx(δx + 2σ^2⟨w, v⟩)$ and $λ_1 + λ_2 = σ^2(‖w‖^2 + ‖v‖^2)$: in these terms, and
    not in those of $yx$, the outliers are the same function for every loss.
    """
    sums = relative(net.moments.trace, net.trace, over=net.size)
    return worst(linear.linear_product(net) or 0.0, sums)


@of_any_loss(of="any-loss-spectrum")
def any_loss_order(net: LinearLoss) -> Error:
    """For $σ^2 ≥ 0$ the larger outlier is the largest eigenvalue and the smaller one lies within
    the bulk. For $σ^2 < 0$, which takes a loss that is not convex, the smaller one is the smallest
    eigenvalue and the larger one lies within the bulk.
    """
    bulk, (high, low) = net.moments.dx.abs(), net.spectrum.select("outlier").flip(0)
    ends = [-bulk, low, bulk, high] if net.moments.s2 >= 0 else [low, -bulk, high, bulk]
    order = torch.stack(ends)
    measured = relative(torch.stack([high, low]), net.outliers, over=net.size)
    return worst(excess(order[:-1], order[1:], net.size), measured)


@of_any_loss(of="any-loss-spectrum")
def any_loss_vectors(net: LinearLoss) -> Error:
    """The eigenvectors of Theorems 3.2 and 3.3 carry over to any loss, in all edge cases."""
    return worst(linear.linear_basis(net) or 0.0, linear.linear_outlier_vector(net) or 0.0)


@theorem(ours=True, cracking="Corollary 3.1, beyond its loss")
def any_loss_descent(net: LinearLoss) -> Error:
    """Under any loss a step of gradient descent keeps the space that the bulk eigenvectors span,
    and iterates and gradients are orthogonal to it.
    """
    errors = linear.linear_constant_bulk(net), linear.linear_orthogonal_iterates(net)
    return worst(*(error or 0.0 for error in errors)) if len(net.w) > 1 else None


@theorem(ours=True, cracking="Theorem 3.4, beyond its loss")
def any_loss_cells(net: ReluLoss) -> Error:
    r"""Theorem 3.4 holds for every loss with two derivatives that is a mean over the samples. Each
    cell has $\frac1n Σ_C l''x^2$ and $\frac1n Σ_C l'x$, and eigenvectors of its own.
    """
    errors = relu.relu_spectrum(net), relu.relu_blocks(net), relu.relu_basis(net)
    return worst(*(error or 0.0 for error in errors))
