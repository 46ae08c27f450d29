"""What is wrong in print about the two-layer ReLU network, implemented as it is printed.

A cell is a sign of the input with the neurons that fire there. Equation numbers are those of
singh2026cracking where no other paper is named.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hessian_spectra.studies.identities.identities.formulas import (
    Moments,
    bulk_vector,
    outlier_vector,
    outliers_by_root,
)


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
        """mean(δ x) over the points of the cell, without the factor n_±/n."""
        return self.of.residual_covariance / self.share


def cells(w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> list[Cell]:
    """The cells that have neurons and points, the positive one first."""
    found = [
        Cell.among(sign * v > 0, sign * x > 0, w, v, x, y)
        for sign in (1, -1)
        if bool((sign * v > 0).any()) and bool((sign * x > 0).any())
    ]
    return found


def printed_outlier_vector(cell: Cell, eigenvalue: Tensor) -> Tensor:
    """Eq. (62), (65) (singh2024closed, eq. (64), (65)): λ with the factor n_±/n, δx without it."""
    return outlier_vector(cell.w, cell.v, eigenvalue, cell.printed_residual)


def printed_bulk_value(cell: Cell) -> Tensor:
    """After eq. (64): the bulk eigenvalue without the factor n_±/n that Theorem 3.4 has."""
    return cell.printed_residual


def printed_bulk_vector(cell: Cell, sign: float, c: Tensor) -> Tensor:
    """After eq. (64): "for some vector c", one with entries outside the cell as well."""
    return bulk_vector(cell.w, cell.v, sign, c)


def printed_spectrum(w: Tensor, v: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Theorem 3.4 with its w_- and v_-, which hold the neurons with v_j = 0, too: ``(2m,)``."""
    positive = Cell.among(v > 0, x > 0, w, v, x, y)
    negative = Cell.among(v <= 0, x <= 0, w, v, x, y)
    found = []
    for cell in (positive, negative):
        bulk = cell.of.residual_covariance.expand(int(cell.neurons.sum()) - 1)
        found += [bulk, -bulk, outliers_by_root(cell.of)]
    return torch.cat(found).sort().values
