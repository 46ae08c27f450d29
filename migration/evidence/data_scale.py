"""The spectra over the scale of the inputs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.scalar.data_scale.study import AXES, VARIABLES
from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numerics = sides["closed_form"], sides["numerics"]
    parts = []
    for place, network in enumerate(("first", "second")):
        for targets in ("fixed", "scaled"):
            own = f"{network}_{targets}/"
            eigenvalues = exact[f"{own}eigenvalues"]
            parts.append(
                {
                    "network": np.array(network),
                    "targets": np.array(targets),
                    "second_moment": exact["second_moments"],
                    "width": exact["widths"][place],
                    "squared_norm": exact["squared_norms"][place],
                    "exact": eigenvalues,
                    "numerical": numerics[f"{own}eigenvalues"],
                    "kind": np.broadcast_to(exact[f"{own}kind"], eigenvalues.shape),
                    "cell": np.broadcast_to(exact[f"{own}cell"], eigenvalues.shape),
                }
            )
    data = assembled(parts, VARIABLES, AXES)
    return {str(name): values.values for name, values in data.variables.items()}
