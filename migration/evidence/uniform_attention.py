"""Attention at initialisation as the key dimension grows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays

SETTINGS = ("initialisation", "key_dimension", "factor", "length")


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numerics = sides["closed_form"], sides["numerics"]
    named = {
        name: values if name in SETTINGS else np.moveaxis(values, -1, 0)
        for name, values in exact.items()
    }
    return {
        **named,
        "draw": np.arange(exact["bulk"].shape[-1]),
        "checked_key_dimension": numerics["key_dimension"],
        "checked_draw": np.arange(numerics["bulk"].shape[-1]),
        **{f"numerical_{name}": numerics[name] for name in ("distance", "bulk", "largest")},
    }
