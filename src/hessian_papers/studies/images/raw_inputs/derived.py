"""Trainings on raw inputs that did not diverge, and their late epochs."""

import xarray as xr

from hessian_papers.ledger.bounds import needs

# The part of the epochs after which a training is late.
LATE = 0.2


def of_network(data: xr.Dataset) -> xr.Dataset:
    """The replicates of which no training diverged.

    Args:
        data: of one image set and number of layers.

    Raises:
        NothingToMeasure: there is none.
    """
    clean = ~data["diverged"].any("share")
    needs(clean.any(), "in this configuration training diverges")
    return data.sel(replicate=clean)


def late(data: xr.Dataset) -> xr.Dataset:
    """The recorded epochs from a fifth of all on."""
    return data.sel(epoch=data["epoch"] >= LATE * data["epoch"].max())
