"""Correlations over several teachers: of each one's networks, and Student's t over the teachers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hessian_papers.studies.correlations.norm_correlation.regions import means, shares
from hessian_papers.studies.correlations.teachers import (
    largest,
    leads,
    of_each_teacher,
    with_intervals,
)

LEVEL, TRIALS = 0.95, 2000


def planted(slopes, networks=60, noise=0.5, seed=0):
    """A target and one quantity that goes with it by another slope for each teacher."""
    draw = np.random.default_rng(seed)
    quantity = draw.normal(size=(len(slopes), networks))
    target = np.array(slopes)[:, None] * quantity + noise * draw.normal(size=quantity.shape)
    teacher = np.repeat(np.arange(len(slopes)), networks)
    return target.reshape(1, -1), quantity.reshape(1, -1, 1), teacher


def interval(name, each):
    """Value and ends of the interval of a statistic."""
    return np.moveaxis(with_intervals({name: each}, LEVEL)[name], -1, 0)


def test_the_mean_is_that_of_each_teachers_correlation():
    target, quantity, teacher = planted([1.0, -0.3, 0.4])
    # Teachers of other scales and means: pooled, these would be what correlates.
    target = target + 100.0 * teacher
    quantity = quantity * (1 + teacher[:, None]) + 50.0 * teacher[:, None]
    each = of_each_teacher(target, quantity, teacher)
    expected = [
        np.corrcoef(target[0, teacher == t], quantity[0, teacher == t, 0])[0, 1] for t in range(3)
    ]
    assert each[:, 0, 0] == pytest.approx(expected, abs=1e-12)
    assert interval("correlation", each)[0] == pytest.approx(np.mean(expected), abs=1e-12)


def drawn(teachers, networks, correlation, spread):
    """Two quantities of the networks of each teacher, of many trials, and the target of both.

    The first goes with the target by a correlation that the teacher has, on Fisher's scale normal
    around the given one; the second is unrelated.
    """
    draw = np.random.default_rng([teachers, networks])
    z = np.arctanh(correlation) + spread * draw.normal(size=(TRIALS, teachers, 1))
    r, shape = np.tanh(z), (TRIALS, teachers * networks)
    target, *others = draw.normal(size=(3, TRIALS, teachers, networks))
    first = r * target + np.sqrt(1 - r**2) * others[0]
    quantities = np.stack([first, others[1]], axis=-1)
    teacher = np.repeat(np.arange(teachers), networks)
    return target.reshape(shape), quantities.reshape(*shape, 2), teacher


@pytest.mark.parametrize("networks", [50, 10])
@pytest.mark.parametrize("teachers", [10, 5, 2])
@pytest.mark.parametrize(("correlation", "spread"), [(0.35, 0.0), (0.7, 0.1)])
def test_the_interval_holds_the_expected_value_as_often_as_it_says(
    teachers, networks, correlation, spread
):
    """As between the recorded teachers: their correlations differ by 0 to 0.1 on Fisher's scale."""
    each = of_each_teacher(*drawn(teachers, networks, correlation, spread))
    normal = np.random.default_rng(0).normal(size=10**6)
    expected = np.tanh(np.arctanh(correlation) + spread * normal).mean()
    lead = leads(each, axis=-1)[..., 0]
    for name, values in (("correlation", each[..., 0]), ("lead", lead)):
        _, low, high = interval(name, values)
        covered = ((low <= expected) & (expected <= high)).mean()
        # Of ten networks r is skewed and too small by 0.5 (1 - r^2) r / 10: a hundredth more.
        margin = 4 * np.sqrt(LEVEL * (1 - LEVEL) / TRIALS) + 0.01 * (networks == 10)
        assert abs(covered - LEVEL) <= margin, (name, covered)


def test_resampling_teachers_and_networks_counts_the_variance_within_twice():
    """Where all teachers are alike, the variance of such resamples is twice that of the mean."""
    target, quantities, teacher = drawn(10, 50, 0.35, 0.0)
    each = of_each_teacher(target, quantities, teacher)[..., 0]
    draw = np.random.default_rng(0)
    target, quantity = (
        values[:200].reshape(200, 10, 50) for values in (target, quantities[..., 0])
    )
    trial, resamples = np.arange(200)[:, None, None], []
    for _ in range(100):
        chosen = draw.integers(10, size=(200, 10, 1))
        network = draw.integers(50, size=(200, 10, 50))
        a, b = (values[trial, chosen, network] for values in (target, quantity))
        a, b = (values - values.mean(axis=-1, keepdims=True) for values in (a, b))
        norms = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
        resamples.append(((a * b).sum(axis=-1) / norms).mean(axis=-1))
    ratio = np.var(resamples, axis=0).mean() / each.mean(axis=0).var()
    assert ratio == pytest.approx(1.9, abs=0.3)  # 9/10 between and 1 within


def test_the_largest_of_each_would_be_too_large():
    """Three quantities that go alike with a target: none leads, and the interval says so."""
    draw = np.random.default_rng(0)
    each = 0.5 + 0.1 * draw.normal(size=(10, TRIALS, 3))
    _, low, high = interval("lead", leads(each, axis=-1)[..., 0])
    covered = ((low <= 0) & (high >= 0)).mean()
    assert covered == pytest.approx(LEVEL, abs=4 * np.sqrt(LEVEL * (1 - LEVEL) / TRIALS))
    apart = each[..., 0] - each[..., 1:].max(axis=-1)
    _, low, high = interval("lead", apart)
    assert ((low <= 0) & (high >= 0)).mean() < 0.85


def test_the_largest_is_one_entry_for_all_teachers():
    each = np.array([[0.9, 0.5, np.nan], [0.1, 0.7, np.nan]])
    np.testing.assert_array_equal(largest(each, axis=-1), [0.5, 0.7])
    np.testing.assert_allclose(leads(each, axis=-1)[:, :2], [[0.4, -0.4], [-0.6, 0.6]])
    assert np.isnan(largest(np.full((2, 3), np.nan), axis=-1)).all()
    assert np.isnan(leads(each[:, :1], axis=-1)).all()


def test_one_teacher_says_nothing_of_others():
    for name, limit in (("mean_correlation", 1), ("factor_lead", 2), ("last_growth", 4)):
        assert interval(name, np.array([0.25])).tolist() == [0.25, -limit, limit]


def test_no_interval_is_beyond_what_can_be():
    _, low, high = interval("correlation", np.array([0.9, 0.99]))
    assert -1 < low < 0.9
    assert high == 1.0
    # A difference of two leads may be beyond 2.
    assert interval("mean_difference", np.array([1.9, 2.3, 2.1]))[2] > 2


def test_a_teacher_without_a_correlation_is_left_out():
    target, quantity, teacher = planted([1.0, 0.5, 1.0])
    gone = np.where(teacher == 2, np.nan, target)
    each = of_each_teacher(gone, quantity, teacher)
    assert np.isnan(each[2, 0, 0])
    np.testing.assert_array_equal(interval("correlation", each), interval("correlation", each[:2]))
    nothing = of_each_teacher(np.full_like(gone, np.nan), quantity, teacher)
    assert np.isnan(interval("correlation", nothing)).all()


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


def test_a_teacher_that_lacks_a_position_has_no_mean():
    values = np.array([[[0.25, 0.75]], [[np.nan, 1.0]]])
    actual = means(values, shares(np.ones(2), np.array([1, 2])))
    np.testing.assert_array_equal(actual[:, 0], [0.5, np.nan])
