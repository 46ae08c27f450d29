"""The statements on all layers' output Hessian, on planted numbers."""

import numpy as np
import pytest
from claims_contract import Kind, Planted, contract

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.layerwise.full_output.claims import statements
from hessian_papers.studies.layerwise.full_output.study import VARIABLES


def sides(error=0.05, overlap=0.9, late=0.01, forms=("printed", "gauss-newton")):
    """Ten eigenvalues of the full Hessian, and as many of each form."""
    draws = np.random.default_rng(0)
    values = np.linspace(2, 1, 10) * np.exp(0.001 * draws.standard_normal((1, 4, 10)))
    arrays = {
        "network": np.array(["F-200^2"]),
        "seed": np.arange(4),
        "form": np.array(forms),
        "epoch": np.array(60),
        "classes": np.array(4),
        "hessian": values,
        "residual": np.full(values.shape, 1e-5),
        "approximation": np.stack([values * (1 - error)] * len(forms), axis=2),
        "overlap": np.full((1, 4, len(forms), 10), overlap)
        * values[:, :, None]
        / values[:, :, None],
        **{name: np.full((1, 4), late) for name in ("loss", "accuracy", "late_progress")},
    }
    return {"layerwise": arrays}


@pytest.fixture(scope="module")
def planted():
    return [
        Planted(
            paper="wu2022dissecting",
            artifact="Figure 5",
            holds=sides(),
            fails=[sides(error=0.5), sides(overlap=0.1)],
            reduced=[sides(forms=("printed",)), sides(late=0.5)],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_the_form_is_of_minima_and_the_term_of_trained_networks(planted):
    kind = Kind(statements, VARIABLES)
    for name in ("top_values", "top_space"):
        (entry,) = planted[0].entries(kind, name, sides(late=0.5))
        with pytest.raises(NothingToMeasure, match="50% of the fall came late"):
            entry.measure()
    (entry,) = planted[0].entries(kind, "gauss_newton", sides(late=0.5))
    assert entry.measure().value == pytest.approx(0.05)
