"""Self-attention's spectra along sweeps of weight norms and of attention sinks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.attention.attention_scale.study import VARIABLES
from hessian_spectra.files import Arrays

SETTINGS = ("key_dimension", "massive_activation", "small_norm")
# The variables that an array of a sweep is, where its name is another, by side.
NAMES = {
    "closed_form": {"eigenvalues": "exact"},
    "numerics": {
        "values": "numerical",
        "index": "numerical_point",
        "dense_index": "dense_point",
        "condition_number": "numerical_condition_number",
    },
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact = sides["closed_form"]
    parts = [_of_sweep(name, sides) for name in exact["sweep"].tolist()]
    data = assembled(parts, VARIABLES, ["sweep"])
    return {
        **{str(name): values.values for name, values in data.variables.items()},
        **{name: exact[name] for name in SETTINGS},
    }


def _of_sweep(sweep: str, sides: Mapping[str, Arrays]) -> Arrays:
    part = {"sweep": np.array(sweep)}
    for side, names in NAMES.items():
        for name, values in sides[side].items():
            if name.startswith(f"draws/{sweep}/"):
                part[f"draw_{name.split('/')[-1]}"] = values
            elif name.startswith(f"{sweep}/") and not name.endswith("/cell"):
                own = name.split("/")[-1]
                part[names.get(own, own)] = values
    part["point"], part["draw"] = np.arange(len(part["varied"])), np.arange(len(part["draw_bulk"]))
    part["draw_point"] = np.arange(len(part["draw_varied"]))
    return part
