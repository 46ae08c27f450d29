"""A case outside its sentence's state or assumptions is not measured, and says why."""

import numpy as np
import pytest
import xarray as xr

from hessian_papers.ledger.bounds import NothingToMeasure, at_least, needs
from hessian_papers.ledger.conditions import ANY_STATE, Condition, in_use
from hessian_papers.ledger.evaluation import evaluate
from tests.papers.ledger.entries import CONFIG, run_of

ABOVE = at_least(1.0, "a made-up bound")


def require_small_loss(data):
    needs(data["loss"] < 0.1, f"It stands at loss {data['loss'].item():g}.")


def require_white(data):
    needs(data["white"].item(), "Its inputs are not white.")


NEAR, WHITE = Condition("near a minimum", require_small_loss), Condition("white", require_white)


@pytest.fixture
def verdict(stated, tmp_path):
    """The statement on two networks, each with its value, loss and whiteness of inputs."""

    def of(values, losses=(0.0, 0.0), white=(True, True), **conditions):
        def value(data):
            """The value is large."""
            return float(data["value"])

        stated.all.clear()
        stated.everywhere("Theorem 0", ABOVE, over=["network"], **conditions)(value)
        columns = {"value": values, "loss": losses, "white": white}
        variables = {name: ("network", np.array(each)) for name, each in columns.items()}
        coords = {"network": ["first", "second"]}
        run = run_of(stated, tmp_path, config={**CONFIG, "kind": "made-up"}, recorded=True)
        vars(run)["data"] = xr.Dataset(variables, coords)
        (statement,) = evaluate([run])
        return statement

    return of


def test_outside_its_state_a_case_says_nothing(verdict):
    """The network that is not near a minimum would refute the sentence."""
    statement = verdict([2.0, 0.0], losses=[0.01, 1.01], state=NEAR)
    first, second = statement.cases
    assert (first.outcome, second.outcome) == ("holds", "not measured")
    assert second.explanation == "It stands at loss 1.01."
    assert (second.measured, statement.verdict) == (None, "reproduced")
    assert (statement.state, statement.assumes) == ("near a minimum", "none but its sentence's")
    assert verdict([2.0, 0.0], losses=[0.01, 1.01], state=ANY_STATE).verdict == "differs"


def test_outside_its_assumptions_a_case_says_nothing(verdict):
    statement = verdict([2.0, 0.0], white=[True, False], state=ANY_STATE, assumes=WHITE)
    assert [case.outcome for case in statement.cases] == ["holds", "not measured"]
    assert statement.cases[1].explanation == "Its inputs are not white."
    assert (statement.verdict, statement.assumes) == ("reproduced", "white")
    nowhere = verdict([0.0, 0.0], white=[False, False], state=ANY_STATE, assumes=WHITE)
    assert nowhere.verdict == "not tested", "nor is it refuted"


def test_a_kind_says_its_state_once(stated):
    kind = stated.having(state=NEAR, assumes=WHITE)

    @kind.exists("Theorem 0", ABOVE)
    def first(data):
        """It is one."""

    @kind.exists("Theorem 1", ABOVE, state=ANY_STATE)
    def second(data):
        """It is another one."""

    assert [(s.state, s.assumes) for s in stated.all] == [(NEAR, WHITE), (ANY_STATE, WHITE)]


def costing(*nats):
    return xr.Dataset({"cost_of_removing_attention": ("draw", np.array(nats))})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (xr.Dataset(), "State not recorded: .* what removing attention costs"),
        (costing(0.009, 0.017, -0.011), "not more than nothing beyond doubt"),
        (costing(0.5), "not more than nothing beyond doubt"),
    ],
)
def test_a_part_that_costs_nothing_is_not_in_use(data, words):
    with pytest.raises(NothingToMeasure, match=words):
        in_use("attention").check(data, {})


def test_a_part_is_in_use_if_its_removal_costs_beyond_doubt():
    in_use("attention").check(costing(0.5, 0.6, 0.7), {})
