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
    """The share of each operation in ``vᵀFv`` of the networks with attention, at the last step.

    Returns:
        Along ``seed`` and ``operation``.

    Raises:
        NothingToMeasure: there is no such network, or the whole is not above zero.
    """
    last = chosen(with_operations(data), variant=ATTENTION).isel(step=-1)
    needs((last["functional"] > 0).all(), "in this configuration a GGN misses nothing at the top")
    return last["operation_part"] / last["functional"]
