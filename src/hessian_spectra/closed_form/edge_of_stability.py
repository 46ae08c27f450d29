"""The end of training and its learning rates, from a two-layer linear network's start."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, read, require_all
from hessian_spectra.closed_form._training import Start
from hessian_spectra.closed_form.attention_bounds import Bounds


class LearningRates(NamedTuple):
    """Where gradient descent on ``f(x) = ⟨w, v⟩ x`` changes its behaviour, from a start.

    Attributes:
        monotone: ``(...)``. At most this rate, ``⟨w, v⟩`` goes to ``θ*`` without passing it and the
            trace never falls, unless ``w = v = 0``. 0 unless ``⟨w, v⟩`` starts between 0 and
            ``θ*``.
        edge: ``(...)`` 2 / the sharpness at which gradient flow ends, if it ends at a minimum.
            Above, that minimum is unstable: descent ends at a flatter one, whose sharpness is at
            most ``2/η``.
        critical: ``(...)``. Below, descent converges to a minimum from almost every start, above
            from almost none. It is at most ``1/|yx|``, beyond which no minimum is stable.
    """

    monotone: Tensor
    edge: Tensor
    critical: Tensor


def learning_rates(w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike) -> LearningRates:
    """The learning rates at which gradient descent changes, on the squared loss.

    With ``c = ⟨w, v⟩``, ``P = p q`` as in :class:`~hessian_spectra.closed_form.TrainingPath`, both
    at the start, and ``θ* = yx/σ²``:

        ``edge = 1 / (σ² √(θ*² + P²))``,  ``monotone = edge / 2``,
        ``critical = min(1/|yx|, 4 / (σ² (√(c² + P²) + √((c - 2θ*)² + P²))))``.

    The last one is an ellipse in the plane of ``(c, P)``, with foci at ``c = 0`` and ``2θ*``, and
    in that of ``(p, q)``: ``σ²p²/(2/η + yx) + σ²q²/(2/η - yx) < 2/η``. A step multiplies what is to
    vanish on it, ``η T - 4 - η² yx δx`` with ``T`` the Hessian's trace, by ``1 + η² σ² δx c``.
    Inside, descent with ``η |yx| < 1`` converges; on it descent is chaotic; outside it diverges.
    The starts that are excepted have measure zero: they meet ``η |δx| = 1`` or ``δx = 0`` exactly.

    Args:
        w: ``(..., m)`` second layers.
        v: ``(..., m)`` first layers.
        x: ``(n,)`` inputs.
        y: ``(n,)`` targets.

    Returns:
        The rates; infinite where every rate is below.

    Raises:
        ValueError: bad shape or type, not finite data.

    Source: this project. Liang and Montúfar, arXiv 2509.25351, announce the exact critical step
    size of scalar-vector factorisation in the abstract; the full text was not read. ``critical`` is
    likely theirs.

    Example:
        >>> rates = learning_rates(w=[1.0, 0.0], v=[0.0, 1.0], x=[1.0], y=[0.75])
        >>> rates.monotone, rates.edge  # p_0 = q_0 = 1: the flow ends at the sharpness 2.5
        (tensor(0.4000, dtype=torch.float64), tensor(0.8000, dtype=torch.float64))
        >>> rates.critical  # 1 / yx
        tensor(1.3333, dtype=torch.float64)
        >>> learning_rates(w=[2.0], v=[0.0], x=[1.0], y=[0.0]).critical  # 4 / the sharpness
        tensor(1.0000, dtype=torch.float64)
    """
    start = Start.of(w, v, x, y, single=True)
    moment, covariance = start.second_moment, start.target_covariance
    target, product = start.solution, start.product
    invariant = moment * start.p * start.q
    edge = 1 / torch.hypot(covariance, invariant)
    between = (product * target >= 0) & (product.abs() <= target.abs())
    # T² - 16 yx δx as a sum of squares.
    distances = torch.hypot(moment * product, invariant) + torch.hypot(
        moment * product - 2 * covariance, invariant
    )
    return LearningRates(
        monotone=torch.where(between, edge / 2, 0.0),
        edge=edge,
        critical=torch.minimum(1 / covariance.abs(), 4 / distances),
    )


def final_sharpness_bounds(
    w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike, learning_rate: ArrayLike
) -> Bounds:
    """Bounds on the sharpness at which gradient descent ends, from its start, without a step.

    On the squared loss. Below the critical rate descent ends from almost every start (see
    :func:`learning_rates`) at a minimum of a sharpness between ``2|yx|`` and ``2/η``. Up to the
    monotone rate it is at most the flow's, ``2 √(yx² + σ⁴ P²)``, and at least ``2 √(yx² + σ⁴ P²
    g^{-κ})``, where ``g = (|θ*| + √(θ*² + P²)) / p_0²`` bounds the growth of ``p²`` (with ``q_0``
    for ``p_0`` where ``θ* < 0``) and ``κ = log(1 - s²) / log(1 / (1 + s))``, with ``s = η |δx|`` at
    the start, is about ``s``.

    Args:
        w: ``(..., m)`` second layers.
        v: ``(..., m)`` first layers.
        x: ``(n,)`` inputs.
        y: ``(n,)`` targets.
        learning_rate: ``(...)``, broadcast with the batch of networks.

    Returns:
        The bounds, ``(...)`` each; NaN from the critical rate on.

    Raises:
        ValueError: bad shape or type, not finite data.

    Source: this project.

    Example:
        >>> lower, upper = final_sharpness_bounds([1, 0], [0, 1], [1], [0.75], [0.1, 1.0])
        >>> lower  # 1.5 is 2 yx
        tensor([2.4575, 1.5000], dtype=torch.float64)
        >>> upper  # the flow's, and 2 / η
        tensor([2.5000, 2.0000], dtype=torch.float64)
    """
    start, rates = Start.of(w, v, x, y, single=True), learning_rates(w, v, x, y)
    (rate,) = read({"learning_rate": "?"}, learning_rate=learning_rate)
    covariance, target = start.target_covariance.abs(), start.solution
    invariant = start.p * start.q
    end = 2 * torch.hypot(covariance, start.second_moment * invariant)
    growing = torch.where(target >= 0, start.p, start.q)
    step = rate * start.slope(start.product).abs()
    power = torch.where(step > 0, -torch.log1p(-step) / torch.log1p(step) - 1, 0.0)
    # p_0 / p at the end of the flow, at most 1 in the monotone regime.
    ratio = growing / (target.abs() + torch.hypot(target, invariant)).sqrt()
    left = torch.where(ratio > 0, invariant * ratio**power, 0.0)
    lower = 2 * torch.hypot(covariance, start.second_moment * left)
    monotone = rate <= rates.monotone
    lower = torch.where(monotone, lower, 2 * covariance)
    upper = torch.where(monotone, end, 2 / rate)
    beyond = rate >= rates.critical
    return Bounds(*(torch.where(beyond, math.nan, bound) for bound in (lower, upper)))


def sharpness_grows(inner_product: ArrayLike, invariant: ArrayLike, solution: ArrayLike) -> Tensor:
    """Whether the largest eigenvalue at the end of gradient flow exceeds that at its start.

    On the squared loss. Where ``⟨w, v⟩`` and ``θ*`` have one sign, as the trace: exactly if
    ``|⟨w, v⟩| < |θ*|``. Where they have opposite signs, with ``r = |⟨w, v⟩/θ*|`` and ``P = p q`` at
    the start, exactly if ``r < 1/3`` and

        ``r <= 1/5``  or  ``P² < 3 θ*² (1 - 3r)(1 - r)(3 + r) / (8 (5r - 1))``.

    Where ``P = 0`` and ``⟨w, v⟩ θ* <= 0`` the flow ends at the saddle, and nothing grows.

    Args:
        inner_product: ``⟨w, v⟩`` at the start, of any shape that broadcasts with the others.
        invariant: ``P = ‖w + v‖ ‖w - v‖ / 2``.
        solution: ``θ* = mean(yx)/mean(x²)``.

    Returns:
        ``(...)`` of booleans.

    Raises:
        ValueError: shapes that do not broadcast, a negative ``invariant``, or numbers that are not
            finite.

    Source: this project, from singh2026cracking, eq. (2).

    Example:
        >>> sharpness_grows([0.5, -0.15, -0.25, -0.25, -0.4], [1, 9, 0.9, 2, 0], 1.0)
        tensor([ True,  True,  True, False, False])
    """
    inner, invariant, solution = broadcast(
        inner_product=inner_product, invariant=invariant, solution=solution
    )
    require_all("invariant", invariant, invariant >= 0, "no negative value")
    size = torch.where(solution != 0, solution.abs(), 1.0)
    ratio = inner.abs() / size
    bound = 3 * (1 - 3 * ratio) * (1 - ratio) * (3 + ratio)
    small = 8 * (5 * ratio - 1) * (invariant / size).square() < bound
    alike = torch.where(inner * solution >= 0, ratio < 1, (ratio < 1 / 3) & small)
    moves = (solution != 0) & ((invariant > 0) | (inner * solution > 0))
    return alike & moves
