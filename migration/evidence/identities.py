"""The errors of the catalogue of theorems."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.identities.identities.study import VARIABLES
from hessian_spectra.files import Arrays

FORMS = {"corrected": "error", "printed": "printed_error"}


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    numerics, texts = sides["numerics"], dict(sides["closed_form"])
    parts = []
    for theorem in texts.pop("name").tolist():
        for form, name in FORMS.items():
            if (errors := numerics.get(f"{name}/{theorem}")) is not None:
                part = {"form": form, "theorem": theorem, "instances": len(errors)}
                parts.append({key: np.array(value) for key, value in part.items()})
                parts[-1]["error"] = errors
    data = assembled(parts, VARIABLES, ["form", "theorem"])
    own = {str(name): values.values for name, values in data.variables.items()}
    return {**own, **texts, "networks": numerics["instances"]}
