"""The error of the GGN's largest eigenvalue."""

from collections.abc import Mapping
from typing import Any

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    recorded = sides["correlation"]
    return {("quantity" if name == "x" else name): array for name, array in recorded.items()}
