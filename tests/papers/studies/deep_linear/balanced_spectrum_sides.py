"""Small instances of the study of balanced networks."""

import numpy as np
from claims_contract import planted_data
from samples import samples

from hessian_papers.studies.deep_linear.balanced_spectrum import study

SQUARE, RECTANGULAR = [3, 3, 3, 3], [4, 2, 5, 3]


def config(**changes):
    fields = {
        "kind": "balanced_spectrum",
        "paper": "anon2026data",
        "artifact": "Figure 1a",
        "title": "test",
        "data": "test",
        "seed": 1,
        "input_scale": 3.0,
        "architectures": [SQUARE, RECTANGULAR],
        "residual": 0.5,
        "top": 3,
    }
    return study.Config(**(fields | changes))


def sample(size=12, features=5):
    return samples(np.random.default_rng(0).normal(size=(size, features)), np.zeros(size))


def both(**changes):
    settings, networks = config(**changes), sample()
    return {
        "closed_form": study.closed_form(settings, networks),
        "numerics": study.numerics(settings, networks),
    }


def data_of(sides):
    return planted_data(sides, study.VARIABLES)
