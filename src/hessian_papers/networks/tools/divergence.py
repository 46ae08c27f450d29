"""Which networks of an ensemble are left when those that diverged are left out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hessian_papers.labelled import left_out
from hessian_papers.results import DIVERGED
from hessian_spectra.files import Arrays


def surviving(
    networks: Arrays, axis: str, names: Sequence[str] = (), least: int = 1
) -> tuple[list[str], list[int]]:
    """The largest full grid of architectures and seeds of which no network diverged.

    Architectures and trainings alike are compared seed by seed: with a network that diverged, those
    of its seed, or all of its architecture, are left out, whichever are fewer.

    Args:
        networks: the arrays of an ensemble; without ``diverged``, of older code, none did.
        axis: what its architectures are called, ``network`` or ``variant``.
        names: some of them; empty for all.
        least: seeds that there have to be.

    Returns:
        Their names and the seeds, in the ensemble's order; nothing if there are too few.

    Example:
        >>> networks = {"network": np.array(["a", "b"]), "seed": np.array([4, 5, 6])}
        >>> networks["diverged"] = np.array([[True, True, True], [False, True, False]])
        >>> surviving(networks, "network")
        (['b'], [4, 6])
    """
    places, seeds = networks[axis].tolist(), networks["seed"].tolist()
    diverged = networks.get(DIVERGED, np.zeros((len(places), len(seeds)), dtype=bool))
    left = {name: ~diverged[places.index(name)] for name in names or places}
    best: tuple[list[str], list[int]] = [], []
    # Those with the most seeds first: of as many architectures these have the most in common.
    order = sorted(left, key=lambda name: -int(left[name].sum()))
    for count in range(1, len(order) + 1):
        common = np.all([left[name] for name in order[:count]], axis=0)
        chosen = [name for name in left if name in order[:count]]
        if common.sum() >= least and len(chosen) * common.sum() > len(best[0]) * len(best[1]):
            best = chosen, [seed for seed, whole in zip(seeds, common, strict=True) if whole]
    return best


def noted(data: xr.Dataset | Mapping[str, Any], networks: Arrays) -> xr.Dataset:
    """What a study has of an ensemble, with how many of its networks diverged if any did.

    Args:
        data: of the study; nothing where it has no networks left.
        networks: the arrays that the study started from.
    """
    whole = data if isinstance(data, xr.Dataset) else xr.Dataset(data)
    return left_out(whole, int(np.sum(networks.get(DIVERGED, 0))))
