"""Training of the two-layer linear network, of any width, as a map of two numbers."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._blocks import stable_pair
from hessian_spectra.closed_form._inputs import ArrayLike, norm, read
from hessian_spectra.closed_form._losses import Loss, derivatives, elementwise, name_of

# Outputs of which second derivatives are taken at a time.
_AT_A_TIME = 1 << 20
# Of the interval in which a loss's minimum is looked for: 1e-2 to 1e28; and of the last one.
_DOUBLINGS, _BISECTIONS = 100, 120


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
    start = _Start.of(w, v, x, y, loss)
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
    return start.path(torch.stack(path))


def gradient_flow(
    w: ArrayLike,
    v: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    times: ArrayLike = math.inf,
    *,
    loss: Loss | None = None,
) -> TrainingPath:
    """Gradient flow on ``f(x) = ⟨w, v⟩ x`` from its start, at any time and in the limit.

    The flow keeps ``P = p q``. For the squared loss ``p²`` obeys a Riccati equation, so that with
    ``θ* = yx/σ²``, ``R = √(θ*² + P²)`` and ``S = tanh(R σ² t)/R`` it has been multiplied by

        ``ρ = (1 + (θ* + q_0²) S) / (1 + (p_0² - θ*) S)``

    and ``q²`` by ``1/ρ``. In the limit ``⟨w, v⟩`` is ``θ*`` and the sharpness ``2 √(yx² + σ⁴ P²)``,
    twice the rate of convergence. For another convex loss the limit alone is available: its
    minimum ``c*`` has the sharpness ``2 E[l'' x²] √(c*² + P²)``. From ``w = -v`` (``p_0 = 0``) the
    flow cannot reach a positive solution, nor from ``w = v`` a negative one: it ends at the saddle
    ``w = v = 0``.

    Args:
        w: ``(..., m)`` second layers; ``(..., D, m)`` for inputs ``(n, D)`` that do not overlap
            (``x_d x_e = 0``), as :func:`relu_cells` has them.
        v: first layers, of the same shape.
        x: ``(n,)`` inputs, or ``(n, D)``.
        y: ``(n,)`` targets.
        times: ``(T,)`` or a number; infinite for the limit, which is all there is for a loss.
        loss: see :func:`gradient_descent`.

    Returns:
        The path at these times.

    Raises:
        ValueError: bad shape or type, not finite data, a negative time, inputs that overlap, a
            finite time of another loss, or a loss without a minimum that the flow could reach
            (separable data: ``⟨w, v⟩`` grows for ever).

    Source: this project.

    Example:
        >>> path = gradient_flow(w=[1.0, 0.0], v=[0.0, 1.0], x=[1.0], y=[2.0])
        >>> path.inner_product, path.trace  # p_0 = q_0 = 1: the sharpness is 2 √5
        (tensor([2.0000], dtype=torch.float64), tensor([4.4721], dtype=torch.float64))
    """
    start = _Start.of(w, v, x, y, loss)
    if bool((start.moments != start.moments.diagonal().diag_embed()).any()):
        raise ValueError("x: expected inputs that do not overlap, got E[x_d x_e] != 0")
    (times,) = read({"times": "?"}, {"times": math.inf}, times=times)
    if times.ndim > 1 or bool((times < 0).any()):
        raise ValueError(f"times: expected (T,) times of at least 0, got {times.tolist()}")
    times = times.reshape(-1, *[1] * start.p.ndim)
    if loss is None:
        return start.path(_riccati(start, times))
    if not bool(torch.isinf(times).all()):
        raise ValueError(
            "times: expected infinite ones alone, but for the squared loss, got others"
        )
    return start.path(_limit(start).expand(len(times), *[-1] * (start.p.ndim + 1)))


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


def _riccati(start: "_Start", times: Tensor) -> Tensor:
    """The factors ``(T, 2, ...)`` of the squared loss's flow."""
    p2, q2 = start.p.square(), start.q.square()
    moment = start.moments.diagonal() if start.several else start.moments[0, 0]
    target = start.solution if start.several else start.solution[0]
    invariant = start.p * start.q
    radius = torch.hypot(target, invariant)
    safe = torch.where(radius > 0, radius, 1.0)
    # An infinite time of inputs that vanish moves nothing.
    angle = torch.nan_to_num(moment * times, nan=0.0, posinf=math.inf)
    exponent = torch.where(radius > 0, radius * angle, 0.0)
    time = torch.where(radius > 0, torch.tanh(exponent) / safe, angle)
    # 1 - |θ*| S from terms that are not negative; 1 - tanh τ is 2 / (1 + exp 2τ).
    gap = invariant.square() / (safe + target.abs())
    less = (gap + target.abs() * 2 / (1 + torch.exp(2 * exponent))) / safe
    less = torch.where(radius > 0, less, 1.0)
    more = torch.where(radius > 0, 1 + target.abs() * time, 1.0)
    upper, lower = torch.where(target >= 0, more, less), torch.where(target >= 0, less, more)
    upper = upper + torch.where(q2 > 0, q2 * time, 0.0)
    lower = lower + torch.where(p2 > 0, p2 * time, 0.0)
    return _of_squares(start, (upper / lower).sqrt(), (lower / upper).sqrt())


