"""Trainings in a study's data set: the closed form at all steps, a numerical spectrum at some.

They share the dimension ``step``. Where a training does not come so far its ``loss`` is NaN, and
where there is no numerical spectrum ``numerical`` is.
"""

import xarray as xr

from hessian_papers.labelled import Variable, Variables


def variables(dims: str) -> Variables:
    """The declarations of what is recorded of trainings.

    Args:
        dims: the dimensions that tell trainings apart, apart by spaces; empty for a single one.
    """
    return {
        "step": Variable("step", "the update before which it is recorded"),
        "loss": Variable(f"{dims} step", "half the mean squared error"),
        "diverged_at": Variable(dims, "the step at which training diverged; -1 for never"),
    }


def training(data: xr.Dataset, **labels: str) -> xr.Dataset:
    """The training at some labels, at the steps that it comes to."""
    return data.sel(labels).dropna("step", subset=["loss"])


def compared(data: xr.Dataset) -> xr.Dataset:
    """Trainings at the steps with a numerical spectrum alone."""
    return data.dropna("step", how="all", subset=["numerical"])


def last_steps(data: xr.Dataset) -> xr.Dataset:
    """Each training at the last step that it comes to."""
    last = data["step"].where(data["loss"].notnull()).max("step")
    return data.sel(step=last.astype(int))
