"""The claims about sinks and spectra, on the recorded run and on what it might have been."""

import numpy as np
import pytest
from claims_contract import of_records
from sink_runs import changed, recorded, without_a_sink

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.gpt2.sink_density import claims as functions

STUDY = Study("s", {"paper": "singh2026cracking", "artifact": "Figure 6"})
# What is said of sinks is said of networks that use attention; what that is worth to the recorded
# ones is not in their data.
OF_SINKS = ("outliers_grow", "smaller_without_sink", "many_near_zero", "own_sink")
test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "sink_density", *OF_SINKS
)


def outcomes(run):
    """By the case's id, what a run says of it."""
    entries = functions.statements.entries(STUDY, run)
    return {
        entry.id.removeprefix("s/"): entry.bound.outcome(entry.measure())
        for entry in entries
        if entry.heading.state == "attention in use"
    }


def test_sinks_are_judged_where_attention_is_in_use():
    used = {"cost_of_removing_attention": ("seed", [0.5, 0.6, 0.7])}
    of_sinks = without_a_sink(factor=[0.8, 0.7]).assign(used)
    assert {*outcomes(of_sinks).values()} == {"holds", "fails"}
    assert [name for name, is_so in outcomes(of_sinks).items() if is_so == "fails"] == ["own-sink"]

    def exchange(eigenvalue):
        eigenvalue[:, 0] = eigenvalue[:, 0, ::-1]
        eigenvalue[:2, 3, -1] = 9 * eigenvalue[:2, 0, 0]

    other = of_sinks.assign(
        eigenvalue=changed(exchange)["eigenvalue"],
        mass=of_sinks["mass"] + 0.28,
        node=recorded()["node"] + 1e6,
    )
    assert {*outcomes(other).values()} == {"holds", "fails"}
    assert [name for name, is_so in outcomes(other).items() if is_so == "holds"] == ["own-sink"]
    for entry in functions.statements.entries(STUDY, recorded()):
        if entry.heading.state == "attention in use":
            with pytest.raises(NothingToMeasure, match=r"^State not recorded"):
                entry.measure()


def test_an_eigenvalue_of_another_sign_has_no_growth():
    def turn(eigenvalue):
        eigenvalue[:, 0, 1, 1] *= -1

    with pytest.raises(NothingToMeasure, match="the smallest eigenvalue is zero or changes its"):
        functions.forced_sinks(changed(turn), "smallest")


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
    with pytest.raises(NothingToMeasure, match="without the Gauss-Newton matrix of each sink"):
        functions.forced_sinks(data, "ggn")
    with pytest.raises(NothingToMeasure, match="without the edit that removes the sink"):
        functions.smaller_without_sink(data)
