"""The sharpness over formulas for it, of each teacher, and which of them is closer."""

import numpy as np
import pytest
from ensemble_arrays import ensemble
from point_studies import bounds_config as config

from hessian_papers.labelled import LEFT_OUT
from hessian_papers.studies.correlations.sharpness_bounds import study as sharpness_bounds


@pytest.fixture(scope="module")
def networks():
    return ensemble(sizes=(1, 3), noise=0.1, teachers=2)


@pytest.fixture(scope="module")
def actual(networks):
    return sharpness_bounds.correlation(config(parametrisations=["ntp", "sp"]), networks)


FORMULAS = ("largest_block", "ggn_sum", "gauss_newton")


def test_each_teacher_has_the_median_and_the_extremes_of_its_networks(actual, networks):
    # sp comes second in the study, first in the ensemble
    place = {"parametrisation": "sp", "size": 3, "time": "initialisation"}
    point = networks.sel(place).squeeze("depth")
    for teacher in (0, 1):
        own = point.isel(network=networks["teacher"].values == teacher)
        ratios = np.stack([own["sharpness"] / own[name] for name in FORMULAS])
        of = actual.sel(place | {"teacher": teacher}).squeeze("depth")
        np.testing.assert_allclose(of["miss"], np.median(abs(ratios - 1), axis=1), atol=1e-11)
        np.testing.assert_allclose(of["largest_miss"], abs(ratios - 1).max(axis=1), atol=1e-11)
        np.testing.assert_allclose(of["smallest_ratio"], ratios.min(axis=1), atol=1e-11)
        maximum, total, _ = abs(np.log(ratios))
        assert float(of["closer"]) == pytest.approx((total < maximum).mean())


def test_networks_that_diverged_are_counted(actual):
    assert (actual["diverged"] == 1).all()
    assert actual[LEFT_OUT] == 4


def test_the_sum_is_exact_where_the_sharpness_is_the_sum():
    exact = sharpness_bounds.correlation(config(), ensemble(sizes=(1, 3)))
    np.testing.assert_allclose(exact["largest_miss"].sel(formula="sum"), 0, atol=1e-11)
    assert (exact["smallest_ratio"].sel(formula="maximum") >= 1).all()
    assert (exact["largest_miss"].sel(formula="maximum") <= 1).all()
    assert (exact["closer"] == 1).all()


def test_a_point_where_all_of_a_teacher_diverged_is_undefined(networks):
    sharpness = networks["sharpness"].copy()
    own = networks["teacher"] == 1
    place = {"parametrisation": "sp", "size": 1, "time": "trained"}
    sharpness.loc[place] = sharpness.sel(place).where(~own)
    actual = sharpness_bounds.correlation(config(), networks.assign(sharpness=sharpness)).sel(place)
    for name in ("miss", "largest_miss", "smallest_ratio", "closer"):
        assert np.isnan(actual[name].sel(teacher=1)).all()
        assert np.isfinite(actual[name].sel(teacher=0)).all()


def test_along_depth_there_are_more_terms():
    deep = ensemble(depths=(2, 3, 4), sizes=(3,))
    actual = sharpness_bounds.correlation(config(along="depth", depths=[], sizes=[3]), deep)
    assert actual["depth"].values.tolist() == [2, 3, 4]
    largest = actual["largest_miss"].sel(formula="maximum")
    assert (largest <= actual["depth"] - 1).all()
    assert (largest.sel(depth=4) > 1).any()
