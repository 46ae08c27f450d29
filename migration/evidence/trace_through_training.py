"""The trace through training."""

from collections.abc import Mapping
from typing import Any

from hessian_papers.labelled import assembled
from hessian_papers.studies.images.through_training import AXES
from hessian_papers.studies.images.trace_through_training.study import VARIABLES
from hessian_spectra.files import Arrays
from migration.evidence.through_training import at_epochs


def arrays(sides: Mapping[str, Arrays], config: Mapping[str, Any]) -> Arrays:
    """The variables' arrays, from the arrays by side."""
    parts = [
        facts
        | {"trace": exact["trace"], "estimate": numeric["trace"]}
        | {"standard_error": numeric["standard_error"]}
        for facts, exact, numeric in at_epochs(sides, config)
    ]
    data = assembled(parts, VARIABLES, AXES)
    return {str(name): values.values for name, values in data.variables.items()}
