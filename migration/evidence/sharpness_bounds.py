"""The sharpness beside two formulas."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_spectra.files import Arrays
from migration.evidence.ensembles import on_grid, points

FORMULAS = ("maximum", "sum")


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    old = sides["correlation"]
    ratio, pooled = (
        np.stack([old[f"{name}_{formula}"] for formula in FORMULAS], axis=-2)
        for name in ("ratio", "pooled")
    )
    return {
        **points(old),
        "formula": np.array(FORMULAS),
        "level": old["level"],
        "ratio": on_grid(old, ratio),
        "pooled": pooled,
        **{name: on_grid(old, old[name]) for name in ("used", "closer", "below")},
    }
