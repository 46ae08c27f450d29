"""Both outliers of many two-layer linear networks at once, at a point and under descent."""

from typing import NamedTuple

import numpy as np


class Outliers(NamedTuple):
    """The quantities of Theorem 1 on the networks' outliers, ``(N, ...)`` each.

    Attributes:
        residual: δx = ⟨w, v⟩ E[x²] − E[yx].
        large: λ₁.
        small: λ₂.
    """

    residual: np.ndarray
    large: np.ndarray
    small: np.ndarray


def outliers(weights: np.ndarray, second_moment: float, moment: np.ndarray | float) -> Outliers:
    """The outliers λ₁ and λ₂ of networks ⟨w, v⟩ x, without cancellation.

    Args:
        weights: v and w, ``(N, ..., 2, m)``.
        second_moment: E[x²].
        moment: E[yx], any shape that goes with ``(N, ...)``.

    Source: singh2024closed, Theorem 1; λ₂ by the product λ₁ λ₂ below it.

    Example:
        >>> values = outliers(np.array([[[1.0, 0.0], [2.0, 0.0]]]), 1.0, 1.0)
        >>> (values.large + values.small).round(12), (values.large * values.small).round(12)
        (array([5.]), array([-5.]))
    """
    v, w = weights[..., 0, :], weights[..., 1, :]
    fit = second_moment * (v * w).sum(axis=-1)
    p, q = ((w + v) ** 2).sum(axis=-1) / 2, ((w - v) ** 2).sum(axis=-1) / 2
    residual = fit - moment
    large = second_moment * (p + q) / 2 + np.hypot(
        residual + second_moment * (p - q) / 2, second_moment * np.sqrt(p) * np.sqrt(q)
    )
    return Outliers(residual, large, -residual * (3 * fit - moment) / large)


def course(
    weights: np.ndarray,
    second_moment: float,
    moment: np.ndarray | float,
    *,
    rate: float,
    momentum: float = 0.0,
    steps: int,
) -> Outliers:
    """The outliers along heavy-ball descent from rest, ``(steps + 1, N, ...)`` each.

    Where a training diverges they are infinite or no numbers from some step on.

    Args:
        weights: v and w at the start, ``(N, ..., 2, m)``.
        second_moment: E[x²].
        moment: E[yx], any shape that goes with ``(N, ...)``.
        rate: the learning rate.
        momentum: of the heavy ball.
        steps: number of updates.
    """
    recorded, velocity = [], np.zeros_like(weights)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps + 1):
            recorded.append(outliers(weights, second_moment, moment))
            gradient = recorded[-1].residual[..., None, None] * weights[..., ::-1, :]
            velocity = momentum * velocity + gradient
            weights = weights - rate * velocity
    return Outliers(*map(np.array, zip(*recorded, strict=True)))
