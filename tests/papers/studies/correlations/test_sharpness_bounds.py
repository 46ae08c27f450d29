"""The sharpness over the layers' terms: quantiles, counts, and who is closer."""

import numpy as np
import pytest
from ensemble_arrays import ensemble
from point_studies import bounds_config as config

from hessian_papers.labelled import LEFT_OUT
from hessian_papers.studies.correlations.sharpness_bounds import study as sharpness_bounds


@pytest.fixture(scope="module")
def networks():
    return ensemble(sizes=(1, 3), noise=0.1)


@pytest.fixture(scope="module")
def actual(networks):
    return sharpness_bounds.correlation(config(parametrisations=["ntp", "sp"]), networks)


def test_quantiles_are_those_of_the_ratio(actual, networks):
    # sp comes second in the study, first in the ensemble
    place = {"parametrisation": "sp", "size": 3, "time": "initialisation"}
    point = networks.sel(place)
    expected = np.quantile(point["sharpness"] / point["largest_block"], sharpness_bounds.LEVELS)
    maximum = actual["ratio"].sel(formula="maximum", **place)
    np.testing.assert_allclose(maximum.squeeze(), expected, atol=1e-11)


def test_networks_are_counted(actual, networks):
    ratios = [networks["sharpness"] / networks[name] for name in ("largest_block", "ggn_sum")]
    assert (actual["used"].sel(time="initialisation") == 12).all()
    assert (actual["used"].sel(time="trained") == 11).all()
    assert (actual["diverged"] == 1).all()
    assert actual[LEFT_OUT] == 4
    first = actual.sel(parametrisation="sp", size=1, time="initialisation").squeeze()
    at_first = [ratio.isel(parametrisation=0, depth=0, size=0, time=0) for ratio in ratios]
    maximum, total = (np.abs(np.log(ratio)) for ratio in at_first)
    assert float(first["closer"]) == pytest.approx((total < maximum).mean())


def test_the_sum_is_exact_where_the_sharpness_is_the_sum():
    exact = sharpness_bounds.correlation(config(), ensemble(sizes=(1, 3)))
    np.testing.assert_allclose(exact["ratio"].sel(formula="sum"), 1, atol=1e-11)
    maximum = exact["ratio"].sel(formula="maximum")
    assert ((maximum >= 1) & (maximum <= 2)).all()
    assert (exact["closer"] == 1).all()


def test_a_point_where_all_diverged_is_undefined(networks):
    sharpness = networks["sharpness"].copy()
    sharpness.loc[{"parametrisation": "sp", "size": 1, "time": "trained"}] = np.nan
    actual = sharpness_bounds.correlation(config(), networks.assign(sharpness=sharpness))
    point = actual.sel(parametrisation="sp", size=1)
    assert point["used"].values.tolist() == [[12, 0]]
    trained = point.sel(time="trained")
    assert np.isnan(trained["ratio"]).all()
    assert np.isnan(trained["closer"]).all()


def test_along_depth_there_are_more_terms():
    deep = ensemble(depths=(2, 3, 4), sizes=(3,))
    actual = sharpness_bounds.correlation(config(along="depth", depths=[], sizes=[3]), deep)
    assert actual["depth"].values.tolist() == [2, 3, 4]
    largest = actual["ratio"].sel(formula="maximum", level=1.0)
    assert (largest <= actual["depth"]).all()
    assert (largest.sel(depth=4) > 2).any()
