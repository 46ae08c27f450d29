"""The four terms of the sharpness: what is compared for eq. (2) and for its cells."""

import numpy as np

from hessian_papers.studies.identities.identities.comparison import (
    ROOT,
    Check,
    Compared,
    excess,
    gap,
    worst,
)
from hessian_papers.studies.identities.identities.linear.checks import outliers


def _squared_difference(one: Compared) -> float:
    """(λ_1 − λ_2)² of the measured outliers: what is under the root of eq. (2)."""
    high, low = outliers(one)
    return float((high - low) ** 2)


def _sum_of_terms(one: Compared) -> float:
    """Three squares, none negative, against (λ_1 − λ_2)², and the fourth term against λ_1 + λ_2."""
    squares, scale = one.stated("squares"), one.size**2
    return worst(
        np.abs(squares.sum() - _squared_difference(one)) / scale,
        np.abs(one.number("trace") - outliers(one).sum()) / one.size,
        excess(0.0, squares.min(), scale),
    )


def _raised(one: Compared) -> float:
    """The sharpness with a term raised, and by how much it fails to exceed that before.

    The squares are raised by as much each, so that they raise it by as much.
    """
    found, before = one.measured("raised"), one.eigenvalues[-1]
    squares = found[:3]
    return worst(
        np.abs(found - one.stated("raised")).max() / found.max(),
        np.ptp(squares) / found.max(),
        excess(before, found.min(), found.max()),
    )


def _raised_in_cells(one: Compared) -> float:
    """The same of the cell with the larger sharpness; raised in the other, it never falls."""
    found, before = one.measured("raised"), one.eigenvalues[-1]
    return worst(
        np.abs(found - one.stated("raised")).max() / found.max(),
        excess(before, found.min(), found.max()),
    )


def _last_square(one: Compared, deviation: float) -> float:
    """The last square as measured, (λ_1 − λ_2)² less the others, against 4 times ``deviation``²."""
    others = one.stated("squares")[:2].sum()
    found = _squared_difference(one) - others
    return float(np.abs(found - 4 * deviation**2) / one.size**2)


def _from_half(one: Compared) -> float:
    """δx + σ²⟨w, v⟩ = 2⟨w, v⟩σ² − yx, by σ²⟨w, v⟩ = the cross block's trace less m δx."""
    block = one.matrix()
    half = len(block) // 2
    fit = np.trace(block[half:, :half]) - half * one.number("residual_covariance")
    return _last_square(one, float(one.number("residual_covariance") + fit))


def _from_target(one: Compared) -> float:
    return _last_square(one, float(one.number("residual_covariance")))


CHECKS = {
    "terms": {
        "terms-sum": Check(_sum_of_terms),
        "terms-alone": Check(_raised),
        "terms-last": Check(_from_half, _from_target),
    },
    "cell_terms": {
        "terms-cells": Check(
            gap("sharpness", lambda one: one.eigenvalues[-1], lambda one: one.size), tolerance=ROOT
        ),
        "terms-cells-alone": Check(_raised_in_cells),
    },
}
