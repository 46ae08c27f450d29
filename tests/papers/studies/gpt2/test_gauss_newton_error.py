"""The error of the GGN's largest eigenvalue at common levels: interpolation, shares, intervals."""

import math

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from language_models import ATTENTION, NO_NORM_WEIGHTS, TWIN, config, pretrained, read

from hessian_papers.labelled import data_set
from hessian_papers.ledger.bounds import NothingToMeasure, estimate_of
from hessian_papers.networks.gpt2 import VARIABLES
from hessian_papers.studies.gpt2.gauss_newton_error import claims, figure, study
from hessian_papers.studies.gpt2.gauss_newton_error.derived import added, contrast
from hessian_papers.studies.gpt2.seeds import compare, estimate
from hessian_spectra.statistics import student_mean


def runs(errors, x):
    """Language models that have errors ``(V, S, m)`` at residuals that broadcast with them."""
    errors, x = np.asarray(errors), np.broadcast_to(x, np.shape(errors)).astype(float)
    variants, seeds, count = errors.shape
    arrays = {
        "variant": np.array([ATTENTION, TWIN, NO_NORM_WEIGHTS][:variants]),
        "diverged": np.zeros((variants, seeds), dtype=bool),
        "seed": np.arange(seeds),
        "parameters": np.arange(variants),
        "step": np.arange(1, count + 1),
        "loss": x,
        "residual": x,
        "hessian": np.full(errors.shape, 2.0),
        "hessian_error": np.zeros(errors.shape),
        "ggn": 2.0 * (1 - errors),
        "ggn_error": np.zeros(errors.shape),
    }
    return data_set(arrays, VARIABLES)


@pytest.mark.parametrize("seed", range(3))
def test_of_a_monotone_run_it_is_the_ordinary_interpolation(seed):
    draw = np.random.default_rng(seed)
    x, values = np.sort(draw.uniform(size=9)), draw.normal(size=9)
    levels = np.sort(np.concatenate([draw.uniform(-0.1, 1.1, size=40), x]))
    inside = (levels >= x[0]) & (levels <= x[-1])
    expected = np.where(inside, np.interp(levels, x, values), np.nan)
    for order in (slice(None), slice(None, None, -1)):
        actual = study.at_levels(levels, x[order], values[order])
        np.testing.assert_allclose(actual, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_of_any_run_it_is_the_mean_over_the_parts_that_are_monotone(seed):
    draw = np.random.default_rng(seed)
    x, values, levels = draw.normal(size=12), draw.normal(size=12), draw.normal(size=60)
    lines = [(x[k : k + 2], values[k : k + 2]) for k in range(11)]
    actual = study.at_levels(levels, x, values)
    for level, mean in zip(levels, actual, strict=True):
        passed = [
            np.interp(level, pair[np.argsort(pair)], of[np.argsort(pair)])
            for pair, of in lines
            if pair.min() < level < pair.max()
        ]
        assert mean == pytest.approx(np.mean(passed) if passed else math.nan, nan_ok=True)


def test_a_measurement_at_a_level_counts_once():
    # It turns at 1, which three measurements have, and stays there for one step.
    x, values = np.array([2.0, 1.0, 1.0, 3.0, 1.0]), np.array([0.0, 3.0, 6.0, 8.0, 12.0])
    actual = study.at_levels(np.array([1.0, 3.0]), x, values)
    assert actual.tolist() == [7.0, 8.0]


def test_a_gap_is_not_bridged():
    x, values = np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, np.nan, 3.0, 4.0])
    actual = study.at_levels(np.array([3.5, 3.0, 2.5, 1.5, 4.0]), x, values)
    np.testing.assert_equal(actual, [np.nan, np.nan, np.nan, 3.5, 1.0])


def test_the_relative_error_and_what_the_residuals_leave_open():
    networks = pretrained(noise=0.3)
    networks["ggn"][0, 0, 3] *= 3  # a larger GGN eigenvalue counts as an error as well
    networks["hessian"][1, 2, 4] = np.nan
    data = study.gpt2(config(), networks)
    actual = {name: data[name].values for name in ("measured", "measured_uncertainty")}
    ratio = (networks["ggn"] / networks["hessian"]).values
    np.testing.assert_allclose(actual["measured"], np.abs(1 - ratio), atol=1e-12)
    assert actual["measured"][0, 0, 3] > 1
    assert np.isnan(actual["measured_uncertainty"][1, 2, 4])
    # A Ritz value is at most the eigenvalue. Eigenvalues at the upper ends of their intervals leave
    # the error in its own, up to second order.
    for ggn, hessian in ((1e-5, 0.0), (0.0, 1e-5), (1e-5, 1e-5)):
        moved = ratio * (1 + ggn) / (1 + hessian)
        change = np.abs(np.abs(1 - moved) - actual["measured"])
        known = np.isfinite(change)
        assert (change <= actual["measured_uncertainty"] * (1 + 1e-4))[known].all()
        largest = (change / actual["measured_uncertainty"])[known].max()
        assert largest == pytest.approx(0 if ggn == hessian else 1, abs=1e-3)


