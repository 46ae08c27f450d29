"""Correlations of norms with the sharpness or the trace."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.studies.correlations.norm_correlation.study import VARIABLES
from hessian_spectra.files import Arrays
from migration.evidence.ensembles import on_grid, points, resampled, with_intervals

PLAIN = ("target", "highlighted", "norm", "region")


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    old = sides["correlation"]
    layers = np.unique(old["layer"])
    if "alignments" in old["quantities"]:
        layers = np.arange(old["layer"].max() + 1)
    statistics = with_intervals(old) | {
        name: np.moveaxis(values, 0, 1) for name, values in old.items() if name.startswith("each_")
    }
    for name, values in statistics.items():
        dims = VARIABLES[name].dims.split()
        array = on_grid(old, values, dims.index("depth")) if "depth" in dims else values
        if "group" in dims:
            array = _grouped(old, layers, array, dims.index("group"))
        statistics[name] = array
    return {
        **points(old),
        **resampled(old),
        **{name: old[name] for name in PLAIN},
        "group": old["quantities"],
        "layer": layers,
        "other_norm": old["norm"],
        **{name: on_grid(old, old[name]) for name in ("magnitude_ratio", "used")},
        **statistics,
    }


def _grouped(old: Arrays, layers: np.ndarray, array: np.ndarray, axis: int) -> np.ndarray:
    """An array along factors as one along groups and layers."""
    factors = np.moveaxis(array, axis, 0)
    whole = np.full((len(old["quantities"]), len(layers), *factors.shape[1:]), np.nan)
    for factor, group, layer in zip(factors, old["group"], old["layer"], strict=True):
        whole[old["quantities"].tolist().index(group), layers.tolist().index(layer)] = factor
    return np.moveaxis(whole, (0, 1), (axis, axis + 1))
