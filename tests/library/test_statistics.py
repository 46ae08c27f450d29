"""Correlations, Student's t: right values, right intervals, no accidents at edges."""

import numpy as np
import pytest
import scipy.stats

from hessian_spectra.statistics import (
    correlation,
    correlations,
    mean_skewness,
    members_used,
    rank_correlation,
    rank_correlations,
    student_interval,
    student_mean,
)


def sample(points=3, members=40, columns=2, seed=0):
    draw = np.random.default_rng(seed)
    target = draw.normal(size=(points, members))
    return target, draw.normal(size=(points, members, columns)) + target[..., None]


def test_correlations_are_numpys():
    target, quantities = sample()
    actual = correlations(target, quantities)
    for point in range(3):
        for column in range(2):
            expected = np.corrcoef(target[point], quantities[point, :, column])[0, 1]
            assert actual[point, column] == pytest.approx(expected, abs=1e-14)


def test_large_offsets_lose_no_digits():
    target, quantities = sample()
    expected = correlations(target, quantities)
    actual = correlations(1e6 + target, quantities * 1e-9 - 1.0)
    np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_members_that_are_not_finite_are_left_out_at_their_point_only():
    target, quantities = sample()
    expected = correlations(target, quantities)
    target[1, 5], quantities[1, 6, 0] = np.nan, np.inf
    actual = correlations(target, quantities)
    kept = np.delete(np.arange(40), [5, 6])
    without = correlations(target[:, kept], quantities[:, kept])
    np.testing.assert_allclose(actual[1], without[1], atol=1e-14)
    np.testing.assert_allclose(actual[[0, 2]], expected[[0, 2]], atol=1e-14)
    assert members_used(target, quantities).sum(axis=1).tolist() == [40, 38, 40]


def test_an_absent_quantity_leaves_nobody_out():
    target, quantities = sample()
    expected = correlations(target, quantities)
    quantities[2, :, 1] = np.nan
    actual = correlations(target, quantities)
    assert np.isnan(actual[2, 1])
    assert actual[2, 0] == pytest.approx(expected[2, 0], abs=1e-14)
    assert members_used(target, quantities).all()


@pytest.mark.parametrize("value", [0.0, 3.7])
def test_constant_quantities_have_no_correlation(value):
    target, quantities = sample()
    quantities[0, :, 0] = value
    target[2] = value
    actual = correlations(target, quantities)
    assert np.isnan([actual[0, 0], *actual[2]]).all()
    assert np.isfinite([actual[0, 1], *actual[1]]).all()


def test_points_without_any_member_have_no_correlation():
    target, quantities = sample()
    target[0] = np.nan
    actual = correlations(target, quantities)
    assert np.isnan(actual[0]).all()
    assert np.isfinite(actual[1:]).all()


def test_shapes_that_do_not_fit_are_refused_in_one_line():
    target, quantities = sample()
    with pytest.raises(ValueError, match=r"^expected target .*, got \(3, 40\)"):
        correlations(target, quantities[:, :-1])


@pytest.mark.parametrize("length", [0, 1])
def test_the_correlation_of_hardly_anything_is_zero(length):
    assert correlation(np.ones(length), np.ones(length)) == 0.0


def test_rank_correlation_shares_ranks():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: Pearson's is 4.5 / √(4.5 · 5).
    actual = rank_correlation(np.array([0.0, 1.0, 1.0, 9.0]), np.arange(4.0))
    assert actual == pytest.approx(np.sqrt(0.9), abs=1e-12)


def test_rank_correlations_are_scipys_of_each_pair():
    draws = np.random.default_rng(3)
    first, others = draws.normal(size=7), draws.integers(4, size=(5, 3, 7)).astype(float)
    actual = rank_correlations(first, others)
    for place in np.ndindex(5, 3):
        expected = scipy.stats.spearmanr(first, others[place]).statistic
        assert actual[place] == pytest.approx(expected, abs=1e-12)
        assert actual[place] == rank_correlation(first, others[place])


@pytest.mark.parametrize("length", [0, 1, 4])
def test_without_variation_there_is_no_rank_correlation(length):
    same = np.full((2, length), 1e8)
    same[1, -1:] += 1e-8
    assert rank_correlations(np.arange(length, dtype=float), same).tolist() == [0.0, 0.0]


def test_without_skewness_the_interval_is_scipys_t():
    low, high = student_interval(np.array([1.0, 2.0]), 0.5, np.array([3.0, 40.0]), 0.0, 0.9)
    expected = scipy.stats.t.interval(0.9, [3.0, 40.0], loc=[1.0, 2.0], scale=0.5)
    np.testing.assert_allclose([low, high], expected, rtol=1e-12)


@pytest.mark.parametrize("skewness", [1e-5, 0.3, -0.3, 1.7])
def test_a_skewed_interval_is_stretched_at_one_side_by_the_cubic(skewness):
    low, high = student_interval(0.0, 1.0, 9, skewness, 0.95)
    quantile = scipy.stats.t.ppf(0.975, 9)
    assert -low >= quantile - 1e-12
    assert high >= quantile - 1e-12
    # The far end solves q = T + g T²/3 + g² T³/27 + g/6, at T = −high or −low.
    far, sign = (-high, -1) if skewness > 0 else (-low, 1)
    solved = far + skewness * far**2 / 3 + skewness**2 * far**3 / 27 + skewness / 6
    assert solved == pytest.approx(sign * quantile, rel=1e-9)


def test_intervals_of_skewed_samples_hold_their_mean():
    """Means of ten squares of normal numbers: plain t holds in fewer than nine of ten cases."""
    samples = np.random.default_rng(0).normal(size=(10, 4000)) ** 2
    mean, error = samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(10)
    for skewness, least, most in ((mean_skewness(samples), 0.93, 0.97), (0.0, 0.8, 0.9)):
        low, high = student_interval(mean, error, 9, skewness, 0.95)
        assert least < np.mean((low <= 1) & (high >= 1)) < most


def test_the_skewness_of_a_mean():
    samples = np.random.default_rng(1).exponential(size=(30, 5))
    expected = scipy.stats.skew(samples, axis=0, bias=False) / np.sqrt(30)
    np.testing.assert_allclose(mean_skewness(samples), expected, rtol=1e-12)
    np.testing.assert_allclose(mean_skewness(1e-200 * samples), expected, rtol=1e-10)
    np.testing.assert_array_equal(mean_skewness(samples[:2]), 0.0)
    np.testing.assert_array_equal(mean_skewness(np.ones((4, 2))), 0.0)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match=r"level: expected a share in \(0, 1\)"):
        student_interval(0.0, 1.0, 9, 0.0, level)


@pytest.mark.parametrize("count", [2, 3, 12])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_the_mean_has_students_interval_as_scipy_has_it(count, level):
    samples = np.random.default_rng(count).normal(size=(count, 3)) + 5
    mean, low, high = student_mean(samples, level=level)
    error = scipy.stats.sem(samples, axis=0)
    expected = scipy.stats.t.interval(level, count - 1, loc=samples.mean(axis=0), scale=error)
    np.testing.assert_allclose(mean, samples.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose([low, high], expected, rtol=1e-10)
