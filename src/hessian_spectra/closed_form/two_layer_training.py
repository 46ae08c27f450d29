"""Training of the two-layer linear network, of any width, as a map of two numbers."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._blocks import stable_pair
from hessian_spectra.closed_form._inputs import ArrayLike, read
from hessian_spectra.closed_form._losses import Loss
from hessian_spectra.closed_form._training import Start


class TrainingPath(NamedTuple):
    """A two-layer linear network along its training; ``T`` states, the first of them the start.

    Training only scales ``w + v`` and ``w - v``. With ``p = ‖w + v‖/√2`` and ``q = ‖w - v‖/√2`` at
    the start, and both multiplied by the same numbers later (signs included), ``⟨w, v⟩ = (p² -
    q²)/2`` and ``‖w‖² + ‖v‖² = p² + q²``.

    Attributes:
        plus: ``(T, ...)`` what ``w + v`` has been multiplied by since the start.
        minus: ``(T, ...)`` the same of ``w - v``.
        p: ``(T, ...)``; its sign is that of ``plus``.
        q: ``(T, ...)``; its sign is that of ``minus``.
        second_moment: ``(T, ...)`` ``E[l'' x²]``; of the squared loss ``σ² = E[x²]``.
        residual_covariance: ``(T, ...)`` ``δx = E[l' x]``: ``±δx`` are the bulk eigenvalues.
        loss: ``(T, ...)`` the risk, without the last dimension where there are several inputs.
    """

    plus: Tensor
    minus: Tensor
    p: Tensor
    q: Tensor
    second_moment: Tensor
    residual_covariance: Tensor
    loss: Tensor

    @property
    def inner_product(self) -> Tensor:
        """``⟨w, v⟩``, the slope of the network."""
        return (self.p - self.q) * (self.p + self.q) / 2

    @property
    def invariant(self) -> Tensor:
        """``p q``, which gradient flow keeps; a step multiplies it by ``1 - η² δx²``."""
        return self.p * self.q

    @property
    def trace(self) -> Tensor:
        """The Hessian's trace, ``E[l'' x²] (‖w‖² + ‖v‖²)``."""
        return self.second_moment * (self.p.square() + self.q.square())

    @property
    def outliers(self) -> Tensor:
        """``(T, ..., 2)`` the outlier pair, the larger first, which is the largest eigenvalue.

        Of several inputs these are the outliers of the Hessian's diagonal blocks, which it falls
        apart into where ``E[l'' x_d x_e] = 0``, as in the cells of a ReLU network.
        """
        root = math.sqrt(2)
        pair = stable_pair(
            root * self.p.abs(),
            root * self.q.abs(),
            self.inner_product,
            self.second_moment,
            self.residual_covariance,
        )
        return pair.flip(-1)

    def weights(self, w: ArrayLike, v: ArrayLike) -> tuple[Tensor, Tensor]:
        """The layers ``w`` and ``v``, ``(T, ..., m)`` each, from those at the start."""
        w, v = read({"w": "?", "v": "?"}, w=w, v=v)
        sums, differences = self.plus[..., None] * (w + v), self.minus[..., None] * (w - v)
        return (sums + differences) / 2, (sums - differences) / 2

    def keeps_signs(self, w: ArrayLike, v: ArrayLike) -> Tensor:
        """``(T, ...)`` whether no ``v_j`` has changed its sign since the start, at any state.

        So long a ReLU network is a linear network in each of its :func:`relu_cells`. With ``κ =
        (plus - minus)/(plus + minus)`` and a positive divisor, ``v_j`` keeps its sign where ``-κ
        w_j / v_j < 1``, hence every neuron with ``|w_j| <= |v_j|`` does.
        """
        first = self.weights(w, v)[1]
        kept = (torch.sign(first) == torch.sign(first[0])).all(-1)
        return kept.cummin(0).values


def gradient_descent(
    w: ArrayLike,
    v: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    learning_rate: ArrayLike,
    steps: int,
    *,
    loss: Loss | None = None,
    momentum: float = 0.0,
    nesterov: bool = False,
    weight_decay: float = 0.0,
) -> TrainingPath:
    """Gradient descent on ``f(x) = ⟨w, v⟩ x``, without iterating its ``2m`` weights.

    The gradient of the risk ``E[l(f(x), y)]`` is ``δx v`` in ``w`` and ``δx w`` in ``v``, with ``δx
    = E[l' x]``, so that a step of rate ``η`` is

        ``p <- (1 - η δx) p``,  ``q <- (1 + η δx) q``,

    a map of two numbers, since ``δx`` is a function of ``(p² - q²)/2`` alone. Momentum (from zero
    velocity), Nesterov's and weight decay act in the same way on the factors and on their velocity.
    For mini-batches the map holds with each batch's ``δx``.

    For several inputs, ``f(x) = Σ_d ⟨w_d, v_d⟩ x_d``, each has its ``p_d`` and ``q_d``, coupled by
    the residual alone. Heads that read the same input are one network: concatenate them.

    Args:
        w: ``(..., m)`` second layers; ``(..., D, m)`` for inputs ``(n, D)``.
        v: first layers, of the same shape.
        x: ``(n,)`` inputs, or ``(n, D)``.
        y: ``(n,)`` targets.
        learning_rate: ``(...)``, broadcast with the batch of networks.
        steps: how many.
        loss: of one output and one target, once differentiable along the path; half the squared
            error if there is none.
        momentum: as in ``torch.optim.SGD``, as the next two.
        nesterov: whether the momentum is Nesterov's.
        weight_decay: its coefficient.

    Returns:
        The path with ``T = steps + 1``; infinite or NaN once the descent has diverged.

    Raises:
        ValueError: bad shape or type, not finite data, or a negative number of steps.

    Source: this project.

    Example:
        >>> path = gradient_descent(w=[1.0, 0.0], v=[1.0, 0.0], x=[1.0], y=[2.0],
        ...                         learning_rate=0.1, steps=1)
        >>> path.inner_product  # w = v: 1, and 1.1 squared after a step with δx = -1
        tensor([1.0000, 1.2100], dtype=torch.float64)
    """
    if steps < 0:
        raise ValueError(f"steps: expected no negative number, got {steps}")
    start = Start.of(w, v, x, y, loss)
    (rate,) = read({"learning_rate": "?"}, learning_rate=learning_rate)
    if start.several:
        rate = rate[..., None]
    shape = torch.broadcast_shapes(rate.shape, start.p.shape)
    factors = start.p.new_ones(2, *shape)
    velocity = torch.zeros_like(factors)
    signs = torch.tensor([1.0, -1.0], dtype=factors.dtype, device=factors.device)
    signs = signs.reshape(2, *[1] * len(shape))
    path = [factors]
    for _ in range(steps):
        p, q = factors[0] * start.p, factors[1] * start.q
        slope = start.slope((p - q) * (p + q) / 2)
        gradient = (signs * slope + weight_decay) * factors
        velocity = momentum * velocity + gradient
        factors = factors - rate * (gradient + momentum * velocity if nesterov else velocity)
        path.append(factors)
    return TrainingPath(*start.along(torch.stack(path)))


def relu_cells(w: ArrayLike, v: ArrayLike, x: ArrayLike) -> tuple[Tensor, Tensor, Tensor]:
    """The two linear networks that ``f(x) = wᵀ relu(v x)`` is made of.

    The neurons with ``v_j > 0`` read ``relu(x)``, those with ``v_j < 0`` read ``-relu(-x)``.

    Args:
        w: ``(..., m)`` second layers.
        v: ``(..., m)`` first layers.
        x: ``(n,)`` inputs.

    Returns:
        ``w`` and ``v``, ``(..., 2, m)`` with zeros for the neurons of the other cell, and the
        inputs ``(n, 2)``, for :func:`gradient_descent` and :func:`gradient_flow`. It holds as long
        as :meth:`TrainingPath.keeps_signs`.

    Raises:
        ValueError: bad shape or type, not finite data.

    Source: this project, after singh2026cracking, Theorem 3.4.

    Example:
        >>> relu_cells(w=[1.0, 2.0], v=[1.0, -1.0], x=[3.0, -4.0])[2]
        tensor([[ 3.,  0.],
                [ 0., -4.]], dtype=torch.float64)
    """
    w, v, x = read({"w": "?", "v": "?", "x": "n"}, w=w, v=v, x=x)
    masks = torch.stack([v > 0, v < 0], dim=-2)
    inputs = torch.stack([x.clamp(min=0), x.clamp(max=0)], dim=-1)
    return masks * w[..., None, :], masks * v[..., None, :], inputs
