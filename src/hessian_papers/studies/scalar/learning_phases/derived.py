"""What both figure and claims derive from the outlier pairs of random networks."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.spectra import group

# The numerical eigenvalues carry an error of about 1e-15 of the largest one.
RESOLVED = 1e-12


def select_signs(data: xr.Dataset, *signs: int) -> xr.Dataset:
    """The networks whose solution θ* has one of some signs: 1, −1 or 0.

    Raises:
        NothingToMeasure: there is none.
    """
    chosen = np.isin(np.sign(data["solution"]), signs)
    if not chosen.any():
        words = " or ".join(map(str, signs))
        raise NothingToMeasure(f"this configuration has no network whose θ* has sign {words}")
    return data.isel(network=chosen)


def pair(data: xr.Dataset, of: str = "numerical") -> tuple[xr.DataArray, xr.DataArray]:
    """The outliers λ₁ and λ₂ of each network.

    Args:
        data: the networks.
        of: ``exact`` or ``numerical``.
    """
    small, large = group(data, "outlier", of=of).transpose("rank", ...)
    return large, small


def printed_phases(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Which networks are in the late phase, and which in another one, by ⟨w, v⟩ as in print.

    A network may be in both, or in none.
    """
    alignment, solution = data["alignment"], data["solution"]
    late = (alignment >= solution / 3) & (alignment <= solution)
    return late, (alignment <= solution / 3) | (alignment >= solution)


def contradict(data: xr.Dataset, late: xr.DataArray, outside: xr.DataArray) -> xr.DataArray:
    """Whether a network's pair contradicts a phase that it is in.

    λ₁ ≤ tr and λ₂ ≥ 0 in the late phase, the opposite of both in the others.

    Args:
        data: the networks.
        late: which of them are in the late phase.
        outside: which of them are in another one.
    """
    large, small = pair(data)
    margin, excess = RESOLVED * large, large - data["trace"]
    late = late & ((small < -margin) | (excess > margin))
    return late | (outside & ((small > margin) | (excess < -margin)))
