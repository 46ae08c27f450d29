"""Both sides of the study of the identities at its smallest, computed once for all tests of it."""

from functools import cache

import numpy as np
import xarray as xr
from samples import samples
from study_configs import configured

from hessian_papers.studies.identities.identities import study

SMALL = {"instances": 6, "width": 4, "points": 6, "seed": 3}


def config(**changes: object) -> study.Config:
    """A valid configuration of the study, with some fields changed."""
    return configured(study, SMALL | {"data": "gaussian-regression"} | changes)


@cache
def both_sides() -> dict[str, xr.Dataset]:
    """The texts of the catalogue, and the errors of the smallest study."""
    x, y = np.random.default_rng(0).normal(size=(2, 200))
    data = samples(x, y)
    return {
        "closed_form": study.closed_form(config(), data),
        "numerics": study.numerics(config(), data),
    }
