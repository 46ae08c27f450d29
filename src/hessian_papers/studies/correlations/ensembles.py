"""The words of figures and claims about ensembles, and how training ended."""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, NothingToMeasure, needs

# How texts say the labels.
PARAMETRISATIONS = {"sp": "SP", "mup": "μP", "ntp": "NTP"}
TIMES = {"initialisation": "at initialisation", "trained": "after training"}
NORMS = {"spectral": "spectral", "frobenius": "Frobenius", "nuclear": "nuclear"}
ACTIVATIONS = {"linear": "linear", "relu": "ReLU"}


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
    rows = stopped.values.reshape(-1, len(x))
    return next((x.values[row] for row in rows if row.any()), x.values[:0])


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


def require_finished(data: xr.Dataset) -> None:
    """Require that after training most networks of every position are at their plateau.

    Args:
        data: at one time, of one parametrisation or more.

    Raises:
        NothingToMeasure: what the paper says after training is not about networks on the way.
    """
    stopped = unfinished(data)
    if data["time"] == "trained" and len(stopped):
        name = "D" if data["along"] == "size" else "depth"
        raise NothingToMeasure(
            f"the epochs end before most networks reach their plateau, at {name} = "
            f"{', '.join(map(str, stopped))}"
        )


def require_two_layers(data: xr.Dataset) -> None:
    """Require that the networks have two layers and their size varies.

    Raises:
        NothingToMeasure: a claim about two matrices is not about others.
    """
    two_layers = data["along"] == "size" and data["depth"].values.tolist() == [2]
    needs(two_layers, "this configuration is not one of two layers and their sizes")


def estimates(values: xr.DataArray) -> list[Estimate]:
    """All finite values with their intervals.

    Example:
        >>> values = xr.DataArray([[0.5, 0.4, 0.7], [np.nan] * 3], dims=("size", "estimate"))
        >>> [tuple(each) for each in estimates(values)]
        [(0.5, 0.4, 0.7)]
    """
    rows: Iterable[list[float]] = values.transpose(..., "estimate").values.reshape(-1, 3).tolist()
    return [Estimate(*row) for row in rows if np.isfinite(row[0])]


def distance_from(centre: float, estimate: Estimate) -> Estimate:
    """The distance of an estimate from a value, with the interval of that distance.

    Example:
        >>> tuple(distance_from(1.0, Estimate(1.5, 0.75, 2.0)))
        (0.5, 0.0, 1.0)
    """
    nearest, furthest = sorted((abs(estimate.low - centre), abs(estimate.high - centre)))
    inside = estimate.low <= centre <= estimate.high
    return Estimate(abs(estimate.value - centre), 0.0 if inside else nearest, furthest)
