"""The spectrum of a multi-input network in training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numerics = dict(sides["closed_form"]), sides["numerics"]
    inputs = np.array(len(exact.pop("covariance")))
    eigenvalues = exact.pop("eigenvalues")
    numerical = np.full(eigenvalues.shape, np.nan)
    numerical[np.searchsorted(exact["step"], numerics["step"])] = numerics["eigenvalues"]
    spectra = {name: np.broadcast_to(exact[name], eigenvalues.shape) for name in ("kind", "cell")}
    return exact | spectra | {"exact": eigenvalues, "numerical": numerical, "inputs": inputs}
