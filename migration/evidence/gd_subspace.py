"""The bulk eigenspace under several optimizers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.scalar.gd_subspace.study import AXES, VARIABLES
from hessian_spectra.files import Arrays

NUMERICAL = {
    "eigenvalues": "numerical",
    "iterate": "numerical_iterate",
    "rotation": "numerical_rotation",
    "invariance": "invariance",
    "overlap": "overlap",
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numerics = sides["closed_form"], sides["numerics"]
    parts = []
    for name in exact["optimizers"].tolist():
        for place, step in enumerate(exact[f"{name}/step"]):
            part = {key: exact[f"{name}/{key}"][place] for key in ("loss", "iterate", "rotation")}
            part |= {"optimizer": np.array(name), "step": step}
            part |= {"exact": exact[f"{name}/eigenvalues"][place]}
            parts.append(part | {"diverged_at": exact[f"{name}/diverged_at"]})
            for row in np.flatnonzero(numerics[f"{name}/step"] == step):
                parts[-1] |= {new: numerics[f"{name}/{old}"][row] for old, new in NUMERICAL.items()}
                if not numerics[f"{name}/resolved"][row]:
                    parts[-1] |= dict.fromkeys(("overlap", "numerical_rotation"), np.array(np.nan))
    data = assembled(parts, VARIABLES, AXES)
    return {str(name): values.values for name, values in data.variables.items()}
