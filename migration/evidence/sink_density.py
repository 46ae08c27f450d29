"""Attention sinks that are forced upon language models."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.studies.gpt2.sink_density.edits import EDITS
from hessian_papers.studies.gpt2.sink_density.study import ENDS
from hessian_spectra.files import Arrays

RENAMED = {
    "grid": "grid",
    "density": "density",
    "density_error": "density_error",
    "width": "width",
    "nodes": "node",
    "weights": "weight",
    "released_nodes": "released_node",
    "released_weights": "released_weight",
    "training_mass": "training_mass",
    "training_largest": "training_largest",
}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side; networks had the seeds 0, 1 and so on."""
    recorded = sides["correlation"]
    seeds, rungs = recorded["mass"].shape

    def edited(name: str) -> np.ndarray:
        """The ladder of sinks, and each control beside its last rung."""
        whole = np.full((seeds, len(EDITS), rungs), np.nan)
        whole[:, 0], whole[:, 1:, -1] = recorded[name], recorded[f"control_{name}"]
        return whole

    def released(name: str) -> np.ndarray:
        whole = np.full((seeds, rungs), np.nan)
        whole[:, [0, -1]] = recorded[f"released_{name}"]
        return whole

    ends = {"eigenvalue": [*ENDS], "residual": [f"{end}_residual" for end in ENDS]}
    return {
        "seed": np.arange(seeds),
        "edit": np.array(EDITS),
        "rung": np.arange(rungs),
        "end": np.array([*ENDS]),
        "step": recorded["training_step"][0],
        "target": np.append(np.nan, recorded["target"]),
        "parameters": recorded["parameters"][0],
        "sequences": recorded["sequences"][0, 0],
        "length": recorded["sequences"][0, 1],
        **{name: edited(name) for name in ("strength", "mass", "loss")},
        **{name: np.stack([*map(edited, of)], axis=-1) for name, of in ends.items()},
        **{
            f"released_{name}": np.stack([*map(released, of)], axis=-1) for name, of in ends.items()
        },
        **{new: recorded[old] for old, new in RENAMED.items()},
    }
