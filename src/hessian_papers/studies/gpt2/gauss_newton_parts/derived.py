"""The parts of the gap by operation, for the statements and the figure."""

import xarray as xr

from hessian_papers.ledger.bounds import needs
from hessian_papers.studies.gpt2.seeds import ATTENTION, chosen, recorded


def with_operations(data: xr.Dataset) -> xr.Dataset:
    """The data set of a run.

    Raises:
        NothingToMeasure: the run is older than the measurement of the operations.
    """
    recorded(data, "operation_part", "the parts of the operations")
    return data


def shares(data: xr.Dataset) -> xr.DataArray:
    """The share of each operation in ``vᵀFv`` of the networks with attention.

    Both are summed over the kept steps after the start of training.

    Returns:
        Along ``seed`` and ``operation``.

    Raises:
        NothingToMeasure: no such network or step is there, or a sum is not above zero.
    """
    runs = chosen(with_operations(data), variant=ATTENTION)
    runs = runs.isel(step=runs["step"].values > 0)
    whole = runs["functional"].sum("step", skipna=False)
    needs((whole > 0).all(), "in this configuration a run's GGN misses nothing at the top")
    return runs["operation_part"].sum("step", skipna=False) / whole
