"""Both sides of the study of the identities at its smallest, computed once for all tests of it."""

from functools import cache

import numpy as np
from study_configs import configured

from hessian_papers.studies.identities.identities import study
from hessian_papers.studies.identities.identities.instances import Instance

SMALL = {"instances": 6, "width": 4, "points": 6, "seed": 3}


def config(**changes: object) -> study.Config:
    """A valid configuration of the study, with some fields changed."""
    return configured(study, SMALL | {"data": "gaussian-regression"} | changes)


@cache
def data(points: int = 200) -> dict[str, np.ndarray]:
    """A small Gaussian regression, the same memory each time: bits of sums may depend on it."""
    draw = np.random.default_rng(0)
    return {"x": draw.normal(size=points), "y": draw.normal(size=points)}


def drawn(theorem: str, **changes: object) -> list[Instance]:
    """The instances of a theorem."""
    found = study.drawn(config(**changes), data())
    return next(instances for name, _, instances in found if name == theorem)


@cache
def both_sides() -> dict[str, dict[str, np.ndarray]]:
    """The closed forms and brute force of the smallest study."""
    return {
        "closed_form": study.closed_form(config(), data()),
        "numerics": study.numerics(config(), data()),
    }
