"""What figures and claims of image networks derive: one through its training, the worst of all."""

import itertools
from collections.abc import Iterable

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure

# What tells networks apart that are looked at through their training.
NETWORK = ("source", "width", "replicate")
# Which epochs are early: those with more than this part of the loss that training can remove.
EARLY = 0.5
GROWTH = (
    "Under gradient flow Σ‖W_l‖² changes at the rate −2L⟨f(X), f(X) − Y⟩/n. It falls while the "
    "outputs are larger than what they have in common with the labels, as random outputs of some "
    "size are; from a start so small that the labels decide the sign (balanced layers with "
    "singular values of 0.01 to 0.05, say) the weights may grow from the first epoch on."
)


def networks(data: xr.Dataset) -> list[xr.Dataset]:
    """Each network, in the order in which they were trained, at the epochs that it came to."""
    axes = [axis for axis in NETWORK if axis in data.dims]
    grid = itertools.product(*(data[axis].values for axis in axes))
    chosen = (data.sel(dict(zip(axes, labels, strict=True))) for labels in grid)
    # A training that diverges has no later epochs.
    return [network.dropna("epoch", subset=["loss"]) for network in chosen]


def excess_loss(network: xr.Dataset) -> xr.DataArray:
    """The loss above that of least squares, below which no linear network comes."""
    return (network["loss"] - network["floor"]).clip(min=0.0)


def relative_excess(network: xr.Dataset) -> xr.DataArray:
    """The excess of one network relative to the start's."""
    excess = excess_loss(network)
    return quotient(excess, excess.sel(epoch=0))


def is_early(network: xr.Dataset) -> xr.DataArray:
    """Which epochs of a network are early, the start among them."""
    return relative_excess(network) > EARLY


def early_fall(network: xr.Dataset, values: xr.DataArray) -> float:
    """The lowest early value of a network over the start's, less 1.

    Raises:
        NothingToMeasure: of the recorded epochs only the start is early.
    """
    later = values[is_early(network) & (network["epoch"] > 0)]
    if not later.size:
        raise NothingToMeasure("this configuration records no early epoch beside the start")
    return float(quotient(later.min(), values.sel(epoch=0)) - 1)


def quotient(over: xr.DataArray, under: xr.DataArray) -> xr.DataArray:
    """One array over another, NaN where that is zero.

    Example:
        >>> quotient(xr.DataArray([1.0, 2.0]), xr.DataArray([2.0, 0.0])).values.tolist()
        [0.5, nan]
    """
    return over / under.where(under != 0)


def worst(values: xr.DataArray | Iterable[float]) -> float:
    """The largest finite value.

    Raises:
        NothingToMeasure: there is none.
    """
    return float(_finite(values).max())


def least(values: xr.DataArray | Iterable[float]) -> float:
    """The smallest finite value.

    Raises:
        NothingToMeasure: there is none.
    """
    return float(_finite(values).min())


def _finite(values: xr.DataArray | Iterable[float]) -> np.ndarray:
    array = np.asarray(values if isinstance(values, xr.DataArray) else [*values], dtype=float)
    finite = array[np.isfinite(array)]
    if not finite.size:
        raise NothingToMeasure("this configuration has no networks of which that can be said")
    return finite
