"""The outlier pair in training, and the bulk, as figure and claims read them."""

import xarray as xr

from hessian_papers.ledger.bounds import needs

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


def converging(share: xr.DataArray, holds: xr.DataArray) -> xr.DataArray:
    """Whether something holds, of the weights from which training does not diverge.

    Args:
        share: |λ₂|/λ₁ at the end ``(seed,)``, NaN where it diverged.
        holds: ``(seed,)``.
    """
    kept = share.notnull()
    needs(
        kept.any(), "this configuration has no other initial weights from which training converges"
    )
    return holds[kept.values]


def largest_of(values: xr.DataArray, *optimizers: str) -> float:
    """The largest value over the runs by some optimizers and all their steps."""
    chosen = values.sel(run=values["run"].isin(optimizers))
    needs(
        not chosen.isnull().all(),
        f"this configuration has no run {' or '.join(optimizers)} with a step at which the "
        "bulk can be told from the outliers",
    )
    return float(chosen.max())
