"""Small instances of the study of the phases of learning."""

import numpy as np
from samples import samples
from study_configs import both_sides, configured

from hessian_papers.studies.scalar.learning_phases import study

FIELDS = {
    "data": "test",
    "seed": 2,
    "instances": 30,
    "without_signal": 6,
    "width": 4,
    "solution": [0.5, 2.0],
    "ratio": [-0.5, 1.75],
    "weight_scale": [0.05, 0.5],
    "heads": 3,
    "head_draws": 20,
    "head_scales": [0.01],
    "head_rate": 0.1,
    "head_steps": 300,
    "variance_ratios": [100.0],
}


def config(**changes):
    return configured(study, FIELDS | changes)


def sample(size=8):
    x, y = np.random.default_rng(0).normal(size=(2, size))
    return samples(x, y)


def both(**changes):
    return both_sides(study, config(**changes), sample())
