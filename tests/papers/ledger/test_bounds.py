"""The estimates of replicates: the interval of a share, as defined and in print, and of a mean."""

import math

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from hessian_papers.ledger.bounds import (
    NORMAL,
    REPLICATES,
    Estimate,
    estimate_of,
    mean_of,
    positive,
    wilson,
)


@pytest.mark.parametrize("number", [1, 7, 81, 4000])
@pytest.mark.parametrize("deviations", [NORMAL, 2.575829, 1.0])
@pytest.mark.parametrize("part", [0.0, 1 / 7, 0.5, 1.0])
def test_at_its_ends_the_share_is_just_so_many_deviations_away(part, number, deviations):
    """The interval holds the p from which the share is at most ``z √(p (1 − p) / n)`` away."""
    share = round(part * number) / number
    value, low, high = wilson(share, number, deviations)
    assert value == share
    assert 0 <= low <= share + 1e-15
    assert share - 1e-15 <= high <= 1
    for end, off, outermost in ((low, share - low, 0.0), (high, high - share, 1.0)):
        if share == outermost:
            assert end == pytest.approx(outermost, abs=1e-15)
        else:
            deviation = math.sqrt(end * (1 - end) / number)
            assert off == pytest.approx(deviations * deviation, rel=1e-9)


def share(holds, number):
    """The estimate from so many draws, of which some have it."""
    return estimate_of(xr.DataArray([True] * holds + [False] * (number - holds), dims="draw"))


def test_intervals_of_shares_hold_them_as_often_as_they_say():
    """The mean is over all counts by their probability, and over shares at equal distances."""
    ends = [share(holds, 30)[1:] for holds in range(31)]
    held = [
        sum(
            scipy.stats.binom.pmf(holds, 30, share)
            for holds, (low, high) in enumerate(ends)
            if low <= share <= high
        )
        for share in np.linspace(0.01, 0.99, 99)
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.01)


# Newcombe (1998), Two-sided confidence intervals for the single proportion, Table I, method 3.
@pytest.mark.parametrize(
    ("holds", "number", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_shares_in_print(holds, number, low, high):
    actual = share(holds, number)
    assert actual.value == holds / number
    assert (round(actual.low, 4), round(actual.high, 4)) == (low, high)


def test_the_quantile_is_that_of_95_percent():
    assert pytest.approx(scipy.stats.norm.ppf(0.975), abs=1e-6) == NORMAL


def replicates(*dims, dtype=float):
    """Three replicates along each dimension, and more of them the further to the left it stands."""
    values = np.random.default_rng(0).normal(size=tuple(range(len(dims) + 2, 2, -1)))
    return xr.DataArray(values > 0 if dtype is bool else values, dims=dims)


@pytest.mark.parametrize("highest", range(len(REPLICATES)))
def test_the_highest_of_replicates_has_the_interval_whatever_their_order(highest):
    names = REPLICATES[highest:]
    values = replicates(*reversed(names))
    others = [name for name in names if name != names[0]]
    actual = estimate_of(values)
    assert actual == mean_of(values.mean(others))
    low, high = scipy.stats.t.interval(
        0.95,
        values.sizes[names[0]] - 1,
        actual.value,
        scipy.stats.sem(values.mean(others)),
    )
    assert (actual.low, actual.high) == pytest.approx((low, high), rel=1e-9)


def test_a_number_that_is_left_has_no_interval():
    actual = estimate_of(xr.DataArray(0.25))
    assert (actual.value, actual.has_interval) == (0.25, False)
    assert estimate_of(xr.DataArray(True)).value == 1.0


def test_of_draws_alone_the_share_that_holds_is_taken():
    values = replicates("draw", dtype=bool)
    actual = estimate_of(values)
    assert actual == wilson(float(values.mean()), values.size, NORMAL)
    assert actual.low < actual.value < actual.high


def test_draws_along_several_dimensions_are_no_draws_of_one_share():
    """Draws of one seed have it in common: there are no more draws than seeds."""
    # Seeds that all or none of twelve draws have.
    alike = xr.DataArray(np.repeat([[True], [False]] * 4, 12, axis=1), dims=("seed", "draw"))
    expected = mean_of([1.0, 0.0] * 4)
    assert estimate_of(alike) == expected == estimate_of(alike[:, :2])
    assert share(48, 96).low > expected.low


@pytest.mark.parametrize("share", [0, 6, 12])
def test_what_all_replicates_have_alike_may_be_otherwise_in_others(share):
    """Nothing varies among eight seeds, of each of which so many of twelve draws have it."""
    alike = xr.DataArray([[True] * share + [False] * (12 - share)] * 8, dims=("seed", "draw"))
    estimate = estimate_of(alike)
    assert estimate == wilson(share / 12, 8, NORMAL)
    assert estimate.high - estimate.low > 0.3


def test_what_one_draw_has_is_more_than_nothing():
    some = estimate_of(xr.DataArray([[True, False], [False, False]], dims=("seed", "draw")))
    assert some == Estimate(0.25, 0.0, 1.0)
    assert positive("one is enough").outcome(some) == "holds"
    assert positive("one is enough").outcome(Estimate(0.1, -0.1, 0.3)) == "open"
    assert positive("one is enough").outcome(share(0, 9)) == "open"


def test_a_replicate_that_is_not_known_is_not_left_out():
    values = replicates("seed", "draw")
    values[0, 0] = np.nan
    assert np.isnan(estimate_of(values)).all()


def test_what_is_no_replicate_is_named():
    with pytest.raises(ValueError, match=r"left over: layer, width$"):
        estimate_of(replicates("layer", "seed", "width"))


def test_of_a_single_replicate_the_interval_is_unbounded():
    actual = estimate_of(xr.DataArray([2.0], dims="seed"))
    assert actual == Estimate(2.0, -math.inf, math.inf)
