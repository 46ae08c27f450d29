"""The terms of eq. (2), and networks in which one of them is larger, the others as they were.

The sharpness is tr/2 + √(sum of three squares)/2, so it has four terms: the imbalance
σ⁴(‖w‖² − ‖v‖²)², the non-collinearity 4σ⁴(‖w‖²‖v‖² − ⟨w, v⟩²), the last square 4(2⟨w, v⟩σ² − yx)²
and the overall norm σ²(‖w‖² + ‖v‖²), which is the trace. Equations are those of singh2026cracking.
"""

from dataclasses import replace

import torch
from torch import Tensor

from hessian_papers.studies.identities.identities.linear.formulas import Moments, squares

# The overall norm is raised by this share of itself.
MORE_NORM = 0.2


def sharpness(of: Moments) -> Tensor:
    """Eq. (2): the large outlier, from its four terms."""
    # Round-off makes the non-collinearity of parallel layers negative.
    return (of.trace + squares(of).clamp_min(0).sum().sqrt()) / 2


def _away_from_zero(value: Tensor, more: Tensor) -> Tensor:
    """The number of the same sign whose square is larger by ``more``; smaller where negative."""
    sign = torch.where(value < 0, -1.0, 1.0).to(value.dtype)
    return sign * (value.square() + more).clamp_min(0).sqrt()


def _with_inner(of: Moments, inner: Tensor, **others: Tensor) -> Moments:
    """Another ⟨w, v⟩, and targets with which 2⟨w, v⟩σ² − yx is as it was."""
    covariance = of.target_covariance + 2 * (inner - of.inner) * of.second_moment
    return replace(of, inner=inner, target_covariance=covariance, **others)


def raised_alone(of: Moments) -> list[Moments]:
    """Imbalance, non-collinearity, last square and norm, each larger than in ``of`` by itself.

    The squares are raised by 2σ⁴⟨w, v⟩², half of what the first two have room for: what they gain
    ⟨w, v⟩² loses, and what that changes of the last square the targets make good.
    """
    half = of.inner.square() / 2
    total, difference = of.w_squared + of.v_squared, of.w_squared - of.v_squared
    apart = _away_from_zero(difference, 4 * half)
    last = 2 * of.inner * of.second_moment - of.target_covariance
    further = _away_from_zero(last, of.second_moment.square() * half)
    more = MORE_NORM * total / 2
    less_aligned = _away_from_zero(of.inner, -half)
    more_aligned = _away_from_zero(of.inner, more * total + more.square())
    return [
        _with_inner(of, less_aligned, w_squared=(total + apart) / 2, v_squared=(total - apart) / 2),
        _with_inner(of, less_aligned),
        replace(of, target_covariance=2 * of.inner * of.second_moment - further),
        _with_inner(of, more_aligned, w_squared=of.w_squared + more, v_squared=of.v_squared + more),
    ]


def weights_of(of: Moments, w: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Layers ``(m,)`` with the norms and the inner product of ``of``, next to w and v.

    v keeps its direction, and with it the signs of its entries; w stays in the plane of both.

    Args:
        of: the moments that they are to have.
        w: second layer ``(m,)``, m at least 2.
        v: first layer ``(m,)``, not zero; entries where both are zero stay zero.
    """
    along = v / v.norm()
    across = w - along * (along @ w)
    if across.norm() <= 1e-8 * w.norm():
        # Parallel layers have no plane: any other direction among the same units will do.
        first = torch.zeros_like(v)
        first[v.abs().argmax()] = 1.0
        across = first - along * (along @ first)
        units = (v != 0).to(v.dtype)
        across = across if across.norm() > 1e-8 else units - along * (along @ units)
    size = of.v_squared.sqrt()
    rest = (of.w_squared - (of.inner / size).square()).clamp_min(0).sqrt()
    return of.inner / size * along + rest * across / across.norm(), size * along
