"""A small instance of the study of paired eigenvalues."""

import numpy as np
from claims_contract import planted_data
from samples import samples as declared
from study_configs import both_sides, configured

from hessian_papers.studies.correlations.paired_eigenvalues import study

CASES = list(study.CASES)


def config(**changes):
    fields = {
        "artifact": "Figure 10",
        "data": "test",
        "seed": 3,
        "activation": "linear",
        "depth": 2,
        "cases": CASES,
        "widths": [5, 12],
        "samples": [20, 30],
        "sizes": [1, 2, 5, 12],
        "networks": 8,
        "jitters": 19,
        "networks_per_item": 3,
    }
    return configured(study, fields | changes)


def features(samples=40, size=15, seed=0):
    draws = np.random.default_rng(seed)
    return declared(draws.normal(1.0, 2.0, (samples, size)), draws.normal(-1.0, 3.0, samples))


def sides(**changes):
    return both_sides(study, config(**changes), features())


def data_of(actual):
    return planted_data(actual, study.VARIABLES)


def flattened(actual, networks):
    """With some networks whose ReLUs are all off: their Hessian is zero, and all that is of it."""
    flat = {side: data.copy(deep=True) for side, data in actual.items()}
    for data in flat.values():
        for name in set(data) - {"activation", "depth", "exact_distance"}:
            data[name].loc[{"network": networks}] = 0.0
    flat["numerics"]["distance"].loc[{"network": networks, "pair": "second"}] = np.inf
    return flat


def four_relu_layers(**changes):
    small = {"activation": "relu", "depth": 4, "widths": [4], "samples": [20], "sizes": [2, 4]}
    return sides(**(small | changes))
