"""The words about trainings that diverged, beside every statement and below the figure."""

import xarray as xr

from hessian_papers.labelled import LEFT_OUT
from hessian_papers.ledger.bounds import NothingToMeasure


def left_out(data: xr.Dataset) -> str:
    """The sentence on trainings that diverged; empty if none did.

    Raises:
        NothingToMeasure: all did, so that the study has nothing else.

    Example:
        >>> left_out(xr.Dataset({LEFT_OUT: 1, "norm": 1.0}))
        '1 training diverged and is left out.'
    """
    count = int(data.get(LEFT_OUT, 0))
    if {*data.variables} == {LEFT_OUT}:
        raise NothingToMeasure(
            f"nothing is left: all {count} trainings diverged; choose a smaller learning rate"
        )
    verb = "training diverged and is" if count == 1 else "trainings diverged and are"
    return f"{count} {verb} left out." if count else ""
