"""The interval of a share: its definition, and what is in print."""

import math

import pytest
import scipy.stats

from hessian_papers.ledger.bounds import NORMAL, share_of, wilson


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
    actual = share_of([True] * holds + [False] * (number - holds))
    assert actual.value == holds / number
    assert (round(actual.low, 4), round(actual.high, 4)) == (low, high)


def test_the_quantile_is_that_of_95_percent():
    assert pytest.approx(scipy.stats.norm.ppf(0.975), abs=1e-6) == NORMAL
