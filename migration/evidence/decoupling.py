"""Layer-wise Hessians beside their Kronecker approximations."""

from collections.abc import Mapping
from typing import Any

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    names = {"layer": "layer_name"}
    return {names.get(name, name): array for name, array in sides["correlation"].items()}
