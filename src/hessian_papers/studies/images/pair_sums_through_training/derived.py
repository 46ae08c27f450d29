"""Errors of equation (15), and what bounds them, for figure and claims."""

from typing import Literal, get_args

import xarray as xr

from hessian_papers.studies.images import derived
from hessian_papers.studies.images.derived import excess_loss

# Equation (15) with its indices as printed and corrected.
Form = Literal["printed", "corrected"]
FORMS: tuple[Form, ...] = get_args(Form)
# Relative to the largest eigenvalue: an eigenvalue below is zero but for rounding.
ZERO = 1e-12


def networks(data: xr.Dataset) -> list[xr.Dataset]:
    """Each network, at the epochs that it came to, with as many eigenvalues as it has."""
    return [network.dropna("rank", how="all") for network in derived.networks(data)]


def squared_norms(data: xr.Dataset) -> xr.DataArray:
    """σ_x²‖W_l‖₂² of each layer."""
    return _squared_input_scale(data) * data["spectral_norm"] ** 2


def _squared_input_scale(data: xr.Dataset) -> xr.DataArray:
    """σ_x² from equation (15) at the start, whose largest sum is σ_x²(‖W_1‖₂² + ‖W_2‖₂²)."""
    start = data.sel(epoch=0)
    largest = start["exact"].sel(form="corrected").max("rank")
    return largest / (start["spectral_norm"] ** 2).sum("layer")


def weyl_bound(data: xr.Dataset) -> xr.DataArray:
    """What no eigenvalue of the Hessian is further from equation (15) than.

    By Weyl's inequality no eigenvalue of the Hessian is further from one of its Gauss-Newton
    part than the norm of what it has beside it, ‖(f(X) − Y)Xᵀ/n‖₂ ≤ σ_x √(2 (loss − least loss)).
    """
    return (_squared_input_scale(data) * 2 * excess_loss(data)) ** 0.5


def errors(data: xr.Dataset) -> xr.DataArray:
    """|eq. (15) − λ_k| / λ_k of each of the top eigenvalues; NaN where λ_k is 0."""
    sizes = abs(data["numerical"])
    known = data["numerical"].where(sizes > ZERO * sizes.max("rank"))
    return abs(data["exact"] / known - 1)
