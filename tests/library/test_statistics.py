"""Correlations, bootstrap, Student's t: right values, right intervals, no accidents at edges."""

import numpy as np
import pytest
import scipy.stats

from hessian_spectra.statistics import (
    bootstrap_interval,
    correlation,
    correlations,
    leave_one_out,
    mean_skewness,
    members_used,
    rank_correlation,
    resample_counts,
    student_interval,
    student_mean,
)


def sample(points=3, members=40, columns=2, seed=0):
    draw = np.random.default_rng(seed)
    target = draw.normal(size=(points, members))
    return target, draw.normal(size=(points, members, columns)) + target[..., None]


def alone(members):
    return np.ones((1, members))


def test_correlations_are_numpys():
    target, quantities = sample()
    actual = correlations(target, quantities, alone(40))[0]
    for point in range(3):
        for column in range(2):
            expected = np.corrcoef(target[point], quantities[point, :, column])[0, 1]
            assert actual[point, column] == pytest.approx(expected, abs=1e-14)


def test_a_resample_is_the_sample_with_its_members_repeated():
    target, quantities = sample(members=7)
    counts = resample_counts(7, 5, seed=1)
    actual = correlations(target, quantities, counts)
    for row, weights in enumerate(counts.astype(int)):
        drawn = np.repeat(np.arange(7), weights)
        expected = correlations(target[:, drawn], quantities[:, drawn], alone(7))[0]
        np.testing.assert_allclose(actual[row], expected, atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_a_resample_in_which_one_side_is_constant_has_no_correlation(seed):
    """Though round-off of the moments may leave it a variance of its own."""
    target, quantities = sample(points=1, members=6, columns=1, seed=seed)
    counts = np.array([[1.0, 2.0, 1.0, 0.0, 0.0, 0.0]])
    single, other = target.copy(), quantities.copy()
    single[0, :3], other[0, :3] = single[0, 0], other[0, 0]
    assert np.isnan(correlations(single, quantities, counts)).all()
    assert np.isnan(correlations(target, other, counts)).all()
    assert np.isfinite(correlations(target, quantities, counts)).all()


def test_large_offsets_lose_no_digits():
    target, quantities = sample()
    expected = correlations(target, quantities, alone(40))
    actual = correlations(1e6 + target, quantities * 1e-9 - 1.0, alone(40))
    np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_members_that_are_not_finite_are_left_out_at_their_point_only():
    target, quantities = sample()
    expected = correlations(target, quantities, alone(40))[0]
    target[1, 5], quantities[1, 6, 0] = np.nan, np.inf
    actual = correlations(target, quantities, alone(40))[0]
    kept = np.delete(np.arange(40), [5, 6])
    without = correlations(target[:, kept], quantities[:, kept], alone(38))[0]
    np.testing.assert_allclose(actual[1], without[1], atol=1e-14)
    np.testing.assert_allclose(actual[[0, 2]], expected[[0, 2]], atol=1e-14)
    assert members_used(target, quantities).sum(axis=1).tolist() == [40, 38, 40]


def test_an_absent_quantity_leaves_nobody_out():
    target, quantities = sample()
    expected = correlations(target, quantities, alone(40))[0]
    quantities[2, :, 1] = np.nan
    actual = correlations(target, quantities, alone(40))[0]
    assert np.isnan(actual[2, 1])
    assert actual[2, 0] == pytest.approx(expected[2, 0], abs=1e-14)
    assert members_used(target, quantities).all()


@pytest.mark.parametrize("value", [0.0, 3.7])
def test_constant_quantities_have_no_correlation(value):
    target, quantities = sample()
    quantities[0, :, 0] = value
    target[2] = value
    actual = correlations(target, quantities, resample_counts(40, 20, seed=0))
    assert np.isnan(actual[:, 0, 0]).all()
    assert np.isnan(actual[:, 2]).all()
    assert np.isfinite(actual[:, 0, 1]).all()
    assert np.isfinite(actual[:, 1]).all()


def test_points_without_any_member_have_no_correlation():
    target, quantities = sample()
    target[0] = np.nan
    actual = correlations(target, quantities, resample_counts(40, 20, seed=0))
    assert np.isnan(actual[:, 0]).all()
    low, high = interval(target, quantities)
    assert np.isnan(low[0]).all()
    assert np.isnan(high[0]).all()
    assert np.isfinite(low[1:]).all()


def test_shapes_that_do_not_fit_are_refused_in_one_line():
    target, quantities = sample()
    with pytest.raises(ValueError, match=r"^expected target .*, got \(3, 40\)"):
        correlations(target, quantities[:, :-1], alone(40))


def interval(target, quantities, statistic=lambda r: r, resamples=1000):
    members = target.shape[-1]
    counts = resample_counts(members, resamples, seed=5)
    actual = [
        statistic(correlations(target, quantities, weights))
        for weights in (alone(members), counts, leave_one_out(members))
    ]
    return bootstrap_interval(actual[0][0], actual[1], actual[2], 0.95)


@pytest.mark.parametrize("truth", [0.0, 0.6, 0.95])
def test_the_interval_covers_the_truth_as_often_as_it_says(truth):
    trials, members = 400, 50
    draw = np.random.default_rng(3)
    target = draw.normal(size=(trials, members))
    noise = draw.normal(size=(trials, members))
    low, high = interval(target, (truth * target + np.sqrt(1 - truth**2) * noise)[..., None])
    # Its standard error is about 0.011.
    assert 0.91 < np.mean((low < truth) & (truth < high)) < 0.98


def test_the_interval_corrects_the_bias_of_a_maximum():
    draw = np.random.default_rng(6)
    target = draw.normal(size=(300, 60))
    quantities = target[..., None] + draw.normal(size=(300, 60, 4))
    truth = np.sqrt(0.5)
    low, high = interval(target, quantities, lambda r: r.max(axis=-1))
    replicates = correlations(target, quantities, resample_counts(60, 1000, seed=5)).max(axis=-1)
    plain = np.quantile(replicates, [0.025, 0.975], axis=0)
    covered, uncorrected = (
        np.mean((ends[0] < truth) & (truth < ends[1])) for ends in ((low, high), plain)
    )
    assert covered > 0.8
    assert covered > uncorrected + 0.15


def test_a_paired_difference_is_known_better_than_its_parts():
    draw = np.random.default_rng(4)
    target = draw.normal(size=(1, 100))
    shared = target + draw.normal(size=(1, 100))
    quantities = np.stack([shared, shared + 0.1 * draw.normal(size=(1, 100))], axis=-1)
    low, high = interval(target, quantities)
    left, right = interval(target, quantities, lambda r: r[..., 0] - r[..., 1])
    assert (right - left).item() < 0.3 * (high - low).min()


def test_the_interval_does_not_depend_on_the_scale_it_is_found_on():
    target, quantities = sample(points=4, members=300)
    low, high = interval(target, quantities)
    left, right = interval(target, quantities, np.arctanh)
    np.testing.assert_allclose(np.tanh(left), low, atol=0.02)
    np.testing.assert_allclose(np.tanh(right), high, atol=0.02)


def test_the_interval_is_scipys():
    values = np.random.default_rng(7).exponential(size=40)
    counts = resample_counts(40, 20000, seed=0)
    means = [weights @ values / weights.sum(axis=1) for weights in (counts, leave_one_out(40))]
    low, high = bootstrap_interval(np.array(values.mean()), *means, 0.9)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20000, confidence_level=0.9, method="BCa", rng=0
    ).confidence_interval
    np.testing.assert_allclose([low, high], expected, atol=0.02)


