"""The claims about sinks with vector tokens, on a small layer."""

import numpy as np
import pytest
from attention_arrays import sinks_sides
from claims_contract import Planted, bears_a_missing_case, changed, holds_and_fails, names

from hessian_spectra.ledger.bounds import NothingToMeasure
from hessian_spectra.studies.attention.attention_sinks import claims as module
from hessian_spectra.studies.attention.attention_sinks import figure as figures
from hessian_spectra.studies.attention.attention_sinks.claims import claims
from hessian_spectra.studies.attention.attention_sinks.reading import Reading


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


def test_sinks_that_take_all_the_attention_are_left_out():
    """There the bulk is rounding, and so is which eigenvalues repeat."""
    reading = Reading(sinks_sides(sink_biases=[0.0, 40.0], points=2, replicates=1))
    assert reading.resolved.tolist() == [True, False]
    assert module.bulk(reading) < 1e-10
    assert module.bulk_multiplicity(reading) == 0
    # What the bulk does there is then theory's.
    assert module.bulk_towards_zero(reading) < 1e-10
    assert module.bulk_shrinks(reading) == -1
    assert len(figures.draw(reading).axes) == 4
    assert "at most" in figures.caption(reading)


def test_where_no_sink_can_be_told_nothing_is_measured():
    reading = Reading(sinks_sides(sink_biases=[40.0, 50.0], points=2, replicates=1))
    for claim in (module.bulk, module.bulk_multiplicity):
        with pytest.raises(NothingToMeasure, match="no sink at which float64 tells the bulk's"):
            claim(reading)
    assert len(figures.draw(reading).axes) == 4
    assert "unknown, as rounding hides it" in figures.caption(reading)


def test_a_bulk_of_zeros_does_not_shrink(planted):
    names = ("bulk", "numeric_bulk", "replicate_bulk")
    nothing = changed(
        planted[0].holds, "closed_form", **dict.fromkeys(names, lambda bulk: 0 * bulk)
    )
    reading = Reading(nothing)
    for claim in (module.bulk_shrinks, module.bulk_towards_zero):
        with pytest.raises(NothingToMeasure, match="the bulk is zero without a sink"):
            claim(reading)
    with pytest.raises(NothingToMeasure, match="the replicates have no bulk but zeros"):
        module.bulk_shrinks_in_replicates(reading)
    assert len(figures.draw(reading).axes) == 4
