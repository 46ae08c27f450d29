"""The outlier pair in training, as both figure and claims read it."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

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
