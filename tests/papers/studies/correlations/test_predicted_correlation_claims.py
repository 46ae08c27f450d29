"""Correlations with surrogates of the sharpness, of planted ensembles."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from claims_contract import of_records
from ensemble_arrays import drawn_alone, ensemble, replaced
from matplotlib import pyplot as plt
from point_studies import predictions_config

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.predicted_correlation import claims, derived, figure, study


@cache
def networks():
    """Networks whose sharpness is the sum of both terms, and those the squared norms."""
    return ensemble(sizes=(1, 3, 5), networks=96, teachers=8)


def other_norms(ensembles):
    """Networks with the squared norms of others in the place of the terms without S."""
    return replaced(ensembles, ggn_sum=ensembles["ggn_sum"].values[..., ::-1].copy())


def of(ensembles, **changes):
    return {"correlation": study.correlation(predictions_config(**changes), ensembles)}


def test_a_formula_that_is_the_sharpness_has_all_its_correlations():
    data = of(networks())["correlation"]
    for formula in study.FORMULAS:
        np.testing.assert_allclose(data["surrogate"].sel(formula=formula), data["measured"])
    assert derived.misses(data).max() < 1e-9


def test_correlations_are_those_of_a_teachers_networks():
    data = of(other_norms(networks()))["correlation"]
    place = {"parametrisation": "sp", "size": 5, "time": "initialisation"}
    points = other_norms(networks()).sel(place).squeeze("depth")
    own = points.isel(network=points["teacher"].values == 3)
    square = own["norms"].sel(layer=2, norm="spectral") ** 2
    for name, quantity in (
        (data["measured"], own["sharpness"]),
        (data["surrogate"].sel(formula="norms"), own["ggn_sum"]),
        (data["surrogate"].sel(formula="terms"), own["sampled_terms"].sum("layer")),
    ):
        actual = name.sel(place).sel(layer=2, teacher=3).item()
        assert actual == pytest.approx(np.corrcoef(square, quantity)[0, 1], abs=1e-9)


@cache
def deep_networks():
    """Networks of two and three layers whose sharpness is the sum of all terms."""
    return ensemble(depths=(2, 3), sizes=(1, 3), networks=96, teachers=8)


DEEP = {"along": "depth", "depths": [], "sizes": [1, 3]}


def test_in_deeper_networks_products_are_correlated_and_all_terms_summed():
    networks = deep_networks()
    data = of(other_norms(networks), **DEEP)["correlation"]
    assert data["formula"].values.tolist() == ["norms", "terms"]
    np.testing.assert_allclose(data["surrogate"].sel(formula="terms"), data["measured"])
    place = {"parametrisation": "ntp", "depth": 3, "size": 3, "time": "trained"}
    own = networks.sel(place).isel(network=networks["teacher"].values == 5)
    square = own["products"].sel(layer=3, norm="spectral") ** 2
    actual = data["measured"].sel(place).sel(layer=3, teacher=5).item()
    assert actual == pytest.approx(np.corrcoef(square, own["sharpness"])[0, 1], abs=1e-9)
    # Networks of two layers have no third product.
    assert data["measured"].sel(layer=3, depth=2).isnull().all()
    assert data["measured"].sel(layer=3, depth=3).notnull().all()


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records(
    "predicted_correlation"
)


def test_a_teacher_without_networks_is_named():
    data = of(networks())["correlation"]
    measured = data["measured"].where(data["teacher"] != 2)
    with pytest.raises(NothingToMeasure, match="has a teacher without correlations"):
        claims.second_moments_come_nearer(data.assign(measured=measured).sel(time="trained"))


@pytest.mark.parametrize(
    ("measured", "surrogate", "same"),
    [([-0.9, 0.2], [0.1, 0.3], 1.0), ([-0.9, 0.2], [0.9, 0.3], 0.0), ([0.4, 0.3], [0.2, 0.3], 0.0)],
)
def test_the_norm_that_leads_has_the_largest_correlation_whatever_its_size(
    measured, surrogate, same
):
    """A negative r, however strong, leads before no positive one."""
    data = of(networks())["correlation"].sel(time="trained")
    rows = {
        name: xr.zeros_like(data[name]) + xr.DataArray(row, {"layer": data["layer"]})
        for name, row in (("measured", measured), ("surrogate", surrogate))
    }
    assert claims.surrogate_says_which_norm_leads(data.assign(rows)).values.tolist() == [same] * 8


def test_teachers_whose_networks_are_not_trained_count_at_initialisation():
    every, fewer = (
        of(each)["correlation"] for each in (networks(), drawn_alone(networks(), teacher=7))
    )
    for time, teachers in (("initialisation", range(8)), ("trained", range(7))):
        whole, part = (
            claims.second_moments_come_nearer(data.sel(time=time)) for data in (every, fewer)
        )
        xr.testing.assert_equal(part, whole.sel(teacher=[*teachers]))
    assert "7 teachers (8 at initialisation) of 12 networks" in figure.caption(fewer)


def test_each_point_is_drawn_for_each_formula():
    data = of(other_norms(networks()))["correlation"]
    picture = figure.draw(data)
    # Two parametrisations, two times, two layers, and the diagonal.
    assert [len(axes.lines) for axes in picture.axes] == [9, 9, 9]
    assert "rms 0.00" in {text.get_text() for text in picture.axes[1].texts}
    assert "8 teachers of 12 networks" in figure.caption(data)
    assert "norms of matrices" in figure.caption(data)
    data = of(deep_networks(), **DEEP)["correlation"]
    picture = figure.draw(data)
    # With a third layer, and two sizes and depths a mark each.
    assert [len(axes.lines) for axes in picture.axes] == [13, 13]
    assert {len(line.get_xdata()) for line in picture.axes[0].lines[1:]} == {4}
    assert "norms of products without one matrix" in figure.caption(data)
    plt.close("all")


def test_one_input_is_no_point_of_the_statistics():
    """There the surrogate is the sharpness at least squares, whatever the inputs."""
    data = of(other_norms(networks()))["correlation"]
    far = data.assign(surrogate=data["surrogate"].where(data["size"] > 1, 0.9))
    for time in data["time"].values:
        whole, part = (each.sel(time=time) for each in (far, data))
        xr.testing.assert_equal(
            claims.second_moments_come_nearer(whole), claims.second_moments_come_nearer(part)
        )
    with pytest.raises(NothingToMeasure, match="no D above 1"):
        claims.second_moments_come_nearer(data.sel(size=[1], time="trained"))


def test_the_bias_is_that_of_the_first_matrix_less_that_of_the_second():
    data = of(networks())["correlation"]
    bias = xr.DataArray([0.3, 0.1], {"layer": data["layer"]}, "layer")
    biased = data.assign(surrogate=data["surrogate"] + bias)
    np.testing.assert_allclose(claims.surrogate_favours_the_first_matrix(biased), 0.2)
