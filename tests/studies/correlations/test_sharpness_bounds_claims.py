"""The claims about the sharpness and two formulas, on planted ensembles."""

import numpy as np
import pytest
from claims_contract import Planted, bears_a_missing_case, changed, holds_and_fails, names
from ensemble_arrays import ensemble

from hessian_spectra.studies.correlations.sharpness_bounds import study
from hessian_spectra.studies.correlations.sharpness_bounds.claims import claims

PARAMETRISATIONS = ("sp", "mup", "ntp")


def correlation(parametrisations=PARAMETRISATIONS):
    config = study.Config(
        kind="sharpness_bounds",
        paper="singh2026cracking",
        artifact="Appendix D.3.3",
        title="test",
        ensemble="test",
        seed=0,
        parametrisations=list(parametrisations),
        along="size",
        depths=[2],
        sizes=[],
    )
    networks = ensemble(parametrisations, sizes=(1, 3, 5), networks=40)
    return {"correlation": study.correlation(config, networks)}


@pytest.fixture(scope="module")
def planted():
    holds = correlation()
    fails = [
        changed(holds, "correlation", pooled_maximum=lambda ratio: 0.5 * ratio),
        changed(holds, "correlation", pooled_sum=lambda ratio: 2 * ratio),
        changed(holds, "correlation", closer=lambda share: np.full_like(share, 0.1)),
    ]
    return [
        Planted(
            paper="singh2026cracking",
            artifact="Appendix D.3.3",
            holds=holds,
            fails=fails,
            reduced=[correlation(("mup",))],
        )
    ]


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_holds_and_fails(name, planted):
    holds_and_fails(claims, planted, name)


@pytest.mark.parametrize("name", names(claims))
def test_a_claim_bears_a_missing_case(name, planted):
    bears_a_missing_case(claims, planted, name)