def _of_squares(start: "_Start", plus: Tensor, minus: Tensor) -> Tensor:
    """The factors; what vanishes at the start may take any, and takes 1."""
    plus, minus = torch.where(start.p > 0, plus, 1.0), torch.where(start.q > 0, minus, 1.0)
    return torch.stack([plus, minus], dim=1)


def _limit(start: "_Start") -> Tensor:
    """The factors ``(1, 2, ...)`` at the end of the flow on any loss."""
    solution = _stationary(start)
    reached = ((solution <= 0) | (start.p > 0)) & ((solution >= 0) | (start.q > 0))
    solution = torch.where(reached, solution, 0.0)
    invariant = start.p * start.q
    larger = (solution.abs() + torch.hypot(solution, invariant)).sqrt()
    smaller = invariant / torch.where(larger > 0, larger, 1.0)
    p, q = (torch.where(sign * solution >= 0, larger, smaller) for sign in (1, -1))
    return _of_squares(start, p[None] / start.p, q[None] / start.q)


def _stationary(start: "_Start") -> Tensor:
    """The first ``c`` at which ``δx`` changes its sign, downhill from the start."""
    low = (start.p - start.q) * (start.p + start.q) / 2
    slope = start.slope(low)
    downhill = -torch.sign(slope)
    step = 1e-2 * (1 + low.abs())
    high = low + downhill * step
    for _ in range(_DOUBLINGS):
        beyond = (start.slope(high) * downhill > 0) | (downhill == 0)
        if bool(beyond.all()):
            break
        step = 2 * step
        low, high = (
            torch.where(beyond, low, high),
            torch.where(beyond, high, high + downhill * step),
        )
    else:
        raise ValueError(
            f"loss: expected a minimum of {name_of(start.loss)} downhill from the start, got none "
            "within float64: the flow grows for ever, as on separable data"
        )
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        beyond = start.slope(middle) * downhill >= 0
        low, high = torch.where(beyond, low, middle), torch.where(beyond, middle, high)
    return high


