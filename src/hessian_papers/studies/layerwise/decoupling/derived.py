"""What both figure and claims derive from layer-wise Hessians and their approximations."""

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.layers import own_layers

# How a network with batch normalisation is called, beside the one without.
NORMALISED = "-BN"


def outliers(data: xr.Dataset) -> int:
    """``c − 1``, as many outliers as the paper expects of a network for c classes.

    Raises:
        NothingToMeasure: the study has fewer eigenvalues of a layer.
    """
    layers = own_layers(data)
    weights = layers["outputs"] * layers["inputs"]
    count, smallest = int(layers["outputs"][-1]) - 1, min(int(weights.min()), data.sizes["rank"])
    if not 1 <= count <= smallest:
        raise NothingToMeasure(f"this configuration has {smallest} of {count} eigenvalues")
    return count


def frobenius(data: xr.Dataset, name: str = "missed") -> xr.DataArray:
    """``‖K − H‖_F / ‖H‖_F`` of a product K, for each layer of a network at an epoch."""
    squares = own_layers(data)[[name, "squares"]].mean("probe", skipna=False)
    return known((squares[name] / squares["squares"]) ** 0.5)


def known(values: xr.DataArray) -> xr.DataArray:
    """The quantity, where it is known of all.

    Raises:
        NothingToMeasure: one is no number, as of a Hessian that is zero.
    """
    if not np.isfinite(values).all():
        raise NothingToMeasure("this configuration has a layer whose Hessian is zero")
    return values
