"""Networks at the epochs that they came to, and how far formulas are from their curvature."""

import itertools
from typing import Literal, get_args

import xarray as xr

from hessian_papers.ledger.bounds import needs
from hessian_papers.studies.images.derived import EARLY, quotient

# What tells networks apart that are looked at through their training.
NETWORK = ("source", "width", "replicate")
# Equation (15) with its indices as printed and corrected.
Form = Literal["printed", "corrected"]
FORMS: tuple[Form, ...] = get_args(Form)
# Relative to the largest eigenvalue: an eigenvalue below is zero but for rounding.
ZERO = 1e-12


def networks(data: xr.Dataset) -> list[xr.Dataset]:
    """Each network, in the order in which they were trained, at the epochs that it came to.

    With as many eigenvalues as it has.
    """
    axes = [axis for axis in NETWORK if axis in data.dims]
    grid = itertools.product(*(data[axis].values for axis in axes))
    chosen = (data.sel(dict(zip(axes, labels, strict=True))) for labels in grid)
    # A training that diverges has no later epochs.
    trained = (network.dropna("epoch", subset=["loss"]) for network in chosen)
    ranks = [axis for axis in ("rank",) if axis in data.dims]
    return [network.dropna(*ranks, how="all") if ranks else network for network in trained]


def excess_loss(network: xr.Dataset) -> xr.DataArray:
    """The loss above that of least squares, below which no linear network comes."""
    return (network["loss"] - network["floor"]).clip(min=0.0)


def relative_excess(network: xr.Dataset) -> xr.DataArray:
    """The excess of one network relative to the start's."""
    excess = excess_loss(network)
    return quotient(excess, excess.sel(epoch=0))


def is_early(network: xr.Dataset) -> xr.DataArray:
    """The epochs of a network that are early, the start among them."""
    return relative_excess(network) > EARLY


def early_fall(network: xr.Dataset, values: xr.DataArray) -> float:
    """The lowest early value of a network over the start's, less 1.

    Raises:
        NothingToMeasure: of the recorded epochs only the start is early.
    """
    later = values[is_early(network) & (network["epoch"] > 0)]
    needs(later.size, "this configuration records no early epoch beside the start")
    return float(quotient(later.min(), values.sel(epoch=0)) - 1)


def standardised(data: xr.Dataset) -> xr.DataArray:
    """(Hutchinson − equation (7)) / standard error; NaN without an error."""
    return quotient(data["estimate"] - data["trace"], data["standard_error"])


def errors(data: xr.Dataset) -> xr.DataArray:
    """|eq. (15) − λ_k| / λ_k of each of the top eigenvalues; NaN where λ_k is 0."""
    sizes = abs(data["numerical"])
    known = data["numerical"].where(sizes > ZERO * sizes.max("rank"))
    return abs(data["exact"] / known - 1)


def squared_norms(data: xr.Dataset) -> xr.DataArray:
    """σ_x²‖W_l‖₂² of each layer."""
    return _squared_input_scale(data) * data["spectral_norm"] ** 2


def _squared_input_scale(data: xr.Dataset) -> xr.DataArray:
    """σ_x² from equation (15) at the start, whose largest sum is σ_x²(‖W_1‖₂² + ‖W_2‖₂²)."""
    start = data.sel(epoch=0)
    largest = start["exact"].sel(form="corrected").max("rank")
    return largest / (start["spectral_norm"] ** 2).sum("layer")


def weyl_bound(data: xr.Dataset) -> xr.DataArray:
    """The distance beyond which no eigenvalue of the Hessian is from equation (15).

    By Weyl's inequality no eigenvalue of the Hessian is further from one of its Gauss-Newton
    part than the norm of what it has beside it, ‖(f(X) − Y)Xᵀ/n‖₂ ≤ σ_x √(2 (loss − least loss)).
    """
    return (_squared_input_scale(data) * 2 * excess_loss(data)) ** 0.5
