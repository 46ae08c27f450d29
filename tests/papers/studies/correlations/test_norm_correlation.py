"""Correlation studies: the right quantities at the right points, comparisons without accidents."""

import numpy as np
import pytest
import xarray as xr
from ensemble_arrays import drawn_alone, ensemble
from point_studies import norms_config as config

from hessian_papers import labelled
from hessian_papers.studies.correlations.ensembles import unfinished
from hessian_papers.studies.correlations.norm_correlation import study as norm_correlation
from hessian_papers.studies.correlations.norm_correlation.derived import (
    STATISTICS,
    with_statistics,
)
from hessian_papers.studies.correlations.norm_correlation.figure import caption
from hessian_papers.studies.correlations.norm_correlation.regions import (
    magnitude_ratio,
    region_mean,
)


def deep(**changes):
    chosen = {"along": "depth", "depths": [], "sizes": [3], "norms": ["spectral"]}
    return config(**(chosen | changes))


def read(config, networks):
    """The study with all statistics that it has."""
    data = norm_correlation.correlation(config, networks)
    names = [name for name in STATISTICS if name != "group_lead" or data.sizes["group"] == 2]
    return data if "lead" in data else with_statistics(data, *names)


@pytest.fixture(scope="module")
def wide_networks():
    return ensemble(sizes=(1, 3, 5), noise=0.2)


@pytest.fixture(scope="module")
def deep_networks():
    return ensemble(depths=(2, 3, 4), sizes=(1, 3), noise=0.2)


@pytest.fixture(scope="module")
def wide(wide_networks):
    return read(config(), wide_networks)


def in_order(values):
    """Without dimensions of one label, the others in one order."""
    order = "estimate", "parametrisation", "depth", "size", "time", "group", "layer", "norm"
    return values.squeeze().transpose(*order, missing_dims="ignore")


def values_of(data, name, **labels):
    """A statistic of the sample."""
    return in_order(data[name].sel(estimate="value", **labels))


def mean_of(data, name, region="all", **labels):
    """The mean of a statistic over a region, and over teachers."""
    return in_order(region_mean(data[f"each_{name}"], data, region).mean("teacher").sel(labels))


def test_correlations_are_those_of_the_squared_norms(wide, wide_networks):
    for name, size, time, layer, norm in [
        ("sp", 3, "initialisation", 1, "spectral"),
        ("ntp", 5, "trained", 2, "nuclear"),
        ("ntp", 1, "initialisation", 2, "frobenius"),
    ]:
        last = -1 if time == "trained" else None  # the last network has diverged
        point = wide_networks.sel(parametrisation=name, depth=2, size=size, time=time)
        kept = point.sel(layer=layer, norm=norm).isel(network=slice(last))
        expected = np.corrcoef(kept["sharpness"], kept["norms"] ** 2)[0, 1]
        place = {"parametrisation": name, "size": size, "time": time, "layer": layer, "norm": norm}
        actual = values_of(wide, "correlation", **place)
        assert float(actual) == pytest.approx(expected, abs=1e-11)


def test_alignments_come_first_and_are_absolute(wide_networks):
    both = config(quantities=["alignments", "matrices"])
    signed = wide_networks.assign(alignments=-wide_networks["alignments"])
    actual = read(both, signed)
    assert actual["group"].values.tolist() == ["alignments", "matrices"]
    assert actual["layer"].values.tolist() == [0, 1, 2]
    place = {"parametrisation": "ntp", "size": 3, "time": "initialisation", "norm": "frobenius"}
    point = wide_networks.sel(depth=2, **place)
    expected = np.corrcoef(point["sharpness"], point["alignments"])[0, 1]
    r = values_of(actual, "correlation", **place)
    assert float(r.sel(group="alignments", layer=0)) == pytest.approx(expected, abs=1e-11)
    assert np.isfinite(r).values.tolist() == [[True, False, False], [False, True, True]]


def test_leads_are_differences_of_the_correlations(wide):
    r, best = (values_of(wide, name) for name in ("correlation", "best_correlation"))
    swapped = r.sel(layer=[2, 1]).assign_coords(layer=[1, 2])
    lead = values_of(wide, "factor_lead")
    np.testing.assert_allclose(lead, r - swapped, rtol=0, atol=2e-12)
    np.testing.assert_allclose(best, r.max("layer"), atol=2e-12)
    beyond = {"size": [3, 5]}  # at D = 1 there is one norm
    frobenius, others = best.sel(norm="frobenius"), best.sel(norm=["spectral", "nuclear"])
    actual = values_of(wide, "best_norm_lead", norm="frobenius", **beyond)
    np.testing.assert_allclose(actual, (frobenius - others.max("norm")).sel(beyond), atol=2e-12)
    np.testing.assert_allclose(values_of(wide, "last_lead"), lead.sel(layer=2), atol=2e-12)