def test_levels_span_all_runs_and_are_nan_outside_of_one():
    data = read(pretrained())
    for along in study.ALONG:
        chosen = data.sel(along=along)
        # What is said of equal levels is not said of the initialisation.
        x = np.broadcast_to(pretrained()[along].values, (3, 3, 15))[..., 1:]
        level = chosen["level"]
        assert (level[0], level[-1]) == (x.min(), x.max())
        low, high = (xr.DataArray(end, dims=("variant", "seed")) for end in (x.min(-1), x.max(-1)))
        inside = (level >= low) & (level <= high)
        np.testing.assert_array_equal(chosen["error"].notnull(), inside.transpose(..., "point"))


def test_the_share_is_of_the_levels_of_each_pair():
    # The errors of the pairs are equal at 0.2, 0.3 and 0.4; below, attention's is the larger one.
    x = np.linspace(1, 0, 11)
    spread = np.array([-0.1, 0.0, 0.1])[:, None]
    data = read(runs([1.3 - x + spread, np.ones((3, 11))], x), along=["residual"])
    share = claims.worse(data, "residual")
    np.testing.assert_allclose(share, [0.2, 0.3, 0.4], atol=0.011)  # of a hundred levels
    value, *ends = estimate_of(share)
    half = scipy.stats.t.ppf(0.975, 2) * 0.1 / math.sqrt(3)
    np.testing.assert_allclose([value, *ends], [0.3, 0.3 - half, 0.3 + half], atol=0.011)
    picture = "The error with attention is the larger one over 30% of the residual range."
    assert picture in figure.caption(data)


def test_runs_are_paired_by_seed():
    draw = np.random.default_rng(0)
    common = draw.uniform(0.2, 0.5, size=(3, 1))
    data = read(runs([2 * common + np.zeros(5), common + np.zeros(5)], np.linspace(1, 0, 5)))
    for values in contrast(data, "residual").values():
        np.testing.assert_allclose(values, math.log(2), atol=1e-9)


def test_residuals_of_eigenvalues_widen_the_interval():
    networks = runs([np.full((3, 5), 0.2), np.full((3, 5), 0.1)], np.linspace(1, 0, 5))
    networks["ggn_error"][:] = 0.1
    actual = contrast(read(networks), "residual")
    # 0.1 · 0.8 of the one and 0.1 · 0.9 of the other.
    np.testing.assert_allclose(actual["high"], math.log(0.28 / 0.01), atol=1e-9)
    np.testing.assert_allclose(actual["low"], math.log(0.12 / 0.19), atol=1e-9)
    late = claims.worse_late(read(networks))
    np.testing.assert_allclose(late, [math.log(2), math.log(0.12 / 0.19), math.log(28)], atol=1e-9)
    np.testing.assert_allclose(late.replicates.numbers, [math.log(2)] * 3, atol=1e-9)


def test_a_ratio_is_compared_by_its_logarithm():
    draw = np.random.default_rng(0)
    errors = np.exp(draw.normal(size=(2, 3, 6)))
    data = read(runs(errors, np.linspace(1, 0, 6)), along=["residual"], points=6)
    actual = contrast(data, "residual")
    logs = np.log(errors[0] / errors[1])[:, ::-1]  # from the smallest residual on
    np.testing.assert_allclose(actual["level"], np.linspace(0, 1, 6), atol=1e-12)
    np.testing.assert_allclose(actual["value"], logs.mean(axis=0), atol=1e-9)
    half = scipy.stats.t.ppf(0.975, 2) * logs.std(axis=0, ddof=1) / math.sqrt(3)
    np.testing.assert_allclose(actual["high"] - actual["value"], half, rtol=1e-7)
    assert claims.worse_late(data).value == pytest.approx(logs[:, 0].mean(), abs=1e-9)


