"""Quantities of training up to and along the edge of stability that figure and claims share."""

import xarray as xr


def relative_sharpness(data: xr.Dataset) -> xr.DataArray:
    """The sharpness over 2/η, above which gradient descent is unstable, at each step."""
    return data["sharpness"] * data["learning_rate"] / 2


def edge(data: xr.Dataset) -> int | None:
    """The first step at which the sharpness is at least 2/η; ``None`` if it never is."""
    reached = data["step"].values[relative_sharpness(data).values >= 1]
    return int(reached[0]) if len(reached) else None
