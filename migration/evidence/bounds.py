"""PAC-Bayes bounds of trained networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import LEFT_OUT
from hessian_papers.studies.pac_bayes.bounds.study import QUANTILES, VARIABLES
from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    recorded = sides["correlation"]
    layers = recorded["layer"]
    result = {name: recorded[name] for name in VARIABLES if name in recorded} | {
        "layer": layers[np.argmax((layers != "").sum(axis=1))],
        "quantile": np.array(QUANTILES),
        "parameters": recorded["parameters"][:, 0, 0],
        "test_error": recorded["test_error"][:, 0],
        "diverged": np.isnan(recorded["bound"]),
        "variance": recorded["variances"],
        "path_surrogate": np.insert(recorded["path_surrogate"], 0, np.nan, axis=-1),
        **{name: recorded[name].flat[0] for name in ("samples", "held_out")},
    }
    if result["diverged"].any():
        result[LEFT_OUT] = result["diverged"].sum()
    return result
