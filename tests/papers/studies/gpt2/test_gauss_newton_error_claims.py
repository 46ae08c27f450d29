"""The claims about the GGN of language models, on planted runs."""

import pytest
from claims_contract import Planted, contract
from language_models import ATTENTION, NO_NORM_WEIGHTS, TWIN, pretrained, read

from hessian_papers.studies.gpt2.gauss_newton_error.claims import (
    statements,
    with_one_part_changed,
)
from hessian_papers.studies.gpt2.gauss_newton_error.study import VARIABLES

FIGURES = {
    "Figure 5": {"along": ["residual"]},
    "Figure 23": {"along": ["loss"], "shown": "runs"},
    "Figure 24": {"along": ["loss"]},
    "Figure 25": {"along": ["step"]},
}
ARMS = "Section 4.3, one part changed"
CHANGED = {"uniform attention": 0.1, "ReLU": 0.3}
# Without attention larger throughout, and the smaller the residual the larger.
REVERSED = {ATTENTION: 0.1, TWIN: 0.5, NO_NORM_WEIGHTS: 0.1}


def of(networks, figure):
    return {"correlation": read(networks, **FIGURES.get(figure, {"along": ["loss"]}))}


def arms(errors=CHANGED, variants=(ATTENTION, TWIN, *CHANGED)):
    """Networks of which some have one part changed."""
    return of(pretrained(variants=variants, errors=errors, ripple=0.0), ARMS)


def rising():
    networks = pretrained()
    error = 0.02 / networks["residual"] ** 6
    return networks.assign(ggn=networks["hessian"] * (1 - error))


@pytest.fixture(scope="module")
def planted():
    fails = [
        pretrained(errors=REVERSED),
        pretrained(start={ATTENTION: 0.9, TWIN: 0.5}),
        rising(),
    ]
    reduced = [
        pretrained(variants=(ATTENTION,)),
        pretrained(variants=(TWIN, NO_NORM_WEIGHTS)),
        pretrained(seeds=1),
        pretrained().assign(hessian=pretrained()["hessian"] * float("nan")),
    ]
    return [
        Planted(
            paper="singh2026cracking",
            artifact=figure,
            holds=of(pretrained(), figure),
            fails=[of(networks, figure) for networks in fails],
            reduced=[of(networks, figure) for networks in reduced],
        )
        for figure in FIGURES
    ] + [
        Planted(
            paper="singh2026cracking",
            artifact=ARMS,
            holds=arms(),
            fails=[arms(dict.fromkeys((TWIN, *CHANGED), 0.9))],
            reduced=[arms(variants=(TWIN, *CHANGED)), arms(variants=(ATTENTION, TWIN))],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_at_the_lowest_common_loss_the_rest_of_a_training_does_not_count():
    networks = pretrained((ATTENTION, TWIN, *CHANGED), noise=0.0, ripple=0.0, errors=CHANGED)
    early = networks["step"] < networks["step"].max() / 2
    grown = networks.assign(ggn=networks["ggn"].where(~early, networks["hessian"] * 0.01))
    values = [
        with_one_part_changed(read(each, along=["loss"]), "ReLU", "the lowest loss").value
        for each in (networks, grown)
    ]
    assert values[0] == pytest.approx(values[1], abs=0.01)
