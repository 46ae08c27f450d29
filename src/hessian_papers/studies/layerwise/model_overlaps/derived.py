"""Layers and pairs of independently trained networks, as both figure and claims read them."""

from itertools import combinations

import numpy as np
import xarray as xr

from hessian_papers.studies.layerwise.layers import own_layers

# An eigenvalue is told from smaller ones if it is so many times the error of any of them.
FAR = 10


def paired(data: xr.Dataset) -> xr.Dataset:
    """The data with the two networks of each pair, and whether their trainings differ.

    Returns:
        Beside the data ``first``, ``other`` and ``differing`` along ``pair``.
    """
    seeds = data.sizes["seed"]
    first, other = np.array(list(combinations(range(seeds), 2))).T
    # A run that was recorded before there were variations has none.
    variation = data["variation"].values if "variation" in data else np.zeros(seeds)
    columns = {"first": first, "other": other, "differing": variation[first] != variation[other]}
    return data.assign_coords({name: ("pair", column) for name, column in columns.items()})


def layers(data: xr.Dataset) -> list[xr.Dataset]:
    """The layers of one architecture at the last epoch, in their order.

    Returns:
        Of each what is known of it alone, with the pairs as :func:`paired` gives them, ``last``,
        whether its outputs are the ``classes``, and the ranks from 1 on, up to that beyond which
        eigenvalues are of the size of their errors.
    """
    own = _own(data)
    return [_known(own.sel(layer=name)) for name in own["layer"].values]


def layer_of(data: xr.Dataset, network: str, layer: str) -> xr.Dataset:
    """A layer of an architecture by its name, as :func:`layers` gives it."""
    return _known(_own(data.sel(network=network)).sel(layer=layer))


def _own(data: xr.Dataset) -> xr.Dataset:
    own = own_layers(paired(data).isel(epoch=-1))
    last = own["layer"] == own["layer"].values[-1]
    return own.assign(last=last, classes=own["outputs"].isel(layer=-1).item())


def _known(layer: xr.Dataset) -> xr.Dataset:
    values = layer["hessian"]
    distinct = values > FAR * layer["residual"].max() * values.isel(rank=0)
    reach = max(int(distinct.sum("rank").min()), 1)
    return layer.isel(
        rank=slice(reach),
        output_rank=slice(int(layer["outputs"])),
        input_rank=slice(int(layer["inputs"])),
    ).assign_coords(rank=np.arange(1, reach + 1))


def satisfied(layer: xr.Dataset) -> int:
    """Up to which k ``τ_k γ_1 > τ_1 γ_2`` in all networks: at m Theorem G.1 assumes it."""
    output, inputs = layer["output"], layer["input"]
    ratio = inputs.isel(input_rank=1) / inputs.isel(input_rank=0)
    return int((output > ratio * output.isel(output_rank=0)).sum("output_rank").min())
