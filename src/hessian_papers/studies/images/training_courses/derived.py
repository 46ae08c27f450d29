"""Imbalance and spread of layers in courses of training, for figure and claims."""

import xarray as xr

from hessian_papers.studies.images.derived import quotient


def kept(imbalance: xr.DataArray) -> xr.DataArray:
    """Imbalance over that at the start."""
    return quotient(imbalance, imbalance.sel(epoch=0))


def spread(data: xr.Dataset) -> xr.DataArray:
    """How far the layers' largest singular values are apart, squared.

    (max_l σ₁²(W_l) − min_l σ₁²(W_l)) over the mean of the σ₁²(W_l).
    """
    squares = data["top"] ** 2
    return quotient(squares.max("layer") - squares.min("layer"), squares.mean("layer"))
