"""Both sides of the study of uniform attention at its smallest."""

from functools import cache

import numpy as np
import xarray as xr
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
def sides() -> dict[str, xr.Dataset]:
    """The closed form and brute force of the smallest study."""
    return both_sides(study, config())


def powers(
    exponent: float, *, of_bulk: float = -0.5, largest_range: float = 0.05
) -> dict[str, xr.Dataset]:
    """Sides in which all distances go with a power of d_K, and so does the bulk."""
    exact, numeric = sides()["closed_form"], sides()["numerics"]
    spread = xr.DataArray(np.linspace(0.5, 2.0, exact.sizes["draw"]), dims="draw")
    factor = xr.DataArray(np.linspace(1, 1 + largest_range, exact.sizes["factor"]), dims="factor")
    distances = exact["key_dimension"].astype(float) ** exponent * spread
    planted = dict.fromkeys(("distance", "second_moment", "bulk_error"), distances)
    planted["bulk"] = exact["key_dimension"].astype(float) ** of_bulk * spread
    planted["scaled_bulk"] = factor
    exact = exact.assign(
        {name: values.broadcast_like(exact[name]) for name, values in planted.items()}
    )
    chosen = {"key_dimension": numeric["checked_key_dimension"], "draw": numeric["checked_draw"]}
    numeric = numeric.assign(
        {
            f"numerical_{name}": exact[name].sel(chosen).drop_vars(["key_dimension", "draw"])
            for name in ("bulk", "distance")
        }
    )
    return {"closed_form": exact, "numerics": numeric}
