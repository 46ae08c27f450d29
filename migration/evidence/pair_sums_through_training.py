"""The top eigenvalues of two-layer networks through training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hessian_papers.labelled import assembled
from hessian_papers.studies.images.curvature import MATRICES
from hessian_papers.studies.images.pair_sums_through_training.derived import FORMS
from hessian_papers.studies.images.pair_sums_through_training.study import VARIABLES
from hessian_papers.studies.images.through_training import AXES
from hessian_spectra.files import Arrays
from migration.evidence.through_training import at_epochs


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    parts = [
        facts
        | {"form": np.array(FORMS), "matrix": np.array(MATRICES), "layer": np.array([1, 2])}
        | {"spectral_norm": exact["spectral_norms"], "trace": exact["trace"]}
        | {"exact": np.stack([exact[form] for form in FORMS])}
        | {name: np.stack([exact[f"{form}_{name}"] for form in FORMS]) for name in ("sum", "count")}
        | {"numerical": np.stack([numeric[matrix] for matrix in MATRICES])}
        | {"residual": np.stack([numeric[f"{matrix}_residual"] for matrix in MATRICES])}
        for facts, exact, numeric in at_epochs(sides, config)
    ]
    data = assembled(parts, VARIABLES, AXES)
    return {str(name): values.values for name, values in data.variables.items()}
