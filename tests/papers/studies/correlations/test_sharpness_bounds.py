"""The sharpness over the layers' terms: quantiles, counts, and who is closer."""

import numpy as np
import pytest
from ensemble_arrays import configurations, ensemble

from hessian_papers.studies.correlations.sharpness_bounds import study as sharpness_bounds


def config(**changes):
    fields = {
        "kind": "sharpness_bounds",
        "paper": "singh2026cracking",
        "artifact": "Appendix D.3.3",
        "title": "test",
        "ensemble": "test",
        "seed": 0,
        "parametrisations": ["ntp", "sp"],
        "along": "size",
        "depths": [2],
        "sizes": [],
    }
    return sharpness_bounds.Config(**(fields | changes))


@pytest.fixture(scope="module")
def networks():
    return ensemble(sizes=(1, 3), noise=0.1)


@pytest.fixture(scope="module")
def actual(networks):
    return sharpness_bounds.correlation(config(), networks)


def test_quantiles_are_those_of_the_ratio(actual, networks):
    point = 3  # sp comes second in the study, first in the ensemble
    ratio = networks["sharpness"][1, 0] / networks["largest_block"][1, 0]
    assert networks["size"][1] == networks["size"][point] == 3
    expected = np.quantile(ratio, sharpness_bounds.LEVELS)
    np.testing.assert_allclose(actual["ratio_maximum"][1, 1, 0], expected, atol=1e-11)


def test_pooled_quantiles_are_over_all_positions(actual, networks):
    ratio = (networks["sharpness"] / networks["ggn_sum"])[2:, 1, :-1]
    expected = np.quantile(ratio, sharpness_bounds.LEVELS)
    np.testing.assert_allclose(actual["pooled_sum"][0, 1], expected, atol=1e-11)


def test_networks_are_counted(actual, networks):
    ratios = [networks["sharpness"] / networks[name] for name in ("largest_block", "ggn_sum")]
    assert actual["used"].tolist() == [[[12, 11]] * 2] * 2
    assert (actual["diverged"] == 1).all()
    assert actual["below"][1, 0, 0] == (ratios[0][0, 0] < 1).sum()
    maximum, total = (np.abs(np.log(ratio[0, 0])) for ratio in ratios)
    assert actual["closer"][1, 0, 0] == pytest.approx((total < maximum).mean())


def test_the_sum_is_exact_where_the_sharpness_is_the_sum():
    exact = sharpness_bounds.correlation(config(), ensemble(sizes=(1, 3)))
    np.testing.assert_allclose(exact["ratio_sum"], 1, atol=1e-11)
    assert (exact["ratio_maximum"] >= 1).all()
    assert (exact["ratio_maximum"] <= 2).all()
    assert (exact["closer"] == 1).all()
    assert (exact["below"] == 0).all()


def test_a_point_where_all_diverged_is_undefined(networks):
    sharpness = networks["sharpness"].copy()
    sharpness[0, 1] = np.nan
    actual = sharpness_bounds.correlation(config(), networks | {"sharpness": sharpness})
    assert actual["used"][1, 0].tolist() == [12, 0]
    assert np.isnan(actual["ratio_sum"][1, 0, 1]).all()
    assert np.isnan(actual["closer"][1, 0, 1])
    assert np.isfinite(actual["pooled_sum"]).all()


def test_along_depth_there_are_more_terms():
    deep = ensemble(depths=(2, 3, 4), sizes=(3,))
    actual = sharpness_bounds.correlation(config(along="depth", depths=[], sizes=[3]), deep)
    assert actual["position"].tolist() == [2, 3, 4]
    largest = actual["ratio_maximum"][..., -1]
    assert (largest <= actual["position"][None, :, None]).all()
    assert (largest[:, 2] > 2).any()


def test_the_configuration_is_valid():
    (fields,) = configurations("sharpness_bounds").values()
    assert sharpness_bounds.Config(**fields).fixed == 2
