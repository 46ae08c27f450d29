"""The words of figures and claims about ensembles, and how training ended."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, needs
from hessian_papers.ledger.conditions import AFTER_TRAINING, BEFORE_AND_AFTER, Condition

# How texts say the labels.
PARAMETRISATIONS = {"sp": "SP", "mup": "μP", "ntp": "NTP"}
TIMES = {"initialisation": "at initialisation", "trained": "after training"}
NORMS = {"spectral": "spectral", "frobenius": "Frobenius", "nuclear": "nuclear"}
ACTIVATIONS = {"linear": "linear", "relu": "ReLU"}


def over_points(values: xr.DataArray, *more: str) -> xr.DataArray:
    """The mean over all points, and further dimensions, where it is defined."""
    points = ("parametrisation", "depth", "size")  # runs of two layers alone may lack the depth
    return values.mean([dim for dim in (*points, *more) if dim in values.dims])


def positions(data: xr.Dataset) -> xr.DataArray:
    """The sizes or the depths of a study, whichever it runs along."""
    return data[data["along"].item()]


def unfinished(data: xr.Dataset) -> np.ndarray:
    """The positions where the epoch limit stopped more than half of the networks.

    Args:
        data: of one parametrisation, or of more: of the first that has such positions. Of two sizes
            that are compared the worse one counts.
    """
    x = positions(data)
    stopped = data["epoch_limit"] > data["networks"] / 2
    stopped = stopped.any([dim for dim in stopped.dims if dim not in ("parametrisation", x.name)])
    places = np.atleast_1d(x.values)
    rows = stopped.values.reshape(-1, len(places))
    return next((places[row] for row in rows if row.any()), places[:0])


def counted_teachers(data: xr.Dataset) -> str:
    """The number of teachers, as captions say it; runs of before have trained networks alone.

    Example:
        >>> trained = xr.DataArray([True, True, False], dims="teacher")
        >>> counted_teachers(xr.Dataset({"trained": trained}, {"teacher": [0, 1, 2]}))
        '2 teachers (3 at initialisation)'
    """
    every = data.sizes["teacher"]
    number = int(data["trained"].sum()) if "trained" in data else every
    text = f"{number} teacher{'s' * (number > 1)}"
    return text if number == every else f"{text} ({every} at initialisation)"


def of_the_time(data: xr.Dataset) -> xr.Dataset:
    """The data of those teachers that have some at their time: after training of fewer."""
    if data["time"] != "trained" or "trained" not in data:
        return data
    return data.isel(teacher=np.flatnonzero(data["trained"]))


def _require_finished(data: xr.Dataset) -> None:
    """Require of networks that are trained that most of every position are at their plateau."""
    stopped = unfinished(data)
    if "trained" in data["time"] and len(stopped):
        name = "D" if data["along"] == "size" else "depth"
        raise NothingToMeasure(
            f"the epochs end before most networks reach their plateau, at {name} = "
            f"{', '.join(map(str, stopped))}"
        )


# What is said after training is not about networks on their way.
FINISHED = Condition(AFTER_TRAINING.text, _require_finished)
AT_BOTH_TIMES = Condition(BEFORE_AND_AFTER.text, _require_finished)


def require_two_layers(data: xr.Dataset) -> None:
    """Require that the networks have two layers and their size varies.

    Raises:
        NothingToMeasure: a claim about two matrices is not about others.
    """
    two_layers = data["along"] == "size" and data["depth"].values.tolist() == [2]
    needs(two_layers, "this configuration is not one of two layers and their sizes")
