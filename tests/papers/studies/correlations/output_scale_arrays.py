"""Both sides of the study of output sizes at its smallest."""

from functools import cache

import xarray as xr
from study_configs import both_sides, configured

from hessian_papers.studies.correlations.output_scale import study

SMALL = {
    "depths": [2, 3],
    "widths": [8, 32],
    "size": 4,
    "samples": 8,
    "draws": 60,
    "seed": 0,
}


def config(**changes: object) -> study.Config:
    """A valid configuration of the study, with some fields changed."""
    return configured(study, SMALL | changes)


@cache
def sides() -> dict[str, xr.Dataset]:
    """The expected and the measured sizes of the smallest study."""
    return both_sides(study, config())
