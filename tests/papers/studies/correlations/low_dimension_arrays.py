"""Arrays of the study of low dimension, of small planted networks."""

from functools import cache

import numpy as np
from ensemble_arrays import ensemble
from study_configs import configured

from hessian_papers.studies.correlations.low_dimension import study

PARAMETRISATIONS = ("sp", "mup")
SIZES = (1, 3)


@cache
def deep() -> dict[str, np.ndarray]:
    """What is recorded of deep networks of both sizes."""
    return ensemble(PARAMETRISATIONS, depths=(2, 3), sizes=SIZES, networks=36, teachers=3)


def sides(networks: dict[str, np.ndarray], **changes: object) -> dict[str, dict[str, np.ndarray]]:
    """The study's only side, with some fields of its configuration changed."""
    fields = {
        "ensemble": "test",
        "seed": 0,
        "parametrisations": list(PARAMETRISATIONS),
        "depths": [],
        "sizes": list(SIZES),
        "resamples": 100,
        "confidence": 0.95,
    }
    config = configured(study, fields | changes)
    return {"correlation": study.correlation(config, networks)}
