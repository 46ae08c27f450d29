"""Gradient flow of the two-layer linear network, of any width: its time course and its end."""

import math

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, read
from hessian_spectra.closed_form._losses import Loss, name_of
from hessian_spectra.closed_form._training import Start
from hessian_spectra.closed_form.two_layer_training import TrainingPath

# Of the interval in which a loss's minimum is looked for, from 1e-2 to 1e28, and of the last one.
_DOUBLINGS, _BISECTIONS = 100, 120


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
    start = Start.of(w, v, x, y, loss)
    if bool((start.gram != start.gram.diagonal().diag_embed()).any()):
        raise ValueError("x: expected inputs that do not overlap, got E[x_d x_e] != 0")
    (times,) = read({"times": "?"}, {"times": math.inf}, times=times)
    if times.ndim > 1 or bool((times < 0).any()):
        raise ValueError(f"times: expected (T,) times of at least 0, got {times.tolist()}")
    times = times.reshape(-1, *[1] * start.p.ndim)
    if loss is None:
        return TrainingPath(*start.along(_riccati(start, times)))
    if not bool(torch.isinf(times).all()):
        raise ValueError(
            "times: expected infinite ones alone, but for the squared loss, got others"
        )
    limit = _limit(start).expand(len(times), *[-1] * (start.p.ndim + 1))
    return TrainingPath(*start.along(limit))


def _riccati(start: Start, times: Tensor) -> Tensor:
    """The factors ``(T, 2, ...)`` of the squared loss's flow."""
    p2, q2 = start.p.square(), start.q.square()
    moment, target = start.second_moment, start.solution
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


def _of_squares(start: Start, plus: Tensor, minus: Tensor) -> Tensor:
    """The factors; what vanishes at the start may take any, and takes 1."""
    plus, minus = torch.where(start.p > 0, plus, 1.0), torch.where(start.q > 0, minus, 1.0)
    return torch.stack([plus, minus], dim=1)


def _limit(start: Start) -> Tensor:
    """The factors ``(1, 2, ...)`` at the end of the flow on any loss."""
    solution = _stationary(start)
    reached = ((solution <= 0) | (start.p > 0)) & ((solution >= 0) | (start.q > 0))
    solution = torch.where(reached, solution, 0.0)
    invariant = start.p * start.q
    larger = (solution.abs() + torch.hypot(solution, invariant)).sqrt()
    smaller = invariant / torch.where(larger > 0, larger, 1.0)
    p, q = (torch.where(sign * solution >= 0, larger, smaller) for sign in (1, -1))
    return _of_squares(start, p[None] / start.p, q[None] / start.q)


def _stationary(start: Start) -> Tensor:
    """The first ``c`` at which ``δx`` changes its sign, downhill from the start."""
    low = start.product
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
