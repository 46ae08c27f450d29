"""The study of inputs and teachers at its smallest."""

from functools import cache

import xarray as xr
from study_configs import both_sides, configured

from hessian_papers.labelled import joined
from hessian_papers.studies.correlations.inputs_and_teacher import study

SMALL = {
    "parametrisations": ["sp", "ntp"],
    "sizes": [2, 6],
    "width": 6,
    "samples_per_input": [3, 40],
    "teacher_scales": [0.5, 2.0],
    "teachers": 3,
    "networks": 6,
    "noise_variance": 0.01,
    "tolerance": 1e-6,
    "seed": 0,
}


def config(**changes: object) -> study.Config:
    """A valid configuration of the study, with some fields changed."""
    return configured(study, SMALL | changes)


@cache
def measured() -> xr.Dataset:
    """Both sides of the smallest study."""
    return joined([*both_sides(study, config()).values()])
