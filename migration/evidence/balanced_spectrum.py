"""The spectra of balanced networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.deep_linear.balanced_spectrum.study import LABELS, VARIABLES
from hessian_spectra.files import Arrays

# Of each kind of labels, and of the network alone.
EXACT = {
    "labels": "from_labels",
    "solution": "from_solution",
    "labels_sharpness": "sharpness_from_labels",
    "solution_sharpness": "sharpness_from_solution",
}
NUMERICAL = {
    "hessian": "hessian",
    "loss": "loss",
    "trace": "hessian_trace",
    "difference": "difference",
}
OWN_EXACT = {
    "sizes": "width",
    "printed_exact": "printed",
    "top_vectors": "vector",
    **{name: name for name in ("from_weights", "count", "printed_count", "trace", "bound")},
}
OWN_NUMERICAL = {
    "ggn": "gauss_newton",
    "top": "top",
    "top_residuals": "top_residual",
    "top_vectors": "top_vector",
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact, numerics = sides["closed_form"], sides["numerics"]
    parts = []
    for place in range(sum(name.endswith("/sizes") for name in exact)):
        for labels in LABELS:
            part = {"network": np.array(place + 1), "labels": np.array(labels)}
            for side, names in ((exact, EXACT), (numerics, NUMERICAL)):
                own = {name: f"{place}/{old}_{labels}" for old, name in names.items()}
                part |= {name: side[old] for name, old in own.items() if old in side}
            if labels == "exact":
                for side, names in ((exact, OWN_EXACT), (numerics, OWN_NUMERICAL)):
                    part |= {name: side[f"{place}/{old}"] for old, name in names.items()}
                part["parameters"] = np.array(len(part["from_weights"]))
                part["vector_value"] = part["from_weights"][-part["vector"].shape[1] :]
            parts.append(part)
    data = assembled(parts, VARIABLES, ["network", "labels"])
    return {str(name): values.values for name, values in data.variables.items()}
