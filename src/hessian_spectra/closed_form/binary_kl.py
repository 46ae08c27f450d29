"""The divergence of two Bernoulli distributions, and its inverse: every error bound ends in it."""

import math

import torch
from torch import Tensor

from hessian_spectra.closed_form._inputs import ArrayLike, broadcast, require_all

# Below it `u − ln(1 + u)` is summed as a series, each term of which is 49 times the next.
_SMALL = 0.25
_TERMS = 10
_LARGEST = torch.finfo(torch.float64).max


def binary_kl(q: ArrayLike, p: ArrayLike) -> Tensor:
    """``kl(q, p) = q ln(q/p) + (1 − q) ln((1 − q)/(1 − p))``, the divergence of two error rates.

    It is summed as two terms that are not negative, so that nothing is lost for ``p`` near ``q``.

    Args:
        q: in [0, 1], any shape.
        p: in [0, 1], of a shape that broadcasts with it.

    Returns:
        float64, of the common shape; infinite where ``p`` is 0 or 1 and ``q`` is not.

    Raises:
        ValueError: a number outside [0, 1], shapes that do not broadcast, or numbers that are not
            finite.

    Source: wu2022dissecting, Theorem 6.1.

    Example:
        >>> binary_kl([0.0, 0.5, 0.5], [0.5, 0.5, 1.0])
        tensor([0.6931, 0.0000,    inf], dtype=torch.float64)
    """
    q, p = broadcast(q=q, p=p)
    for name, value in (("q", q), ("p", p)):
        require_share(name, value)
    ratio = p / q
    # Where the ratio is no normal float64, its logarithm is the difference of two.
    normal = (ratio >= torch.finfo(ratio.dtype).smallest_normal) & (ratio <= _LARGEST)
    logarithm = torch.where(normal, torch.log(ratio), torch.log(p) - torch.log(q))
    ones = _part(q, p - q, logarithm)
    return ones + _part(1 - q, q - p, torch.log((1 - p) / (1 - q)))


def kl_inverse(q: ArrayLike, c: ArrayLike) -> Tensor:
    """The largest ``p ≥ q`` with ``kl(q, p) ≤ c``: what an error rate of ``q`` leaves possible.

    Newton's method for ``v = ln((1 − q)/(1 − p))``, in which ``kl`` is convex and increasing, from
    above: each step comes nearer and none passes the solution, so nothing is searched in vain and
    the result is at no place too small by more than rounding.

    Args:
        q: in [0, 1], any shape.
        c: not negative, of a shape that broadcasts with it; it may be infinite.

    Returns:
        float64 in [q, 1], of the common shape. ``1 − exp(−c)`` for ``q = 0``, 1 for ``q = 1`` or
        infinite ``c``, and ``q`` itself for ``c = 0``.

    Raises:
        ValueError: ``q`` outside [0, 1], ``c`` negative, shapes that do not broadcast, or NaN.

    Source: wu2022dissecting, eq. (275), after Langford and Seeger (2001), Bounds for averaging
    classifiers.

    Example:
        >>> kl_inverse([0.0, 0.5, 1.0], math.log(2))
        tensor([0.5000, 0.9330, 1.0000], dtype=torch.float64)
    """
    q, c = broadcast({"c": math.inf}, q=q, c=c)
    require_share("q", q)
    require_all("c", c, c >= 0, "no negative number")
    moves = (q < 1) & (c > 0) & c.isfinite()
    # Where nothing moves some numbers stand in for those that have no v.
    start, budget = torch.where(moves, q, 0.5), torch.where(moves, c, 1.0)
    rest = 1 - start
    v = _upper(start, budget)
    while True:
        distance = -rest * torch.expm1(-v)
        ones = torch.log1p((distance / start).clamp_max(_LARGEST))
        excess = _part(start, distance, ones) + _part(rest, -distance, -v) - budget
        # The derivative is distance / p.
        step = (excess * (start + distance) / distance).clamp_min(0.0)
        v = v - step
        if not bool((step > 1e-15 * v).any()):
            break
    values = torch.minimum(start - rest * torch.expm1(-v), torch.ones_like(start))
    return torch.where(moves, values, torch.where(c > 0, 1.0, q))


def require_share(name: str, values: Tensor) -> None:
    """Refuse numbers that are not within [0, 1].

    Raises:
        ValueError: some are not.
    """
    require_all(name, values, (values >= 0) & (values <= 1), "numbers in [0, 1]")


def _upper(q: Tensor, c: Tensor) -> Tensor:
    """A ``v`` that is not too small, from bounds on ``p − q`` and on ``1 − p``.

    ``kl ≥ (p − q)²/(2 max x(1 − x))``, the largest of x in [q, p]: that is ``1/4`` at most,
    ``q (1 − q)`` for ``q ≥ 1/2``, and no more than ``p``. Where these leave nothing of ``1 − q``,
    ``kl ≥ −H(q) − (1 − q) ln(1 − p)`` with the entropy ``H`` does.
    """
    rest = 1 - q
    # (c + √(c² + 2qc)) solves d² = 2c (q + d); scaled, so that no square underflows.
    ratio, pinsker = q / c, torch.sqrt(c) / math.sqrt(2)
    below_half = torch.where(ratio < 1e300, c * (1 + torch.sqrt(1 + 2 * ratio)), pinsker)
    distance = torch.where(q < 0.5, below_half, torch.sqrt(2 * q * rest) * torch.sqrt(c))
    distance = torch.minimum(distance, pinsker)
    entropy = -torch.special.xlogy(q, q) - torch.special.xlog1py(rest, -q)
    far = (c + entropy) / rest + torch.log(rest)
    # A little more than the bounds, which are met exactly for some q and not to the last digit.
    near = -torch.log1p(-(distance / rest * (1 + 1e-12)).clamp_max(1.0))
    # Beyond 800, 1 − p is no float64 any more.
    return torch.minimum(near, (far * (1 + 1e-12) + 1e-12).clamp_max(800.0))


def _part(weight: Tensor, distance: Tensor, logarithm: Tensor) -> Tensor:
    """``weight (u − ln(1 + u))`` with ``u = distance/weight``, given ``ln(1 + u)``.

    The ones' part of the divergence with weight ``q`` and distance ``p − q``, and the zeros' with
    ``1 − q`` and ``q − p``: the linear terms of the two cancel, and neither is negative.
    """
    u = torch.where(weight > 0, distance / weight, math.inf)
    whole = distance - torch.where(weight > 0, weight * logarithm, 0.0)
    return torch.where(u.abs() < _SMALL, weight * _series(u), whole)


def _series(u: Tensor) -> Tensor:
    """``u − ln(1 + u)`` for small ``u``: ``ln(1 + u) = 2 artanh(r)`` with ``r = u/(2 + u)``."""
    r = u / (2 + u)
    total = torch.zeros_like(r)
    for power in range(2 * _TERMS + 1, 1, -2):
        total = total * r.square() + 1 / power
    return u * r - 2 * r**3 * total
