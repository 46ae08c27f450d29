"""The outlier pair in training, and the bulk, as figure and claims read them."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from hessian_papers.ledger.bounds import Estimate, needs, share_by

# A ReLU network's other cell may have eigenvalues so much larger that the pair drowns in their
# rounding: below this share of the largest it is left out.
LOST = 1e-4

# Below this share of the large outlier the small one has reached zero.
AT_ZERO = 1e-6

# Below this share of the large outlier the small one is round-off, and its sign means nothing.
RESOLVED = 1e-12

# How many of the last resolved steps tell from which side the small outlier reaches zero: more than
# two half periods of the oscillation that momentum 0.9 makes.
LAST = 20


def pair(data: xr.Dataset, of: str = "exact") -> tuple[xr.DataArray, xr.DataArray]:
    """The outliers λ₁ and λ₂ of runs at each step, for a ReLU network of the positive cell.

    Args:
        data: one run or more, at some steps; where a run has no spectrum the pair is NaN.
        of: ``exact`` or ``numerical``.
    """
    outliers = data[of].where((data["kind"] == "outlier") & (data["cell"] != "-"))
    return outliers.max("rank"), outliers.min("rank")


def small_share(data: xr.Dataset) -> xr.DataArray:
    """|λ₂| / λ₁ of runs at each step."""
    large, small = pair(data)
    return abs(small) / large


def draws(config: Mapping[str, Any]) -> bool:
    """A study is drawn if it follows the pair, as the papers do."""
    return bool(config["follows"] == "pair")


def largest(data: xr.Dataset, differences: xr.DataArray, power: int = 1) -> float:
    """The largest difference relative to a power of λ₁, where that is not lost in rounding."""
    large, _ = pair(data, "numerical")
    kept = large > LOST * abs(data["numerical"]).max("rank")
    needs(
        kept.any(),
        "this configuration has no step at which the pair stands out of the rounding of "
        "larger eigenvalues",
    )
    return float((abs(differences) / large**power).where(kept).max())


def at_zero(data: xr.Dataset, rates: str, side: float) -> xr.DataArray:
    """The weights whose small outlier reaches zero from a side, at ordinary or high rates."""
    return (data[f"{rates}_side"] == side) & (data[f"{rates}_share"] < AT_ZERO)


def share_of_converging(data: xr.Dataset, rates: str, holds: xr.DataArray) -> Estimate:
    """The share of what holds, of weights and settings of which training does not diverge."""
    known = data[f"{rates}_share"].notnull()
    needs(
        known.any(), "this configuration has no other initial weights from which training converges"
    )
    return share_by("seed", holds, known)


def largest_of(values: xr.DataArray, *optimizers: str) -> float:
    """The largest value over the runs by some optimizers and all their steps."""
    chosen = values.sel(run=values["run"].isin(optimizers))
    needs(
        not chosen.isnull().all(),
        f"this configuration has no run {' or '.join(optimizers)} with a step at which the "
        "bulk can be told from the outliers",
    )
    return float(chosen.max())
