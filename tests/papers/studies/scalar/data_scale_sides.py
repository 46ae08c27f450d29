"""Small instances of the study of the data scale."""

import numpy as np
from samples import samples

from hessian_papers.studies.scalar.data_scale import study


def config(**changes):
    fields = {
        "kind": "data_scale",
        "paper": "singh2026cracking",
        "artifact": "Figure 7",
        "title": "test",
        "data": "test",
        "seed": 3,
        "width": 2,
        "second_width": 4,
        "variance_times_fan_in": 1 / 3,
        "largest_second_moment": 20.0,
        "scales": 4,
    }
    return study.Config(**(fields | changes))


def sample(correlation=0.5, size=12):
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(2, size))
    return samples(x, correlation * x + noise)


def both(networks=None, **changes):
    settings, networks = config(**changes), sample() if networks is None else networks
    return {
        "closed_form": study.closed_form(settings, networks),
        "numerics": study.numerics(settings, networks),
    }
