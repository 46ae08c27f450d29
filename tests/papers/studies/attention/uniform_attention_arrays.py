"""Both sides of the study of uniform attention at its smallest."""

from functools import cache

import numpy as np
from study_configs import both_sides, configured

from hessian_papers.studies.attention.uniform_attention import study

SMALL = {
    "initialisations": list(study.INITIALISATIONS),
    "key_dimensions": [4, 16, 64],
    "length": 5,
    "draws": 40,
    "factors": [1.0, 3.0],
    "checked": 3,
    "checked_dimension": 16,
    "seed": 0,
}


def config(**changes: object) -> study.Config:
    """A valid configuration of the study, with some fields changed."""
    return configured(study, SMALL | changes)


@cache
def sides() -> dict[str, dict[str, np.ndarray]]:
    """The closed form and brute force of the smallest study."""
    return both_sides(study, config())


def powers(
    exponent: float, *, of_bulk: float = -0.5, largest_range: float = 0.05
) -> dict[str, dict[str, np.ndarray]]:
    """Sides in which all distances go with a power of d_K, and so does the bulk."""
    actual = dict(sides()["closed_form"])
    dimensions = actual["key_dimension"][:, None].astype(float)
    spread = np.linspace(0.5, 2.0, actual["distance"].shape[-1])
    shape = (len(actual["initialisation"]), 1, 1)
    for name in ("distance", "second_moment", "bulk_error"):
        actual[name] = np.tile(dimensions**exponent * spread, shape)
    factors = np.linspace(1, 1 + largest_range, len(actual["factor"]))
    actual["scaled_bulk"] = np.ones_like(actual["scaled_bulk"]) * factors[:, None]
    bulk = np.tile(dimensions**of_bulk * spread, shape)
    numeric = dict(sides()["numerics"])
    numeric["bulk"] = bulk[:, : numeric["bulk"].shape[1], : numeric["bulk"].shape[2]]
    numeric["distance"] = actual["distance"][
        :, : numeric["distance"].shape[1], : numeric["distance"].shape[2]
    ]
    return {"closed_form": actual | {"bulk": bulk}, "numerics": numeric}