def test_resamples_depend_on_the_seed_alone():
    first, again, other = (resample_counts(9, 4, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (first.sum(axis=1) == 9).all()


def test_undefined_replicates_are_left_out():
    draw = np.random.default_rng(8)
    replicates, jackknife = draw.normal(size=(200, 3)), draw.normal(size=(20, 3))
    estimate = np.array([0.0, 0.1, np.nan])
    low, high = bootstrap_interval(estimate, replicates, jackknife, 0.95)
    holes = np.insert(replicates, [0, 50, 200], np.nan, axis=0)
    actual = bootstrap_interval(estimate, holes, np.insert(jackknife, 3, np.nan, axis=0), 0.95)
    np.testing.assert_allclose(actual, [low, high], rtol=1e-14)
    assert np.isnan([low[2], high[2]]).all()
    assert np.isfinite([low[:2], high[:2]]).all()


def test_a_statistic_that_never_varies_is_its_own_interval():
    constant = np.full((50, 2), 0.25)
    low, high = bootstrap_interval(constant[0], constant, constant, 0.95)
    np.testing.assert_array_equal([low, high], constant[:2])


@pytest.mark.parametrize("length", [0, 1])
def test_the_correlation_of_hardly_anything_is_zero(length):
    assert correlation(np.ones(length), np.ones(length)) == 0.0


def test_rank_correlation_shares_ranks():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: Pearson's is 4.5 / √(4.5 · 5).
    actual = rank_correlation(np.array([0.0, 1.0, 1.0, 9.0]), np.arange(4.0))
    assert actual == pytest.approx(np.sqrt(0.9), abs=1e-12)


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
