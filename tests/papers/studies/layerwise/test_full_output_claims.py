"""The claims about the full Hessian's forms, and their figure, on planted arrays."""

import numpy as np
import pytest
from claims_contract import Planted, contract

from hessian_papers.studies.layerwise.full_output.claims import statements
from hessian_papers.studies.layerwise.full_output.study import VARIABLES


def sides(*, networks=("F-5", "F-5^2"), seeds=4, top=6, classes=4, off=0.1, overlap=0.8):
    """The form is off by as much, up or down."""
    draws = np.random.default_rng(0)
    shape = (len(networks), seeds, top)
    exact = np.exp(-np.arange(top)) * (1 + 0.1 * draws.random(shape))
    signs = np.where(draws.random(shape) < 0.5, -1, 1)
    noise = 0.01 * draws.standard_normal(shape)
    arrays = {
        "network": np.array(networks),
        "seed": np.arange(seeds),
        "epoch": np.array(9),
        "form": np.array(["printed"]),
        "classes": np.array(classes),
        "hessian": exact,
        "residual": np.full(shape, 1e-5),
        "approximation": (exact * (1 + off * signs))[:, :, None],
        "overlap": (overlap + noise)[:, :, None],
    }
    return {"correlation": arrays}


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="wu2022dissecting",
            artifact="Figure 5",
            holds=sides(),
            fails=[sides(off=0.5, overlap=0.3)],
            reduced=[sides(networks=("F-5",), seeds=1), sides(top=2), sides(classes=1)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)
