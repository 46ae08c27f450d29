"""What the GGN of language models misses."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.studies.gpt2.gauss_newton_parts.study import VARIABLES
from hessian_spectra.files import Arrays

# What the arrays of each matrix are called.
MATRICES = {
    "hessian": "hessian",
    "released hessian": "released",
    "ggn": "ggn",
    "squared hessian": "squared_hessian",
    "squared ggn": "squared_ggn",
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    recorded = sides["correlation"]
    return {name: recorded[name] for name in VARIABLES if name in recorded} | {
        "matrix": np.array([*MATRICES]),
        "eigenvalue": np.stack([recorded[name] for name in MATRICES.values()], axis=-1),
        "residual": np.stack([recorded[f"{name}_error"] for name in MATRICES.values()], axis=-1),
    }
