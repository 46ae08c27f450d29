"""Arrays of the study of low dimension, of small planted networks."""

from functools import cache

import xarray as xr
from ensemble_arrays import ensemble
from study_configs import configured

from hessian_papers.studies.correlations.low_dimension import study

PARAMETRISATIONS = ("sp", "mup")
SIZES = (1, 3)


@cache
def deep() -> xr.Dataset:
    """What is recorded of deep networks of both sizes."""
    return ensemble(PARAMETRISATIONS, depths=(2, 3), sizes=SIZES, networks=36, teachers=3)


def study_data(networks: xr.Dataset, **changes: object) -> xr.Dataset:
    """The study's data set, with some fields of its configuration changed."""
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
    return study.correlation(config, networks)


def sides(networks: xr.Dataset, **changes: object) -> dict[str, xr.Dataset]:
    """The study's only side."""
    return {"correlation": study_data(networks, **changes)}