def test_what_leads_has_the_largest_correlation_whatever_its_size(wide_networks):
    """A negative r leads before no positive one, however strong it is."""
    both = config(quantities=["matrices", "products"], norms=["spectral", "frobenius"])
    data = norm_correlation.correlation(both, wide_networks)
    groups = [[[-0.9, -0.8], [0.2, -0.6]], [[-0.7, -0.95], [0.15, -0.85]]]
    r = np.broadcast_to(groups, data["each_correlation"].shape)
    actual = with_statistics(
        data.assign(each_correlation=data["each_correlation"].copy(data=r)), *STATISTICS
    )
    expected = {
        "factor_lead": [[[-1.1, -0.2], [1.1, 0.2]], [[-0.85, -0.1], [0.85, 0.1]]],
        "last_lead": [1.1, 0.2],
        "best_correlation": [0.2, -0.6],
        "best_norm_lead": [0.8, -0.8],
        "group_lead": 0.05,
    }
    place = {"parametrisation": "ntp", "size": 3, "time": "trained"}
    for name, values in expected.items():
        own = values_of(actual, name, **place)
        np.testing.assert_allclose(own, values, atol=1e-12, err_msg=name)


def test_norms_of_a_vector_do_not_lead_each_other(wide):
    assert np.isnan(wide["best_norm_lead"].sel(size=1)).all()
    lead = values_of(wide, "best_norm_lead", size=[3, 5])
    # D = 3 and 5 stand for 2 to 5.
    expected = lead.weighted(xr.DataArray([2, 1.5], {"size": [3, 5]})).mean("size")
    np.testing.assert_allclose(mean_of(wide, "best_norm_lead"), expected, atol=2e-12)


def test_growth_is_the_lead_less_that_at_initialisation(wide, deep_networks):
    for actual, name in (
        (wide, "best_norm"),
        (read(deep(), deep_networks), "last"),
    ):
        lead, growth = (values_of(actual, f"{name}_{what}") for what in ("lead", "growth"))
        first = lead.sel(time="initialisation")
        np.testing.assert_allclose(growth, lead - first, atol=2e-12)
        assert np.isfinite(first).any()


def test_layers_that_are_not_there_are_undefined(deep_networks):
    actual = read(deep(), deep_networks)
    r, lead = (values_of(actual, name) for name in ("correlation", "last_lead"))
    assert (np.isfinite(r) == (r["layer"] <= r["depth"])).all()
    for depth in (2, 3, 4):
        of_depth = r.sel(depth=depth)
        others = of_depth.sel(layer=slice(depth - 1)).max("layer")
        expected = of_depth.sel(layer=depth) - others
        np.testing.assert_allclose(lead.sel(depth=depth), expected, atol=2e-12)


def test_two_layers_are_the_same_as_products_and_do_not_lead(deep_networks):
    actual = read(deep(quantities=["matrices", "products"]), deep_networks)
    r, lead = (values_of(actual, name) for name in ("correlation", "group_lead"))
    assert np.isnan(lead.sel(depth=2)).all()
    best = r.max("layer")
    expected = best.sel(group="matrices") - best.sel(group="products")
    np.testing.assert_allclose(lead.sel(depth=[3, 4]), expected.sel(depth=[3, 4]), atol=2e-12)
    first, last = (
        r.sel(depth=2, group="matrices", layer=1),
        r.sel(depth=2, group="products", layer=2),
    )
    np.testing.assert_allclose(first, last, atol=1e-9)


@pytest.fixture(scope="module")
def compared_networks():
    return ensemble(("sp", "mup"), (2, 3), sizes=(1, 3), networks=36, teachers=3, noise=0.2)


def at_two_sizes(networks):
    chosen = {"parametrisations": ["sp", "mup"], "sizes": [1, 3], "quantities": ["products"]}
    return read(deep(**chosen), networks)


def test_the_lead_at_two_sizes_is_that_at_each(compared_networks):
    actual = at_two_sizes(compared_networks)
    dims = actual["lead"].sel(size=1).dims
    for size in (1, 3):
        own = deep(parametrisations=["sp", "mup"], sizes=[size], quantities=["products"])
        alone = read(own, compared_networks)["last_lead"]
        expected = alone.sel(size=size, norm="spectral").transpose(*dims)
        np.testing.assert_allclose(actual["lead"].sel(size=size), expected, atol=2e-12)


