"""The claims about the sharpness and two formulas, on planted ensembles."""

import numpy as np
import pytest
from claims_contract import of_records
from ensemble_arrays import ensemble
from point_studies import bounds_config

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.sharpness_bounds import claims as functions
from hessian_papers.studies.correlations.sharpness_bounds import study

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
        functions.sharpness_at_least_squares(deeper)
    without = diverged()["correlation"]
    for measure, labels in (
        (functions.gauss_newton_approximates, {"parametrisation": "sp"}),
        (functions.sum_closer, {"parametrisation": "sp"}),
    ):
        with pytest.raises(NothingToMeasure, match=r"has no teacher whose ratios are all finite$"):
            measure(without.sel(labels))


def test_teachers_are_the_replicates_and_not_their_networks():
    """The networks of one teacher have its data in common."""
    data = of(ensemble(PARAMETRISATIONS, networks=96, teachers=8, noise=0.3))["correlation"]
    place = {"size": 3, "parametrisation": "sp"}
    actual = functions.sum_closer(data.sel(place))
    assert actual.dims == ("teacher",)
    np.testing.assert_allclose(
        actual, data["closer"].sel(place | {"time": "trained"}).squeeze("depth")
    )
