"""The claims about sinks and spectra, on planted ladders."""

import numpy as np
import pytest
from claims_contract import changed, of_records
from planted_sinks import data_of, ladder

from hessian_papers.ledger.bounds import NothingToMeasure, estimate_of
from hessian_papers.studies.gpt2.sink_density import claims as functions


def off(**arrays):
    return changed(ladder(), "correlation", **arrays)


def at(place, factor):
    """A change of some entries: times a factor."""

    def change(values):
        values = np.array(values)
        values[place] *= factor
        return values

    return change


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "sink_density", "smaller_without_sink"
)


def grown(sides, end="largest", networks=slice(None)):
    return estimate_of(functions.outliers_grow(data_of(sides, networks).sel(end=end)))


def test_a_step_back_is_not_steady():
    def fall(eigenvalue):
        eigenvalue[:, 0, 1, 0] = 0.9 * eigenvalue[:, 0, 0, 0]
        return eigenvalue

    sides = off(eigenvalue=fall)
    steady = functions.outliers_grow_steadily(data_of(sides).sel(end="largest"))
    np.testing.assert_allclose(steady, 0.8)
    assert grown(sides).value > np.log(1.5)


def test_an_eigenvalue_of_another_sign_has_no_growth():
    turned = off(eigenvalue=at((slice(None), 0, 1, 1), -1))
    with pytest.raises(NothingToMeasure, match="the smallest eigenvalue is zero or changes its"):
        grown(turned, "smallest")
    with pytest.raises(NothingToMeasure, match="few steps of training were measured"):
        functions.sinks_of_training(data_of(off(training_largest=at((), np.nan))))


def test_a_sink_that_is_not_there_counts_as_none():
    """The last of three networks has no sink to remove; alone it leaves nothing to measure."""
    without = functions.smaller_without_sink(data_of(ladder(none=-0.2)))
    np.testing.assert_allclose(without, np.log1p([-0.2, -0.19]))
    with pytest.raises(NothingToMeasure, match="there is no sink to remove"):
        functions.smaller_without_sink(data_of(ladder(), slice(2, 3)))
    controls = {item["control"] for item in functions._controls(data_of(ladder()))}
    assert controls == {"middle-token", "random-weights"}


def test_a_run_of_older_code_says_what_it_lacks():
    data = data_of(ladder()).drop_vars(["ggn", "operation_part"]).drop_sel(edit="no-sink")
    for function, message in (
        (functions.gauss_newton_grows, "recorded without the Gauss-Newton matrix of each sink"),
        (functions.softmax_shrinks, "recorded without the parts of the operations of each sink"),
        (functions.smaller_without_sink, "recorded without the edit that removes the sink"),
    ):
        with pytest.raises(NothingToMeasure, match=message):
            function(data)
