"""The claims about the GGN of language models, on planted runs."""

import pytest
from claims_contract import of_records
from language_models import ATTENTION, TWIN, pretrained, read

from hessian_papers.studies.gpt2.gauss_newton_error.claims import (
    statements,
    with_one_part_changed,
)
from hessian_papers.studies.gpt2.seeds import AS_TRAINED

CHANGED = {"uniform attention": 0.1, "ReLU": 0.3}


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("gauss_newton_error")


def test_what_is_said_of_two_architectures_is_not_said_of_what_attention_is_worth():
    """The paper's sentences say when they hold; ours, that attention need not be in use."""
    for statement in statements.all:
        assert "attention in use" not in statement.state.text
        assert (statement.book == "beyond") == (statement.state is AS_TRAINED)


def test_at_the_lowest_common_loss_the_rest_of_a_training_does_not_count():
    networks = pretrained((ATTENTION, TWIN, *CHANGED), noise=0.0, ripple=0.0, errors=CHANGED)
    early = networks["step"] < networks["step"].max() / 2
    grown = networks.assign(ggn=networks["ggn"].where(~early, networks["hessian"] * 0.01))
    values = [
        with_one_part_changed(read(each, along=["loss"]), "ReLU", "the lowest loss").value
        for each in (networks, grown)
    ]
    assert values[0] == pytest.approx(values[1], abs=0.01)
