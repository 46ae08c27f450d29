"""Output Hessians beside what the weights behind a layer say of them."""

from collections.abc import Mapping
from typing import Any

from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    kept = sides["correlation"]
    return {"layer_name" if name == "layer" else name: kept[name] for name in kept}
