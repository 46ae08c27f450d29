"""The claims about the full Hessian's forms, and their figure, on planted arrays."""

import numpy as np
import pytest
from claims_contract import of_records, planted_data

from hessian_papers.studies.layerwise.full_output.figure import caption, draw
from hessian_papers.studies.layerwise.full_output.study import VARIABLES
from tests.papers.studies.layerwise.pictures import require_readable


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


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("full_output")


@pytest.mark.parametrize("arrays", [sides(), sides(seeds=1, networks=("F-5",)), sides(top=1)])
def test_figure_and_caption_bear_what_is_there(arrays):
    data = planted_data(arrays, VARIABLES)
    figure, text = draw(data), caption(data)
    assert len(figure.axes) == 2 * data.sizes["network"]
    assert "means over" in text
    require_readable(figure, text)
