"""The errors of a theorem, which both figure and claims show."""

import numpy as np
import xarray as xr


def errors(data: xr.Dataset, theorem: str, form: str = "corrected") -> np.ndarray:
    """The errors of a theorem, one for each instance that it is about.

    Args:
        data: of the study.
        theorem: its name.
        form: ``corrected``, or what is ``printed`` of an erratum.
    """
    chosen = data.sel(theorem=theorem, form=form)
    return np.asarray(chosen["error"].values[: int(chosen["instances"])])