def test_the_difference_is_the_mean_lead_at_the_smaller_size_less_that_at_the_larger(
    compared_networks,
):
    actual = at_two_sizes(compared_networks)
    mean = values_of(actual, "lead").mean("depth")
    difference = actual["each_difference"].mean("teacher")
    np.testing.assert_allclose(difference, mean.sel(size=1) - mean.sel(size=3), atol=2e-12)


def test_the_worse_of_two_sizes_counts_as_unfinished(compared_networks):
    status = compared_networks["status"].copy()
    status.loc[{"size": 3, "depth": 2}] = 1
    actual = at_two_sizes(compared_networks.assign(status=status))
    assert unfinished(actual.sel(parametrisation="sp")).tolist() == [2]


def test_networks_are_counted(wide):
    assert wide["networks"] == 12
    assert (wide["diverged"] == 1).all()
    assert (wide["epoch_limit"] == 1).all()
    assert wide[labelled.LEFT_OUT] == 6


def test_teachers_whose_networks_are_not_trained_count_at_initialisation(compared_networks):
    networks = drawn_alone(compared_networks, teacher=2)
    chosen = {"parametrisations": ["sp", "mup"], "quantities": ["products"]}
    before, actual = (read(deep(**chosen), each) for each in (compared_networks, networks))
    assert actual["trained"].values.tolist() == [True, True, False]
    assert (before["networks"], actual["networks"]) == (36, 24)
    first, last = ({"time": time} for time in ("initialisation", "trained"))
    for name in ("correlation", "last_lead"):
        xr.testing.assert_equal(actual[name].sel(first), before[name].sel(first))
    each = before["each_correlation"].sel(last).sel(teacher=[0, 1]).mean("teacher")
    r = actual["correlation"].sel(last).sel(estimate="value")
    np.testing.assert_allclose(r, each.transpose(*r.dims), atol=2e-12)
    assert "24 linear networks of width 6, 2 teachers (3 at initialisation);" in caption(actual)


def test_a_constant_norm_has_no_correlation(wide_networks):
    norms = wide_networks["norms"].copy()
    place = {"parametrisation": "sp", "size": 3, "time": "initialisation"}
    norms.loc[place | {"layer": 1}] = 2.5
    actual = read(config(), wide_networks.assign(norms=norms))
    r = values_of(actual, "correlation", **place)
    assert np.isnan(r.sel(layer=1)).all()
    assert np.isfinite(r.sel(layer=2)).all()
    assert np.isnan(actual["factor_lead"].sel(place)).all()
    assert np.isfinite(mean_of(actual, "correlation")).all()


def test_a_point_where_all_diverged_is_undefined(wide_networks):
    sharpness = wide_networks["sharpness"].copy()
    sharpness.loc[{"parametrisation": "sp", "size": 5, "time": "trained"}] = np.nan
    actual = read(config(), wide_networks.assign(sharpness=sharpness))
    of_sp = actual.sel(parametrisation="sp")
    r = values_of(of_sp, "correlation", time="trained")
    assert np.isnan(r.sel(size=5)).all()
    # D = 1 and 3 stand for 1 to 4, half and half where the middle is.
    rest = r.sel(size=[1, 3]).weighted(xr.DataArray([1.5, 2], {"size": [1, 3]})).mean("size")
    everywhere = mean_of(of_sp, "correlation", time="trained")
    np.testing.assert_allclose(everywhere, rest, atol=2e-12)


def test_the_ratio_of_magnitudes_is_that_of_the_initial_entries():
    """Variances 1/fan-in: the ratio is √(m/D) under sp, 1 under ntp; m = 6."""
    ratio = magnitude_ratio(ensemble(sizes=(1, 3, 5), networks=400)).squeeze()
    np.testing.assert_allclose(ratio, [np.sqrt([6, 2, 1.2]), [1.0] * 3], rtol=0.1)


def test_points_are_found_in_any_order(wide, wide_networks):
    shuffled = wide_networks.isel(parametrisation=[1, 0], size=[2, 0, 1])
    # Rounded to twelve digits, which at another place in memory may be the next ones.
    actual = read(config(), shuffled)
    xr.testing.assert_allclose(actual, wide, rtol=0, atol=2e-12)
