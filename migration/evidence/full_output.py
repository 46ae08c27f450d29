"""The top of the full Hessian, from the second derivative by the outputs of all layers."""

from collections.abc import Mapping
from typing import Any

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    names = {"forms": "approximation"}
    return {names.get(name, name): array for name, array in sides["correlation"].items()}
