"""The outlier pair in training, and what many initial weights tell of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.scalar.outlier_pair.many import ENDS
from hessian_papers.studies.scalar.outlier_pair.study import VARIABLES
from hessian_spectra.files import Arrays

# Arrays of a whole run; the others have a row for each step.
OF_RUN = ("second_moment", "moment", "learning_rate", "momentum", "diverged_at")


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    exact = sides["closed_form"]
    of_study = _of_seeds(exact) | {"layer": np.array(["v", "w"])}
    parts = [of_study | part for name in exact["runs"].tolist() for part in _of_run(sides, name)]
    data = assembled(parts, VARIABLES, ("run", "step"))
    return {str(name): values.values for name, values in data.variables.items()}


def _of_seeds(exact: Arrays) -> Arrays:
    settings = [f"{rate:g}, {scale:g}" for rate, scale in exact["seeds/high_setting"]]
    ordinary, high = exact["seeds/ordinary"], exact["seeds/path"]
    return {
        "seed": np.arange(ordinary.shape[1]),
        "input_scale": exact["seeds/input_scale"],
        "high_momentum": exact["seeds/momentum"],
        "high_setting": np.array(settings, dtype=np.str_),
        **{f"ordinary_{name}": ordinary[..., k] for k, name in enumerate(ENDS[:2])},
        **{f"high_{name}": high[..., k] for k, name in enumerate(ENDS)},
    }


def _of_run(sides: Mapping[str, Arrays], name: str) -> list[Arrays]:
    exact, numerics = (
        {
            key.removeprefix(f"{name}/"): array
            for key, array in sides[side].items()
            if key.startswith(f"{name}/")
        }
        for side in ("closed_form", "numerics")
    )
    whole = {key: exact[key] for key in OF_RUN}
    whole |= {"run": np.array(name), "emptied_at": exact.get("emptied_at", np.array(-1))}
    exact["exact"] = exact.pop("eigenvalues")
    for key in ("kind", "cell"):
        exact[key] = np.broadcast_to(exact[key], exact["exact"].shape)
    rows = [
        {**whole, **{key: array[place] for key, array in exact.items() if key in ROWS}}
        for place in range(len(exact["step"]))
    ]
    for step, values in zip(numerics["step"], numerics["eigenvalues"], strict=True):
        rows[exact["step"].tolist().index(step)]["numerical"] = values
    return rows


ROWS = [name for name, of in VARIABLES.items() if "step" in of.dims.split()]
