"""The outlier pairs of random networks, and heads in training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays

NAMES = {
    "eigenvalues": "exact",
    "heads/scale": "head_scale",
    "heads/learned": "learned",
    "heads/zero": "reached_zero",
    "heads/retarded": "retarded",
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    named = {NAMES.get(name, name): array for name, array in sides["closed_form"].items()}
    shape = named["exact"].shape
    spectra = {name: np.broadcast_to(named[name], shape) for name in ("kind", "cell")}
    return named | spectra | {"numerical": sides["numerics"]["eigenvalues"]}
