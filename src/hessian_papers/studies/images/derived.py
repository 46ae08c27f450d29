"""Numbers that figures and claims of image networks derive: quotients, and the worst of all."""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from hessian_papers.ledger.bounds import needs
from hessian_papers.ledger.conditions import Condition

# Which epochs are early: those with more than this part of the loss that training can remove.
EARLY = 0.5
EARLY_IN_TRAINING = Condition("early in training: more than half of the loss remains")


def quotient(over: xr.DataArray, under: xr.DataArray) -> xr.DataArray:
    """One array over another, NaN where that is zero.

    Example:
        >>> quotient(xr.DataArray([1.0, 2.0]), xr.DataArray([2.0, 0.0])).values.tolist()
        [0.5, nan]
    """
    return over / under.where(under != 0)


def spread(data: xr.Dataset) -> xr.DataArray:
    """The distance of the layers' largest singular values, squared.

    (max_l σ₁²(W_l) − min_l σ₁²(W_l)) over the mean of the σ₁²(W_l).
    """
    squares = data["top"] ** 2
    return quotient(squares.max("layer") - squares.min("layer"), squares.mean("layer"))


def worst(values: xr.DataArray | Iterable[float]) -> float:
    """The largest finite value.

    Raises:
        NothingToMeasure: there is none.
    """
    array = np.asarray(values if isinstance(values, xr.DataArray) else [*values], dtype=float)
    finite = array[np.isfinite(array)]
    needs(finite.size, "this configuration has no networks of which that can be said")
    return float(finite.max())
