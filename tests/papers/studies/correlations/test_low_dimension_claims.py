"""The claims about low dimension, on planted networks."""

import numpy as np
import pytest
import xarray as xr
from claims_contract import Planted, changed, contract
from low_dimension_arrays import PARAMETRISATIONS, deep, sides

from hessian_papers.studies.correlations.low_dimension.claims import statements
from hessian_papers.studies.correlations.low_dimension.study import VARIABLES


def driven(networks, *, last_at):
    """The product without the last matrix is the sharpness at one size, that without the first at
    the other.
    """
    layer = xr.where(networks["size"] == last_at, networks["depth"], 1)
    norm = networks["products"].sel(norm="spectral").sel(layer=layer)
    return networks.assign(sharpness=(norm**2).transpose(*networks["sharpness"].dims))


@pytest.fixture(scope="module")
def planted():
    alone = [sides(deep(), parametrisations=[name]) for name in PARAMETRISATIONS]
    stopped = changed(alone[0], "correlation", epoch_limit=lambda counts: np.full_like(counts, 36))
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Section 4.2",
            holds=sides(driven(deep(), last_at=1)),
            fails=[sides(driven(deep(), last_at=3))],
            reduced=[*alone, sides(deep(), depths=[3]), stopped],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)
