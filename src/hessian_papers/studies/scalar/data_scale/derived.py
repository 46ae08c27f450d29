"""Groups of eigenvalues over the scale of the inputs that both figure and claims derive."""

from typing import Literal

import xarray as xr

from hessian_papers.studies.spectra import group, spectra

TARGETS = ("fixed", "scaled")

Group = Literal["bulk", "outlier 1", "outlier 2"]
# What would be proportional to σ_x²; λ_2 is small and changes its sign.
PROPORTIONAL: tuple[Group, ...] = ("bulk", "outlier 1")


def eigenvalues(data: xr.Dataset, name: Group, of: str = "exact") -> xr.DataArray:
    """The bulk, λ_1 (the large outlier) or λ_2 of one network, along ``rank``.

    Args:
        data: the spectra of one network, with one way to treat the targets or more.
        name: which of them.
        of: ``exact`` or ``numerical``.
    """
    if name == "bulk":
        return group(data, "bulk", of=of)
    return group(data, "outlier", of=of).isel(rank=[1 if name == "outlier 1" else 0])


def departure(data: xr.Dataset, name: Group, of: str = "exact") -> xr.DataArray:
    """The departure of a group of eigenvalues from proportional to σ_x², along ``second_moment``.

    |(λ/σ_x²) / (λ/σ_x² at the largest σ_x²) - 1|, whichever of the networks gives more.
    """
    values = [
        eigenvalues(spectra(data, network=network), name, of).isel(rank=0)
        for network in data.network.values
    ]
    slopes = xr.concat(values, "network") / data.second_moment
    return abs(slopes / slopes.isel(second_moment=-1) - 1).max("network", skipna=False)
