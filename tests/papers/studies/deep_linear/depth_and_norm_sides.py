"""Small instances of the study of depth and label norm."""

import numpy as np
import xarray as xr
from claims_contract import planted_data
from samples import samples

from hessian_papers.studies.deep_linear.depth_and_norm import study


def config(**changes):
    fields = {
        "kind": "depth_and_norm",
        "paper": "anon2026data",
        "artifact": "Figure 1b",
        "title": "test",
        "data": "test",
        "seed": 3,
        "input_scale": 1.0,
        "largest_depth": 5,
        "norms": [0.125, 0.4, 1.5],
        "contour_points": 9,
        "smallest_width": 2,
        "largest_width": 4,
    }
    return study.Config(**(fields | changes))


def sample(size=9, features=4):
    return samples(np.random.default_rng(0).normal(size=(size, features)), np.zeros(size))


def both(**changes):
    settings, networks = config(**changes), sample()
    return {
        "closed_form": study.closed_form(settings, networks),
        "numerics": study.numerics(settings, networks),
    }


def closed_only(**changes):
    """Both sides from the closed form, where the equation itself is in question."""
    exact = study.closed_form(config(**changes), sample())
    return {"closed_form": exact, "numerics": xr.Dataset({"sharpness": exact["predicted"]})}


def data_of(sides):
    return planted_data(sides, study.VARIABLES)
