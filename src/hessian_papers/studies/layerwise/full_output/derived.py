"""What both figure and claims derive from the top of the full Hessian."""

import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure


def outliers(data: xr.Dataset) -> int:
    """``c − 1``, as many outliers as the paper expects for c classes.

    Raises:
        NothingToMeasure: the study has fewer eigenvalues.
    """
    count = int(data["classes"]) - 1
    if not 1 <= count <= data.sizes["rank"]:
        raise NothingToMeasure(f"this configuration has fewer than {count} eigenvalues")
    return count
