"""Which networks of an ensemble are left when those that diverged are left out."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from hessian_papers.labelled import left_out
from hessian_papers.results import DIVERGED


def surviving(
    networks: xr.Dataset, axis: str, names: Sequence[str] = (), least: int = 1
) -> tuple[list[str], list[int]]:
    """The largest full grid of architectures and seeds of which no network diverged.

    Architectures and trainings alike are compared seed by seed: with a network that diverged, those
    of its seed, or all of its architecture, are left out, whichever are fewer.

    Args:
        networks: an ensemble, with which of them ``diverged``.
        axis: what its architectures are called, ``network`` or ``variant``.
        names: some of them; empty for all.
        least: seeds that there have to be.

    Returns:
        Their names and the seeds, in the ensemble's order; nothing if there are too few.

    Example:
        >>> networks = xr.Dataset({"network": ["a", "b"], "seed": [4, 5, 6]})
        >>> diverged = [[True, True, True], [False, True, False]]
        >>> networks["diverged"] = (("network", "seed"), diverged)
        >>> surviving(networks, "network")
        (['b'], [4, 6])
    """
    seeds = networks["seed"].values.tolist()
    kept = ~networks[DIVERGED]
    left = {name: kept.sel({axis: name}).values for name in names or networks[axis].values.tolist()}
    best: tuple[list[str], list[int]] = [], []
    # Those with the most seeds first: of as many architectures these have the most in common.
    order = sorted(left, key=lambda name: -int(left[name].sum()))
    for count in range(1, len(order) + 1):
        common = np.all([left[name] for name in order[:count]], axis=0)
        chosen = [name for name in left if name in order[:count]]
        if common.sum() >= least and len(chosen) * common.sum() > len(best[0]) * len(best[1]):
            best = chosen, [seed for seed, whole in zip(seeds, common, strict=True) if whole]
    return best


def noted(data: xr.Dataset, given: xr.Dataset) -> xr.Dataset:
    """The data that a study has of an ensemble, with how many of its networks diverged if any did.

    Args:
        data: of the study; nothing where it has no networks left.
        given: the samples or networks that the study started from.
    """
    return left_out(data, int(given.get(DIVERGED, xr.DataArray(0)).sum()))