def test_a_ratio_of_errors_is_one_of_gaps_over_one_of_eigenvalues():
    """An error of a tenth that is half as large, of an eigenvalue that is eight times as large."""
    networks = runs([np.full((3, 5), 0.1), np.full((3, 5), 0.05)], np.linspace(1, 0, 5))
    for name in ("hessian", "ggn"):
        networks[name][1] *= 8
    data = read(networks, along=["residual"])
    places = {case["place"] for case in claims._arms(data)}
    assert places == {*claims.PLACES[:3]}
    actual = [claims.with_one_part_changed(data, TWIN, place).value for place in claims.PLACES[:3]]
    np.testing.assert_allclose(actual, np.log([0.5, 4.0, 8.0]), atol=1e-9)
    older = data.drop_vars("sharpness")
    assert claims.with_one_part_changed(older, TWIN, claims.PLACES[0]).value == actual[0]
    with pytest.raises(NothingToMeasure, match="recorded without the eigenvalues below"):
        claims.with_one_part_changed(older, TWIN, claims.PLACES[1])


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ((0.5, 0.05), np.log([10, 0.4 / 0.15, np.inf])),
        ((0.05, 0.5), [-math.log(10), -math.inf, math.log(0.15 / 0.4)]),
    ],
)
def test_an_error_that_is_not_resolved_may_be_a_small_part_of_another(errors, expected):
    error = xr.DataArray([*errors], {"variant": [ATTENTION, TWIN]}).expand_dims(seed=3)
    actual = estimate(compare(error, xr.full_like(error, 0.1)))
    np.testing.assert_allclose(actual, expected, atol=1e-9)


def test_one_seed_leaves_everything_open():
    _, low, high = student_mean(np.ones((1, 4)))
    assert (low == -math.inf).all()
    assert (high == math.inf).all()
    assert estimate_of(claims.worse(read(pretrained(seeds=1)), "loss"))[1:] == (-math.inf, math.inf)


def test_what_is_not_there_is_named():
    alone = read(pretrained(variants=(ATTENTION,)))
    with pytest.raises(NothingToMeasure, match=r"^this configuration leaves out variant no att"):
        contrast(alone, "residual")
    apart = runs(np.full((2, 2, 4), 0.1), np.array([[[4, 3, 2, 1]], [[8, 7, 6, 5]]]))
    with pytest.raises(NothingToMeasure, match=r"no residual is common to all runs$"):
        contrast(read(apart), "residual")
    with pytest.raises(NothingToMeasure, match=r"a pair of runs has no residual in common$"):
        claims.worse(read(apart), "residual")
    with pytest.raises(NothingToMeasure, match=r"leaves out along loss$"):
        added(read(pretrained(), along=["step"]), "loss")
    later = pretrained()
    with pytest.raises(NothingToMeasure, match=r"is not measured at its start$"):
        claims.not_worse_at_start(read(later.assign_coords(step=later["step"] + 1)))
    few = pretrained().isel(step=slice(2))
    with pytest.raises(NothingToMeasure, match=r"fewer than 3 measurements$"):
        claims.residual_drives_the_error(read(few), "without", "the whole")


def test_the_residual_drives_the_gap_not_its_share_of_the_eigenvalue():
    """A gap that follows the residual, of an eigenvalue that falls faster than both."""
    residual, eigenvalue = np.linspace(8, 1, 8), np.linspace(8, 1, 8) ** 2
    networks = runs(np.ones((2, 2, 8)) * residual / eigenvalue, residual)
    networks["hessian"][:] = eigenvalue
    networks["ggn"][:] = eigenvalue - residual
    data = read(networks)
    assert (data["measured"].diff("step") > 0).all()
    for part in claims.PARTS:
        actual = claims.residual_drives_the_error(data, "with", part)
        np.testing.assert_allclose(actual, [1.0, 1.0])


def test_a_run_that_diverged_leaves_what_all_others_have():
    networks = pretrained()
    networks["hessian"][0, 1, 8:] = np.nan
    actual = contrast(read(networks), "residual")
    assert actual["level"].min() > networks["residual"].min()
    assert np.isfinite(actual).all().to_array().all()
    networks["hessian"][1, 0] = np.nan
    with pytest.raises(NothingToMeasure, match=r"no residual is common"):
        contrast(read(networks), "residual")
    networks["hessian"][:] = np.nan
    assert np.isnan(read(networks)["level"]).all()