class _Start(NamedTuple):
    """What training needs of a network and its data."""

    p: Tensor
    q: Tensor
    inputs: Tensor  # (n, D)
    targets: Tensor  # (n,)
    moments: Tensor  # (D, D)
    solution: Tensor  # (D,) least squares
    least: Tensor  # () its loss
    loss: Loss | None
    several: bool

    @classmethod
    def of(
        cls, w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike, loss: Loss | None
    ) -> "_Start":
        w, v, x, y = read({"w": "?", "v": "?", "x": "?", "y": "n"}, w=w, v=v, x=x, y=y)
        several = x.ndim == 2
        if x.ndim not in (1, 2) or len(x) != len(y):
            raise ValueError(f"x: expected ({len(y)},) or ({len(y)}, D) as y, got {tuple(x.shape)}")
        inputs = x if several else x[:, None]
        ending = tuple(x.shape[1:])
        if w.shape != v.shape or w.ndim < 1 + several or (w.shape[-2:-1] != ending and several):
            dimensions = ", ".join(["...", *map(str, ending), "m"])
            raise ValueError(
                f"w, v: expected one shape ({dimensions}), got {tuple(w.shape)}, {tuple(v.shape)}"
            )
        root = math.sqrt(0.5)
        moments = inputs.T @ inputs / len(y)
        covariance = inputs.T @ y / len(y)
        solution = torch.linalg.pinv(moments, hermitian=True) @ covariance
        return cls(
            p=root * norm(w + v),
            q=root * norm(w - v),
            inputs=inputs,
            targets=y,
            moments=moments,
            solution=solution,
            least=(inputs @ solution - y).square().mean() / 2,
            loss=loss,
            several=several,
        )

    def outputs(self, products: Tensor) -> Tensor:
        """``(..., n)`` the networks' outputs."""
        return (products if self.several else products[..., None]) @ self.inputs.T

    def slope(self, products: Tensor) -> Tensor:
        """``δx`` of each input."""
        if self.loss is None:
            if self.several:
                return (products - self.solution) @ self.moments
            return (products - self.solution[0]) * self.moments[0, 0]
        return self.covariance(self._first(self.outputs(products)))

    def covariance(self, first: Tensor) -> Tensor:
        """``E[l' x]``."""
        of_inputs = first @ self.inputs / len(self.targets)
        return of_inputs if self.several else of_inputs.squeeze(-1)

    @torch.enable_grad()
    def _first(self, outputs: Tensor) -> Tensor:
        at = outputs.requires_grad_()
        total = elementwise(self.loss)(at, self.targets.expand_as(at)).sum()
        return torch.autograd.grad(total, at)[0]

    def path(self, factors: Tensor) -> TrainingPath:
        """The path of factors ``(T, ...)`` of ``w + v`` and of ``w - v``, ``(T, 2, ...)``."""
        plus, minus = factors.unbind(1)
        p, q = plus * self.p, minus * self.q
        products = (p - q) * (p + q) / 2
        if self.loss is None:
            slope = self.slope(products)
            moments = self.moments.diagonal() if self.several else self.moments[0, 0]
            second = moments.expand_as(slope)
            excess = products - self.solution if self.several else products - self.solution[0]
            risk = (excess * slope).sum(-1) if self.several else excess * slope
            return TrainingPath(plus, minus, p, q, second, slope, self.least + risk / 2)
        parts = [self._moments(part) for part in products.split(self._chunk(products))]
        second, slope, risk = (torch.cat(part) for part in zip(*parts, strict=True))
        return TrainingPath(plus, minus, p, q, second, slope, risk)

    def _chunk(self, products: Tensor) -> int:
        entries = max(1, products[0].numel()) * len(self.targets)
        return max(1, _AT_A_TIME // entries)

    def _moments(self, products: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``E[l'' x²]``, ``E[l' x]`` and the risk; NaN where the network has diverged."""
        outputs, each = self.outputs(products), elementwise(self.loss)
        targets = self.targets.expand_as(outputs)
        values = each(outputs, targets)
        # Their sum has to be a float64, too.
        finite = torch.isfinite(values * values.numel())
        outputs, values = torch.where(finite, outputs, 0.0), torch.where(finite, values, math.nan)
        first, second = (
            torch.where(finite, part, math.nan) for part in derivatives(self.loss, outputs, targets)
        )
        weighted = second @ self.inputs.square() / len(self.targets)
        if not self.several:
            weighted = weighted.squeeze(-1)
        return weighted, self.covariance(first), values.mean(-1)
