"""What both figure and claims derive from how mean gradients lie together."""

import xarray as xr


def chance(data: xr.Dataset) -> float:
    """How many nearest neighbours are of the same score, or class, by chance."""
    count = data.sizes["class"]
    return (count - 1) / (count**2 - 1)
