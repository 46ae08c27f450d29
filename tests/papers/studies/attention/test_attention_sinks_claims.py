"""The claims about sinks with vector tokens, on a small layer."""

import numpy as np
import pytest
from attention_arrays import sinks_sides
from claims_contract import Kind, Planted, changed, contract, planted_data

from hessian_papers.ledger.bounds import NothingToMeasure, wilson
from hessian_papers.studies.attention.attention_sinks import claims as module
from hessian_papers.studies.attention.attention_sinks import figure as figures
from hessian_papers.studies.attention.attention_sinks.claims import statements
from hessian_papers.studies.attention.attention_sinks.derived import is_resolved
from hessian_papers.studies.attention.attention_sinks.study import VARIABLES


def drawn(sides, bulk=(1.0, 0.05), largest=(1.0, 2.0), draws=20):
    """With draws of which all are as the paper says, without and with the largest sink."""
    of = [np.tile(pair, (2, draws, 1)) for pair in (bulk, largest)]
    numerics = {"draw_largest": of[1], "draw_residual": 1e-3 * of[1]}
    return changed(changed(sides, "closed_form", draw_bulk=of[0]), "numerics", **numerics)


@pytest.fixture(scope="module")
def planted():
    holds = drawn(sinks_sides())

    def from_the_last(values):
        return values[::-1]

    backwards = dict.fromkeys(("numerical", "first_of_equals", "equals"), from_the_last)
    fails = [
        changed(holds, "numerics", **backwards),
        drawn(holds, bulk=(0.05, 1.0)),
        drawn(holds, largest=(2.0, 1.0)),
        changed(holds, "closed_form", sink_bulk=lambda bulk: bulk + 1e-8),
        changed(holds, "closed_form", copies=np.array(6)),
    ]
    few = {"points": 2, "replicates": 1, "draws": 1, "draw_norms": [[1.0, 1.0]]}
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Figure 9",
            holds=holds,
            fails=fails,
            reduced=[sinks_sides(sink_biases=[0.0, 6.0], **few)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def data_of(**changes):
    return planted_data(sinks_sides(points=2, replicates=1, **changes), VARIABLES)


def test_sinks_that_take_all_the_attention_are_left_out():
    """There the bulk is rounding, and so is which eigenvalues repeat."""
    data = data_of(sink_biases=[0.0, 40.0])
    assert is_resolved(data).values.tolist() == [True, False]
    assert module.bulk(data) < 1e-10
    assert module.bulk_multiplicity(data) == 0
    assert len(figures.draw(data).axes) == 2
    assert "unknown" not in figures.controls(data)[1]


def test_where_no_sink_can_be_told_nothing_is_measured():
    data = data_of(sink_biases=[40.0, 50.0])
    for claim in (module.bulk, module.bulk_multiplicity):
        with pytest.raises(NothingToMeasure, match="no sink at which float64 tells the bulk's"):
            claim(data)
    assert len(figures.draw(data).axes) == 2
    assert "It is unknown, as rounding hides it" in figures.controls(data)[1]


def measured(sides, name):
    kind = Kind(statements, VARIABLES)
    return kind.entries(sides, "singh2026cracking", "Figure 9")[name].measure()


def test_a_bulk_of_zeros_does_not_shrink(planted):
    names = ("bulk", "sink_bulk", "replicate_bulk", "draw_bulk")
    nothing = changed(
        planted[0].holds, "closed_form", **dict.fromkeys(names, lambda bulk: 0 * bulk)
    )
    for name in ("bulk-shrinks-1", "bulk-towards-zero-1"):
        with pytest.raises(NothingToMeasure, match="the draws have no bulk but zeros"):
            measured(nothing, name)
    data = planted_data(nothing, VARIABLES)
    assert len(figures.draw(data).axes) == len(figures.controls(data)[0].axes) == 2


def test_what_residuals_leave_open_widens_the_interval(planted):
    """Twelve of 20 draws grow and 8 fall, 5 each by less than the residuals."""
    largest = np.tile([1.0, 2.0], (2, 20, 1))
    largest[0, :8, 1], largest[0, :5, 1], largest[0, 8:13, 1] = 0.5, 0.999, 1.001
    sides = changed(planted[0].holds, "numerics", draw_largest=largest)
    actual = measured(sides, "largest-grows-1")
    assert actual.value == 0.6
    assert actual.low == pytest.approx(wilson(7 / 20, 20, 1.959964).low)
    assert actual.high == pytest.approx(wilson(17 / 20, 20, 1.959964).high)
