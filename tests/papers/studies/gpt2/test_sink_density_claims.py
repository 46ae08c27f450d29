"""The claims about sinks and spectra, on the recorded run and on what it might have been."""

import numpy as np
import pytest
from claims_contract import of_records
from sink_runs import changed, recorded, without_a_sink

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.gpt2.sink_density import claims as functions

test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "sink_density", "smaller_without_sink"
)


def test_a_step_back_is_not_steady():
    def fall(eigenvalue):
        eigenvalue[:, 0, 1] = 0.9 * eigenvalue[:, 0, 0]

    runs = [run.sel(end="largest") for run in (recorded(), changed(fall))]
    steady = [functions.outliers_grow_steadily(run) for run in runs]
    np.testing.assert_allclose(steady, [[1.0] * 3, [0.9] * 3])
    np.testing.assert_array_equal(*map(functions.outliers_grow, runs))


def test_an_eigenvalue_of_another_sign_has_no_growth():
    def turn(eigenvalue):
        eigenvalue[:, 0, 1, 1] *= -1

    def lose(largest):
        largest[:] = np.nan

    with pytest.raises(NothingToMeasure, match="the smallest eigenvalue is zero or changes its"):
        functions.outliers_grow(changed(turn).sel(end="smallest"))
    with pytest.raises(NothingToMeasure, match="few steps of training were measured"):
        functions.sinks_of_training(changed(lose, "training_largest"))


def test_a_sink_that_is_not_there_counts_as_none():
    """The last of three networks has no sink to remove; alone it leaves nothing to measure."""
    run = without_a_sink(factor=0.8)
    np.testing.assert_allclose(functions.smaller_without_sink(run), np.log([0.8, 0.8]))
    with pytest.raises(NothingToMeasure, match="there is no sink to remove"):
        functions.smaller_without_sink(run.isel(seed=[2]))
    controls = {item["control"] for item in functions._controls(run)}
    assert controls == {"middle-token", "random-weights"}


def test_a_run_of_older_code_says_what_it_lacks():
    data = recorded().drop_vars(["ggn", "operation_part"]).drop_sel(edit="no-sink")
    for function, message in (
        (functions.gauss_newton_grows, "recorded without the Gauss-Newton matrix of each sink"),
        (functions.softmax_shrinks, "recorded without the parts of the operations of each sink"),
        (functions.smaller_without_sink, "recorded without the edit that removes the sink"),
    ):
        with pytest.raises(NothingToMeasure, match=message):
            function(data)
