"""The layers that are spoken of, and where their networks stand, which figure and claims read."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import known_seeds, needs
from hessian_papers.studies.layerwise.layers import own_layers

# KFAC's factors, which wu2022dissecting's conjecture takes.
PRINTED = "expand"


def layers_of_kind(data: xr.Dataset, network: str, *, convolution: bool) -> list[str]:
    """The convolutions of a network, or its fully connected layers."""
    own = own_layers(data.sel(network=network))
    return [str(name) for name in own["layer"].values[own["convolution"].values == convolution]]


def layer_of(data: xr.Dataset, network: str, layer: str) -> xr.Dataset:
    """The data of one layer."""
    return own_layers(data.sel(network=network)).sel(layer=layer)


def trained(data: xr.Dataset) -> xr.Dataset:
    """The data of all epochs but that before training.

    Raises:
        NothingToMeasure: there is no other.
    """
    later = data.sel(epoch=data["epoch"] > 0)
    needs(later.sizes["epoch"], "this configuration keeps no weights from after the start")
    return later


def middle_damping(data: xr.Dataset) -> float:
    """The middle one of the dampings."""
    return float(np.sort(data["damping"].values)[(data.sizes["damping"] - 1) // 2])


def known(values: xr.DataArray) -> xr.DataArray:
    """Numbers of networks; those whose layer has no curvature at some epoch are left out."""
    return known_seeds(values, "in no network here the layer has a curvature at all epochs")
