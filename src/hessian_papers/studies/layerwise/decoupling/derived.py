"""Numbers of layer-wise Hessians that both figure and claims read."""

import xarray as xr

from hessian_papers.studies.layerwise.layers import outliers_of, own_layers


def outliers(data: xr.Dataset) -> int:
    """``c − 1``, as many outliers as the paper expects of a network for c classes.

    Raises:
        NothingToMeasure: the study has fewer eigenvalues of a layer.
    """
    layers = own_layers(data)
    weights = layers["outputs"] * layers["inputs"]
    return outliers_of(int(layers["outputs"][-1]), min(int(weights.min()), data.sizes["rank"]))


def frobenius(data: xr.Dataset) -> xr.DataArray:
    """``‖K − H‖_F / ‖H‖_F`` of the product K, from what it misses of random vectors' images."""
    means = data[["missed", "squares"]].mean("probe", skipna=False)
    return (means["missed"] / means["squares"]) ** 0.5
