"""Two-layer classifiers of growing width."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays

NAMES = {
    "printed_space": "space_limit",
    "projected": "projected_limit",
    "fourth": "exact_fourth",
    "norm": "exact_norm",
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    numerics = sides["numerics"]
    exact = {NAMES.get(name, name): array for name, array in sides["closed_form"].items()}
    return {**numerics, **exact, "draw": np.arange(numerics["ratio"].shape[-1])}
