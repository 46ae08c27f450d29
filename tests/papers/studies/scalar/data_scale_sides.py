"""Small instances of the study of the data scale."""

import numpy as np
from samples import samples
from study_configs import both_sides, configured

from hessian_papers.studies.scalar.data_scale import study

FIELDS = {
    "data": "test",
    "seed": 3,
    "width": 2,
    "second_width": 4,
    "variance_times_fan_in": 1 / 3,
    "largest_second_moment": 20.0,
    "scales": 4,
}


def config(**changes):
    return configured(study, FIELDS | changes)


def sample(correlation=0.5, size=12):
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(2, size))
    return samples(x, correlation * x + noise)


def both(data=None, **changes):
    return both_sides(study, config(**changes), data or sample())
