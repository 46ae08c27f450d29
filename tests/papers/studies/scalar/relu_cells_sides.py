"""Small instances of the study of the ReLU network's cells."""

import numpy as np
from samples import samples
from study_configs import both_sides, configured

from hessian_papers.studies.scalar.relu_cells import study

# Widths with the units of the positive cell: cells that have no unit, one unit (no bulk), or all.
SIZES = [(5, 3), (5, 1), (5, 4), (4, 0), (4, 4), (1, 1), (2, 1)]
FIELDS = {
    "data": "test",
    "seed": 0,
    "width": 5,
    "positive_units": 3,
    "variance_times_fan_in": 1 / 3,
}


def config(**changes):
    return configured(study, FIELDS | changes)


def sample(size=15):
    draw = np.random.default_rng(1)
    x, noise = draw.normal(size=(2, size))
    return samples(x, np.abs(x) + 0.5 * x + 0.1 * noise)


def both(**changes):
    return both_sides(study, config(**changes), sample())
