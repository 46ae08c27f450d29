"""Networks by inputs and teachers, and the study of them, at their smallest."""

from dataclasses import replace
from functools import cache

import xarray as xr
from ensemble_arrays import SETTINGS
from study_configs import configured

from hessian_papers.networks import inputs_and_teacher as networks
from hessian_papers.studies.correlations.inputs_and_teacher import study

SMALL = networks.Config(
    kind="inputs_and_teacher",
    **SETTINGS | {"seed": 0},
    samples_per_input=[3, 40],
    teacher_scales=[0.5, 2.0],
    updates=4,
)
STUDY = configured(
    study,
    {"artifact": "Appendix D.3.3, inputs and teacher", "seed": 0, "ensemble": "linear-by-inputs"},
)


@cache
def trained(**changes: object) -> xr.Dataset:
    """The networks, with some settings changed."""
    return networks.train(replace(SMALL, **changes), xr.Dataset())


@cache
def measured() -> xr.Dataset:
    """The study of them."""
    return study.correlation(STUDY, trained())
