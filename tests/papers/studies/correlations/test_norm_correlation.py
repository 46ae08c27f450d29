"""Correlation studies: the right quantities at the right points, comparisons without accidents."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from ensemble_arrays import configurations, ensemble

from hessian_papers.studies.correlations.norm_correlation import study as norm_correlation
from hessian_spectra.files import write_arrays


def config(**changes):
    fields = {
        "kind": "norm_correlation",
        "paper": "singh2026cracking",
        "artifact": "Figure 4",
        "title": "test",
        "ensemble": "test",
        "seed": 1,
        "target": "sharpness",
        "quantities": ["matrices"],
        "norms": ["spectral", "frobenius", "nuclear"],
        "highlighted": "spectral",
        "parametrisations": ["sp", "ntp"],
        "along": "size",
        "depths": [2],
        "sizes": [],
        "resamples": 100,
        "confidence": 0.95,
    }
    return norm_correlation.Config(**(fields | changes))


def deep(**changes):
    chosen = {"along": "depth", "depths": [], "sizes": [3], "norms": ["spectral"]}
    return config(**(chosen | changes))


@pytest.fixture(scope="module")
def wide_networks():
    return ensemble(sizes=(1, 3, 5), noise=0.2)


@pytest.fixture(scope="module")
def deep_networks():
    return ensemble(depths=(2, 3, 4), sizes=(1, 3), noise=0.2)


@pytest.fixture(scope="module")
def wide(wide_networks):
    return norm_correlation.correlation(config(), wide_networks)


def test_correlations_are_those_of_the_squared_norms(wide, wide_networks):
    for row, column, time, layer, norm in [(0, 1, 0, 0, 0), (1, 2, 1, 1, 2), (1, 0, 0, 1, 1)]:
        point = 3 * row + column
        last = -1 if time else None  # the last network has diverged
        target = wide_networks["sharpness"][point, time, :last]
        squares = wide_networks["norms"][point, time, :last, layer, norm] ** 2
        expected = np.corrcoef(target, squares)[0, 1]
        actual = wide["correlation"][row, column, time, layer, norm]
        assert actual == pytest.approx(expected, abs=1e-11)


def test_alignments_come_first_and_are_absolute(wide_networks):
    both = config(quantities=["alignments", "matrices"])
    signed = wide_networks | {"alignments": -wide_networks["alignments"]}
    actual = norm_correlation.correlation(both, signed)
    assert actual["group"].tolist() == ["alignments", "matrices", "matrices"]
    assert actual["layer"].tolist() == [0, 1, 2]
    target, aligned = (wide_networks[name][4, 0] for name in ("sharpness", "alignments"))
    expected = np.corrcoef(target, aligned[:, 1])[0, 1]
    assert actual["correlation"][1, 1, 0, 0, 1] == pytest.approx(expected, abs=1e-11)


def test_intervals_hold_their_estimate(wide):
    for name in ("correlation", "factor_lead", "mean_correlation", "mean_factor_lead"):
        low, value, high = (wide[name + suffix] for suffix in ("_low", "", "_high"))
        assert np.isfinite(value).all()
        assert (low <= value).all()
        assert (value <= high).all()
        assert (low < high).any()


def test_leads_are_differences_of_the_correlations(wide):
    r = wide["correlation"]
    np.testing.assert_allclose(
        wide["factor_lead"], r - r[:, :, :, ::-1], rtol=0, atol=2e-12, equal_nan=True
    )
    beyond = slice(1, None)  # at D = 1 there is one norm
    best = r.max(axis=-2)
    np.testing.assert_allclose(wide["best_correlation"], best, atol=2e-12)
    np.testing.assert_allclose(
        wide["best_norm_lead"][:, beyond, :, 1],
        (best[..., 1] - best[..., [0, 2]].max(axis=-1))[:, beyond],
        atol=2e-12,
    )
    np.testing.assert_allclose(
        wide["best_norm_difference"][:, beyond, :, 1, 2],
        (best[..., 1] - best[..., 2])[:, beyond],
        atol=2e-12,
    )
    np.testing.assert_allclose(wide["last_lead"], wide["factor_lead"][..., 1, :], atol=2e-12)


def test_norms_of_a_vector_do_not_lead_each_other(wide):
    assert wide["position"][0] == 1
    for name in ("best_norm_lead", "best_norm_difference"):
        for suffix in ("", "_low", "_high"):
            assert np.isnan(wide[name + suffix][:, 0]).all()
    np.testing.assert_allclose(
        wide["mean_best_norm_lead"][:, 0],
        # D = 3 and 5 stand for 2 to 5.
        np.average(wide["best_norm_lead"][:, 1:], weights=[2, 1.5], axis=1),
        atol=2e-12,
    )


def test_growth_is_the_lead_less_that_at_initialisation(wide, deep_networks):
    for actual, name in (
        (wide, "best_norm"),
        (norm_correlation.correlation(deep(), deep_networks), "last"),
    ):
        lead, growth = actual[f"{name}_lead"], actual[f"{name}_growth"]
        np.testing.assert_allclose(growth[:, :, 1], lead[:, :, 1] - lead[:, :, 0], atol=2e-12)
        defined = np.isfinite(growth[:, :, 0])
        assert defined.any()
        assert (growth[:, :, 0][defined] == 0).all()


def test_layers_that_are_not_there_are_undefined(deep_networks):
    actual = norm_correlation.correlation(deep(), deep_networks)
    present = np.isfinite(actual["correlation"][0, :, 0, :, 0])
    assert present.tolist() == [[b < depth for b in range(4)] for depth in (2, 3, 4)]
    r = actual["correlation"][..., 0]
    for position, depth in enumerate((2, 3, 4)):
        expected = r[:, position, :, depth - 1] - r[:, position, :, : depth - 1].max(axis=-1)
        np.testing.assert_allclose(actual["last_lead"][:, position, :, 0], expected, atol=2e-12)


def test_two_layers_are_the_same_as_products_and_do_not_lead(deep_networks):
    actual = norm_correlation.correlation(deep(quantities=["matrices", "products"]), deep_networks)
    assert np.isnan(actual["group_lead"][:, 0]).all()
    assert np.isfinite(actual["group_lead"][:, 1:]).all()
    r = actual["correlation"][..., 0]
    expected = np.nanmax(r[..., :4], axis=-1) - np.nanmax(r[..., 4:], axis=-1)
    np.testing.assert_allclose(actual["group_lead"][:, 1:], expected[:, 1:], atol=2e-12)
    np.testing.assert_allclose(r[:, 0, :, 0], r[:, 0, :, 5], atol=1e-9)


def test_networks_are_counted(wide):
    assert int(wide["networks"]) == 12
    assert wide["used"].tolist() == [[[12, 11]] * 3] * 2
    assert (wide["diverged"] == 1).all()
    assert (wide["epoch_limit"] == 1).all()


def test_a_constant_norm_has_no_correlation(wide_networks):
    norms = wide_networks["norms"].copy()
    norms[1, 0, :, 0] = 2.5
    actual = norm_correlation.correlation(config(), wide_networks | {"norms": norms})
    assert np.isnan(actual["correlation"][0, 1, 0, 0]).all()
    assert np.isfinite(actual["correlation"][0, 1, 0, 1]).all()
    assert np.isnan(actual["factor_lead"][0, 1, 0]).all()
    assert np.isfinite(actual["mean_correlation"]).all()


def test_a_point_where_all_diverged_is_undefined(wide_networks):
    sharpness = wide_networks["sharpness"].copy()
    sharpness[2, 1] = np.nan
    actual = norm_correlation.correlation(config(), wide_networks | {"sharpness": sharpness})
    assert actual["used"][0, 2].tolist() == [12, 0]
    assert np.isnan(actual["correlation"][0, 2, 1]).all()
    everywhere = actual["mean_correlation"][0, 0, 1]
    # D = 1 and 3 stand for 1 to 4, half and half where the middle is.
    rest = np.average(actual["correlation"][0, :2, 1], weights=[1.5, 2], axis=0)
    np.testing.assert_allclose(everywhere, rest, atol=2e-12)


def test_regions_follow_the_magnitude_of_the_entries(wide_networks):
    actual = norm_correlation.correlation(config(), wide_networks)
    # Variances 1/fan-in: the ratio is √(m/D) under sp, 1 under ntp; m = 6.
    np.testing.assert_allclose(actual["magnitude_ratio"][0], np.sqrt([6, 2, 1.2]), rtol=0.35)
    np.testing.assert_allclose(actual["magnitude_ratio"][1], 1, rtol=0.35)
    r = actual["correlation"]
    larger = actual["magnitude_ratio"][0] > 1.5
    assert larger.any()
    assert not larger.all()
    stands_for = np.array([1.5, 2.0, 1.5])  # how many of D = 1 to 5 each of 1, 3 and 5
    for region, chosen in ((1, larger), (2, ~larger)):
        expected = np.average(r[0, chosen], weights=stands_for[chosen], axis=0)
        np.testing.assert_allclose(actual["mean_correlation"][0, region], expected, atol=2e-12)
    np.testing.assert_allclose(
        actual["mean_correlation"][:, 3],
        actual["mean_correlation"][:, 1] - actual["mean_correlation"][:, 2],
        atol=2e-12,
    )
    # No ratio of ntp is above 1.5: the largest stands for them.
    widest = int(actual["magnitude_ratio"][1].argmax())
    np.testing.assert_allclose(actual["mean_correlation"][1, 1], r[1, widest], atol=2e-12)


def test_points_are_found_in_any_order(wide, wide_networks):
    order = np.random.default_rng(0).permutation(6)
    shuffled = {
        name: array[order] if array.ndim and len(array) == 6 else array
        for name, array in wide_networks.items()
    }
    actual = norm_correlation.correlation(config(), shuffled)
    assert actual.keys() == wide.keys()
    for name, array in wide.items():
        if array.dtype.kind == "f":
            # Rounded to twelve digits, which at another place in memory may be the next ones.
            np.testing.assert_allclose(actual[name], array, rtol=0, atol=2e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(actual[name], array)


def test_equal_configurations_give_equal_bytes(wide, wide_networks, tmp_path):
    again = norm_correlation.correlation(config(), wide_networks)
    other = norm_correlation.correlation(config(seed=2), wide_networks)
    for name, arrays in (("one", wide), ("two", again), ("three", other)):
        write_arrays(tmp_path / f"{name}.npz", arrays)
    first, two, three = ((tmp_path / f"{n}.npz").read_bytes() for n in ("one", "two", "three"))
    assert first == two
    assert first != three


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parametrisations": ["mup"]}, r"parametrisations: expected .* ntp, sp, got \['mup'\]"),
        ({"sizes": [1, 7]}, r"sizes: expected some of the ensemble's, 1, 3, 5, got \[1, 7\]"),
        ({"depths": [3]}, r"depths: expected some of the ensemble's, 2, got \[3\]"),
    ],
)
def test_what_the_ensemble_lacks_is_named(wide_networks, change, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        norm_correlation.correlation(config(**change), wide_networks)


def test_a_missing_combination_is_named(wide_networks):
    holes = {
        name: array[1:] if array.ndim and len(array) == 6 else array
        for name, array in wide_networks.items()
    }
    with pytest.raises(ValueError, match=r"^ensemble test: .* it lacks \('sp', 2, 1\)$"):
        norm_correlation.correlation(config(), holes)


@pytest.mark.parametrize(
    "change",
    [
        {"target": "loss"},
        {"quantities": []},
        {"quantities": ["matrices", "matrices"]},
        {"quantities": ["matrices", "products", "alignments"]},
        {"norms": ["operator"]},
        {"highlighted": "operator"},
        {"parametrisations": []},
        {"parametrisations": ["sp", "sp"]},
        {"along": "width"},
        {"depths": [2, 3]},
        {"sizes": [], "along": "depth"},
        {"quantities": ["alignments"], "depths": [3]},
        {"resamples": 10},
        {"seed": -1},
        {"confidence": 1.0},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)


def test_every_configuration_of_this_kind_is_valid():
    actual = [norm_correlation.Config(**f) for f in configurations("norm_correlation").values()]
    assert len(actual) == 11
    assert {config.paper for config in actual} == {"singh2026cracking"}


def test_torch_is_not_loaded():
    code = (
        "import sys; import hessian_papers.studies.correlations.norm_correlation.study, "
        "hessian_papers.studies.correlations.sharpness_bounds.study; "
        "sys.exit('torch' in sys.modules)"
    )
    assert importlib.util.find_spec("torch") is not None
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
