"""Correlations over several teachers: means of each one's, resampled on both levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hessian_papers.studies.correlations.norm_correlation.regions import means, shares
from hessian_papers.studies.correlations.resampling import over_teachers
from hessian_spectra import statistics

RESAMPLES = 400


def planted(slopes, networks=60, noise=0.5, seed=0):
    """A target and one quantity that goes with it by another slope for each teacher."""
    draw = np.random.default_rng(seed)
    quantity = draw.normal(size=(len(slopes), networks))
    target = np.array(slopes)[:, None] * quantity + noise * draw.normal(size=quantity.shape)
    teacher = np.repeat(np.arange(len(slopes)), networks)
    return target.reshape(1, -1), quantity.reshape(1, -1, 1), teacher


def interval(target, quantity, teacher, seed=0):
    actual, _ = over_teachers(target, quantity, teacher, RESAMPLES, seed)
    (sample,), replicates, jackknife = np.split(actual, [1, 1 + RESAMPLES])
    low, high = statistics.bootstrap_interval(sample, replicates, jackknife, 0.95)
    return float(sample[0, 0]), float(low[0, 0]), float(high[0, 0])


def test_the_mean_is_that_of_each_teachers_correlation():
    target, quantity, teacher = planted([1.0, -0.3, 0.4])
    # Teachers of other scales and means: pooled, these would be what correlates.
    target = target + 100.0 * teacher
    quantity = quantity * (1 + teacher[:, None]) + 50.0 * teacher[:, None]
    actual, each = over_teachers(target, quantity, teacher, RESAMPLES, seed=0)
    expected = [
        np.corrcoef(target[0, teacher == t], quantity[0, teacher == t, 0])[0, 1] for t in range(3)
    ]
    assert each[:, 0, 0] == pytest.approx(expected, abs=1e-12)
    assert actual[0, 0, 0] == pytest.approx(np.mean(expected), abs=1e-12)
    assert len(actual) == 1 + RESAMPLES + 3


def test_one_teacher_is_resampled_over_its_networks():
    target, quantity, teacher = planted([0.7], networks=30)
    actual, _ = over_teachers(target, quantity, teacher, RESAMPLES, seed=5)
    counts = statistics.resample_counts(30, RESAMPLES, seed=5)
    everything = np.concatenate([np.ones((1, 30)), counts, statistics.leave_one_out(30)])
    np.testing.assert_array_equal(actual, statistics.correlations(target, quantity, everything))


def test_teachers_that_differ_widen_the_interval():
    alike = interval(*planted([0.5] * 6))
    different = interval(*planted([2.0, -2.0, 1.5, -1.0, 0.5, 1.0]))
    assert alike[1] > 0.4
    assert different[1] < 0.0 < different[2]
    assert different[2] - different[1] > 4 * (alike[2] - alike[1])


def test_the_interval_holds_the_expected_mean_as_often_as_it_says():
    """Slopes drawn anew for each teacher; ten teachers, where the bootstrap is near its level."""
    draw, held = np.random.default_rng(3), 0
    for seed in range(60):
        slopes = draw.normal(size=10)
        _, low, high = interval(*planted(list(slopes), networks=20, seed=seed), seed=seed)
        held += low <= 0.0 <= high  # slopes are as often negative as positive
    # 95 % of 60 are 57; fewer than 49 would come up once in 2000 times.
    assert held >= 49


def test_a_teacher_without_a_correlation_is_left_out():
    target, quantity, teacher = planted([1.0, 1.0])
    gone = np.where(teacher == 1, np.nan, target)
    actual, each = over_teachers(gone, quantity, teacher, RESAMPLES, seed=0)
    assert np.isnan(each[1, 0, 0])
    assert actual[0, 0, 0] == each[0, 0, 0]
    assert np.isnan(over_teachers(np.full_like(gone, np.nan), quantity, teacher, 9, 0)[0]).all()


@given(positions=st.sets(st.integers(1, 60), min_size=2, max_size=9), seed=st.integers(0, 99))
def test_a_mean_is_that_of_the_curve_at_every_integer(positions, seed):
    x = np.array(sorted(positions))
    values = np.random.default_rng(seed).normal(size=(3, len(x)))
    actual = means(values, shares(np.full(len(x), 1.0), x))
    every = np.arange(x[0], x[-1] + 1)
    for row, mean in zip(values, actual, strict=True):
        assert mean[0] == pytest.approx(np.interp(every, x, row).mean(), abs=1e-12)


def test_undefined_positions_do_not_count():
    values = np.array([[np.nan, 1.0, 3.0]])
    actual = means(values, shares(np.array([1.0, 1.0, 1.0]), np.array([1, 2, 5])))
    assert actual[0, 0] == pytest.approx(np.interp([2, 3, 4, 5], [2, 5], [1, 3]).mean())
