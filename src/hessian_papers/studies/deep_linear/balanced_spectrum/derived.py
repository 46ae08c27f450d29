"""The balanced networks one by one, as both figure and claims go through them."""

from collections.abc import Iterator

import xarray as xr


def networks(data: xr.Dataset) -> Iterator[xr.Dataset]:
    """The data of each network, without the ranks that others have more of."""
    for number in data["network"].values:
        network = data.sel(network=number)
        yield network.isel(rank=slice(int(network["parameters"])))


def widths(network: xr.Dataset) -> list[int]:
    """The widths d_0, ..., d_L of one network."""
    return [width for width in network["width"].values.tolist() if width]
