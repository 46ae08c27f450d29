"""The claims about sinks with vector tokens, on a small layer."""

import numpy as np
import pytest
from attention_arrays import sinks_sides
from claims_contract import Planted, bears_a_missing_case, changed, holds_and_fails, names

from hessian_spectra.studies.attention.attention_sinks.claims import claims


@pytest.fixture(scope="module")
def planted():
    holds = sinks_sides()

    def from_the_last(values):
        return values[::-1]

    def from_the_largest_sink(values):
        return values[:, ::-1]

    weaker = changed(
        holds,
        "numerics",
        **dict.fromkeys(("eigenvalues", "first", "copies"), from_the_last),
        replicate_largest=from_the_largest_sink,
    )
    fails = [
        weaker,
        changed(holds, "closed_form", replicate_bulk=from_the_largest_sink),
        changed(holds, "closed_form", numeric_bulk=lambda bulk: bulk + 1e-8),
        changed(holds, "closed_form", copies=np.array(6)),
    ]
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Figure 9",
            holds=holds,
            fails=fails,
            reduced=[sinks_sides(sink_biases=[0.0, 6.0], points=2, replicates=1)],
        )
    ]


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_holds_and_fails(name, planted):
    holds_and_fails(claims, planted, name)


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_bears_a_missing_case(name, planted):
    bears_a_missing_case(claims, planted, name)
