"""The claims about the sharpness and two formulas, on planted ensembles."""

import numpy as np
import pytest
import scipy.stats
from claims_contract import of_records
from ensemble_arrays import ensemble
from point_studies import bounds_config

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.sharpness_bounds import claims as functions
from hessian_papers.studies.correlations.sharpness_bounds import study
from hessian_papers.studies.correlations.sharpness_bounds.claims import MEDIAN_ERROR

PARAMETRISATIONS = ("sp", "mup", "ntp")


def of(networks, **changes):
    config = bounds_config(**({"parametrisations": list(PARAMETRISATIONS)} | changes))
    return {"correlation": study.correlation(config, networks)}


def diverged():
    """The study of networks of which none got through training."""
    networks = ensemble(PARAMETRISATIONS)
    networks["sharpness"].loc[{"time": "trained"}] = np.nan
    return of(networks)


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("sharpness_bounds")


def test_what_a_configuration_leaves_out_is_named():
    deeper = of(ensemble(PARAMETRISATIONS, depths=(3,)), depths=[3])["correlation"]
    with pytest.raises(NothingToMeasure, match=r"^this configuration is not one of two layers"):
        functions.lower_bound(deeper)
    without = diverged()["correlation"]
    for measure, labels in (
        (functions.value, {"parametrisation": "sp"}),
        (functions.sum_closer, {"time": "trained"}),
    ):
        with pytest.raises(NothingToMeasure, match=r"has no network whose ratio is finite$"):
            measure(without.sel(labels))


def test_the_error_of_a_median_is_that_of_normal_samples():
    """1/(2 f(0)) over the root of their number, for quartiles as far apart as the normal ones."""
    normal = scipy.stats.norm
    expected = 1 / (2 * normal.pdf(0)) / (normal.ppf(0.75) - normal.ppf(0.25))
    assert pytest.approx(expected, rel=1e-6) == MEDIAN_ERROR
