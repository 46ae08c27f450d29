"""The share of neighbours by chance, which both figure and claims read."""

import xarray as xr


def chance(data: xr.Dataset) -> float:
    """The share of nearest neighbours that are of the same score, or class, by chance."""
    count = data.sizes["class"]
    return (count - 1) / (count**2 - 1)
