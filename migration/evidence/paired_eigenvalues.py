"""The two eigenvalues that sum most nearly to tr(H)/D."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.correlations.paired_eigenvalues.study import AXES, PAIRS, VARIABLES
from hessian_spectra.files import Arrays


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numerics = sides["closed_form"], sides["numerics"]
    parts = []
    for point, (parametrisation, kind) in enumerate(
        zip(exact["parametrisation"], exact["data"], strict=True)
    ):
        part = {
            "case": np.array(f"{parametrisation}-{kind}"),
            "width": exact["width"][point],
            "size": exact["size"][point],
            "pair": PAIRS,
            "activation": exact["activation"],
            "depth": exact["depth"],
        }
        part |= {f"exact_{name}": exact[name][point] for name in ("target", "mean", "distance")}
        parts.append(part | {name: values[point] for name, values in numerics.items()})
    data = assembled(parts, VARIABLES, AXES)
    return {str(name): values.values for name, values in data.variables.items()}
