"""The spectrum of the scalar ReLU network by cell."""

from collections.abc import Mapping
from typing import Any

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    names = {
        "closed_form": {"eigenvalues": "exact"},
        "numerics": {"eigenvalues": "numerical", "doubled_eigenvalues": "doubled_numerical"},
    }
    return {
        names[side].get(name, name): array for side in names for name, array in sides[side].items()
    }
