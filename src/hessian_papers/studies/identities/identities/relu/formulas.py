"""The cells of the two-layer ReLU network, and what is wrong in print about them.

A cell is a sign of the input with the neurons that fire there. Equation numbers are those of
singh2026cracking.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_papers.studies.identities.identities.linear.formulas import Moments, outliers_by_root


@dataclass(frozen=True)
class Cell:
    """One cell of a ReLU network.

    Args:
        neurons: ``(m,)`` which neurons fire there.
        w: ``(m,)`` the second-layer weights, zero outside the cell.
        v: ``(m,)`` the first-layer weights, zero outside the cell.
        share: n_±/n, the share of points in the cell.
        of: the moments, sums over the cell divided by n.
    """

    neurons: Tensor
    w: Tensor
    v: Tensor
    share: float
    of: Moments

    @classmethod
    def among(
        cls, neurons: Tensor, points: Tensor, w: Tensor, v: Tensor, x: Tensor, y: Tensor
    ) -> "Cell":
        """The cell of the given ``neurons`` ``(m,)`` and ``points`` ``(n,)``, both masks."""
        w, v = w * neurons, v * neurons
        of = Moments.of(w, v, x * points, y * points)
        return cls(neurons, w, v, float(points.double().mean()), of)

    @property
    def printed_residual(self) -> Tensor:
        """mean(δ x) over the points of the cell, without the factor n_±/n that Theorem 3.4 has.

        In print it is the bulk eigenvalue after eq. (64), and beside a λ with the factor in eq.
        (62), (65) (singh2024closed, eq. (64), (65)).
        """
        return self.of.residual_covariance / self.share


def cells(w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> list[Cell]:
    """The cells that have neurons and points, the positive one first."""
    return [
        Cell.among(sign * v > 0, sign * x > 0, w, v, x, y)
        for sign in (1, -1)
        if bool((sign * v > 0).any()) and bool((sign * x > 0).any())
    ]


def relu_hessian(found: Sequence[Cell], m: int) -> Tensor:
    """Theorem 4 of singh2024closed: a sum over the cells, each with rows and columns of its own."""
    total = torch.zeros(2 * m, 2 * m, dtype=torch.float64)
    for cell in found:
        shift = cell.of.residual_covariance * torch.diag(cell.neurons.double())
        cross = cell.of.second_moment * torch.outer(cell.w, cell.v) + shift
        ww, vv = (cell.of.second_moment * torch.outer(a, a) for a in (cell.w, cell.v))
        total += torch.cat([torch.cat([ww, cross], dim=1), torch.cat([cross.mT, vv], dim=1)])
    return total


def relu_gradient(found: Sequence[Cell], m: int) -> Tensor:
    """Eq. (35) and (36) of singh2024closed, averaged: ``(2m,)``, of v and of w."""
    total = torch.zeros(2 * m, dtype=torch.float64)
    for cell in found:
        total += cell.of.residual_covariance * torch.cat([cell.w, cell.v])
    return total


def relu_outputs(w: Tensor, v: Tensor, x: Tensor) -> Tensor:
    """⟨w_+, v_+⟩x for x > 0 and ⟨w_-, v_-⟩x for x < 0, ``(n,)``."""
    slopes = [(w * v)[sign * v > 0].sum() for sign in (1, -1)]
    return torch.where(x > 0, slopes[0], slopes[1]) * x


def printed_outputs(w: Tensor, v: Tensor, x: Tensor) -> Tensor:
    """The same with the step function 1{a > 0} in the place of the ReLU, as printed."""
    return (x[:, None] * v > 0).double() @ w


def printed_spectrum(w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Theorem 3.4 with its w_- and v_-, which hold the neurons with v_j = 0, too: ``(2m,)``."""
    positive = Cell.among(v > 0, x > 0, w, v, x, y)
    negative = Cell.among(v <= 0, x <= 0, w, v, x, y)
    found = []
    for cell in (positive, negative):
        bulk = cell.of.residual_covariance.expand(int(cell.neurons.sum()) - 1)
        found += [bulk, -bulk, outliers_by_root(cell.of)]
    return torch.cat(found).sort().values
