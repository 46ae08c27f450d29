"""Correlations over several teachers: of each one's networks, and Student's t over the teachers."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from hessian_papers.studies.correlations import teachers as module
from hessian_papers.studies.correlations.norm_correlation.regions import REGIONS, region_mean
from hessian_papers.studies.correlations.teachers import of_each_teacher

LEVEL, TRIALS = 0.95, 2000


def planted(slopes, networks=60, noise=0.5, seed=0):
    """A target and one quantity that goes with it by another slope for each teacher."""
    draw = np.random.default_rng(seed)
    quantity = draw.normal(size=(len(slopes), networks))
    target = np.array(slopes)[:, None] * quantity + noise * draw.normal(size=quantity.shape)
    teacher = np.repeat(np.arange(len(slopes)), networks)
    return target.reshape(1, -1), quantity.reshape(1, -1, 1), teacher


def of_teachers(each):
    """Numbers of each teacher, along dimensions of which the last one is that of quantities."""
    names = ("teacher", *"abc"[: each.ndim - 2], "quantity")[: each.ndim]
    return xr.DataArray(each, dims=names).assign_coords(
        {n: range(k) for n, k in zip(names, each.shape, strict=True)}
    )


def interval(each, limit=2.0):
    """Value and ends of the interval of a statistic."""
    actual = module.interval(of_teachers(each), limit, LEVEL)
    return actual.transpose("estimate", ...).values


def leads(each):
    values = of_teachers(each)
    return module.leads(values, "quantity").transpose(*values.dims).values


def largest(each):
    return module.largest(of_teachers(each), "quantity").values


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
    assert interval(each)[0] == pytest.approx(np.mean(expected), abs=1e-12)


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
    for name, values in (("correlation", each[..., 0]), ("lead", leads(each)[..., 0])):
        _, low, high = interval(values)
        covered = ((low <= expected) & (expected <= high)).mean()
        # Of ten networks r is skewed and too small by 0.5 (1 - r^2) r / 10: a hundredth more.
        margin = 4 * np.sqrt(LEVEL * (1 - LEVEL) / TRIALS) + 0.01 * (networks == 10)
        assert abs(covered - LEVEL) <= margin, (name, covered)


def test_the_largest_of_each_would_be_too_large():
    """Three quantities that go alike with a target: none leads, and the interval says so."""
    draw = np.random.default_rng(0)
    each = 0.5 + 0.1 * draw.normal(size=(10, TRIALS, 3))
    _, low, high = interval(leads(each)[..., 0])
    covered = ((low <= 0) & (high >= 0)).mean()
    assert covered == pytest.approx(LEVEL, abs=4 * np.sqrt(LEVEL * (1 - LEVEL) / TRIALS))
    apart = each[..., 0] - each[..., 1:].max(axis=-1)
    _, low, high = interval(apart)
    assert ((low <= 0) & (high >= 0)).mean() < 0.85


def test_the_largest_is_one_entry_for_all_teachers():
    each = np.array([[0.9, 0.5, np.nan], [0.1, 0.7, np.nan]])
    np.testing.assert_array_equal(largest(each), [0.5, 0.7])
    np.testing.assert_allclose(leads(each)[:, :2], [[0.4, -0.4], [-0.6, 0.6]])
    assert np.isnan(largest(np.full((2, 3), np.nan))).all()
    assert np.isnan(leads(each[:, :1])).all()


def test_no_interval_is_beyond_what_can_be():
    assert interval(np.array([0.25]), 1.0).tolist() == [0.25, -1.0, 1.0]
    _, low, high = interval(np.array([0.9, 0.99]), 1.0)
    assert -1 < low < 0.9
    assert high == 1.0


def test_a_teacher_without_a_correlation_is_left_out():
    target, quantity, teacher = planted([1.0, 0.5, 1.0])
    gone = np.where(teacher == 2, np.nan, target)
    each = of_each_teacher(gone, quantity, teacher)
    assert np.isnan(each[2, 0, 0])
    np.testing.assert_array_equal(interval(each), interval(each[:2]))
    nothing = of_each_teacher(np.full_like(gone, np.nan), quantity, teacher)
    assert np.isnan(interval(nothing)).all()


def mean_over(values, positions, region="all", ratio=1.0):
    """The mean over a region of the values ``(teacher, size)``."""
    each = xr.DataArray([values], dims=("depth", "teacher", "size"))
    data = xr.Dataset({"along": "size"}, {"size": positions})
    data["magnitude_ratio"] = ("depth", "size"), [np.broadcast_to(ratio, len(positions))]
    return region_mean(each, data, region).values


@given(positions=st.sets(st.integers(1, 60), min_size=2, max_size=9), seed=st.integers(0, 99))
def test_a_mean_is_that_of_the_curve_at_every_integer(positions, seed):
    x = np.array(sorted(positions))
    values = np.random.default_rng(seed).normal(size=(3, len(x)))
    every = np.arange(x[0], x[-1] + 1)
    for row, mean in zip(values, mean_over(values, x), strict=True):
        assert mean == pytest.approx(np.interp(every, x, row).mean(), abs=1e-12)


def test_undefined_positions_do_not_count_and_a_teacher_that_lacks_one_has_no_mean():
    (actual,) = mean_over([[np.nan, 1.0, 3.0]], [1, 2, 5])
    assert actual == pytest.approx(np.interp([2, 3, 4, 5], [2, 5], [1, 3]).mean())
    np.testing.assert_array_equal(mean_over([[0.25, 0.75], [np.nan, 1.0]], [1, 2]), [0.5, np.nan])


def test_regions_follow_the_magnitude_of_the_entries():
    """D = 1, 2 and 6 stand for 1, 2.5 and 2.5 integers; no region is empty."""
    values, positions, ratio = [[1.0, 2.0, 4.0]], [1, 2, 6], [3.0, 1.6, 1.0]
    means = [mean_over(values, positions, region, ratio).item() for region in REGIONS]
    assert means == pytest.approx([16 / 6, 6 / 3.5, 4.0, 6 / 3.5 - 4.0])
    assert mean_over(values, positions, REGIONS[1], [1.0, 1.2, 1.1]) == 2.0
    assert mean_over(values, positions, REGIONS[2], [3.0, 1.6, 2.0]) == 2.0
