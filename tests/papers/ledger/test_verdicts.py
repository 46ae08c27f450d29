"""The verdict on a statement follows from its cases, by what its sentence says of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from hessian_papers.ledger.bounds import Estimate, at_least, estimate_of
from hessian_papers.ledger.verdicts import QUANTIFIERS, Case, decide, pooled

SIGN = at_least(0.0, "a sign")


def case(low, high=None, *, smaller=False, bound=SIGN):
    """A case with an interval, or with a value alone."""
    ends = () if high is None else (low, high)
    value = low if high is None else (low + high) / 2
    estimate = Estimate(value, *ends)
    return Case(bound.outcome(estimate), estimate, bound, smaller)


UNMEASURED = Case("not measured", Estimate(math.nan), SIGN)
# A case by a letter: it Holds, by Much or without an interval (1), Fails, or is Open; a small
# letter is one at a smaller setting. It was not measured (?), and no study has it (-).
CASES = {
    **{"H": case(1.0, 2.0), "M": case(20.0, 30.0), "1": case(1.0)},
    **{"F": case(-2.0, -1.0), "0": case(-1.0), "O": case(-1.0, 2.0)},
    **{"h": case(1.0, 2.0, smaller=True), "m": case(20.0, 30.0, smaller=True)},
    **{"f": case(-2.0, -1.0, smaller=True)},
    **{"?": UNMEASURED, "-": replace(UNMEASURED, absent=True)},
}
# The verdict by the cases. Of nothing measured nothing is said, whatever the sentence.
NOTHING = {"": "not tested", "?": "not tested"}
VERDICTS = {
    # A theorem speaks of every setting: the worst case decides.
    "always": {
        **{"HH?": "reproduced", "h": "reproduced", "H-": "in part"},
        **{"HO": "open", "HOF": "differs", "Hf": "differs"},
    },
    # So it does at the paper's setting: a smaller one never refutes.
    "everywhere": {
        **{"HH?": "reproduced", "h": "reproduced", "H-": "in part"},
        **{"HO": "open", "HOF": "differs", "Hf": "not tested", "ff": "not tested"},
    },
    # The pooled number decides, in part if a case lies wholly on the other side; cases at the
    # paper's setting count where there are any.
    "typically": {
        **{"HH?": "reproduced", "h": "reproduced", "H-": "reproduced", "HO": "reproduced"},
        **{"OO": "open", "FFH": "open", "FF": "differs", "ff": "not tested"},
        **{"MF": "in part", "Mf": "reproduced", "Fm": "differs"},
    },
    # Any case shows that there is one; one run shows nothing by its absence, many draws do.
    "exists": {
        **{"HH?": "reproduced", "h": "reproduced", "FFh": "reproduced"},
        **{"F": "differs", "0": "open", "OF": "open", "ff": "not tested", "Ff": "differs"},
    },
    # Row by row.
    "printed": {
        **{"HH?": "reproduced", "h": "reproduced", "H-": "in part", "HF": "in part"},
        **{"FF": "differs", "HO": "open", "ff": "not tested", "Hf": "not tested"},
    },
    # A panel without a sentence has a number and no verdict.
    "shown": {"F": "shown", "H": "shown"},
    # What the paper leaves open depends where readings disagree.
    "left open": {"HF": "depends", "HH": "reproduced", "F": "differs", "HO": "open"},
}


def verdict(quantifier, cases, **fields):
    return decide(quantifier, [CASES[letter] for letter in cases], **fields).verdict


@pytest.mark.parametrize("quantifier", QUANTIFIERS)
def test_the_verdict_follows_from_the_cases_by_the_quantifier(quantifier):
    expected = VERDICTS[quantifier] | NOTHING
    assert {cases: verdict(quantifier, cases) for cases in expected} == expected


def test_the_pooled_number_and_its_interval_are_means():
    assert decide("typically", [CASES["H"], CASES["O"]]).pooled == Estimate(1.0, 0.0, 2.0)
    without = pooled([case(1.0), case(2.0)])
    assert (without.value, without.has_interval) == (1.5, False)


def shares_of_intervals(shared, dims=("seed", "draw")):
    """The share of pooled intervals, of ten cases of six seeds each, that hold the true mean."""
    generator = np.random.default_rng(0)
    held = []
    for _ in range(400):
        common = shared * generator.normal(size=(6, 1))
        draws = [common + generator.normal(size=(6, 3)) for _ in range(10)]
        estimates = [estimate_of(xr.DataArray(each, dims=dims)) for each in draws]
        result = pooled([Case("open", each, SIGN) for each in estimates])
        held.append(result.low <= 0.0 <= result.high)
    return np.mean(held)


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_pooled_intervals_of_paired_cases_hold_the_mean_as_often_as_they_say(shared):
    # 400 draws of a share of 95 % have a standard deviation of 1.1 %.
    assert 0.95 - 3 * 0.011 < shares_of_intervals(shared) < 0.95 + 3 * 0.011


def test_cases_of_other_replicates_are_not_paired():
    seeds = [xr.DataArray([1.0, 2.0, 3.0][:number], dims="seed") for number in (3, 2)]
    estimates = [estimate_of(each) for each in seeds]
    ends = np.mean([[each.low, each.high] for each in estimates], axis=0)
    result = pooled([Case("open", each, SIGN) for each in estimates])
    assert (result.low, result.high) == pytest.approx(tuple(ends))


def test_replicates_that_are_all_alike_leave_no_interval_of_nothing():
    """Three seeds show it in every case: their means have no spread, which is not to know all."""
    each = estimate_of(xr.DataArray([True] * 3, dims="seed"))
    result = pooled([Case("open", each, SIGN)] * 2)
    assert (result.value, result.low) == (1.0, each.low)
    assert each.low < 0.7


def test_booleans_within_a_replicate_are_no_draws():
    """Half of the seeds show it in all of their thousand draws: six seeds are what there is."""
    shows = xr.DataArray([[True] * 1000, [False] * 1000] * 3, dims=("seed", "draw"))
    result = estimate_of(shows)
    assert result.value == 0.5
    assert result.high - result.low > 0.5
    with pytest.raises(ValueError, match="left over: layer"):
        estimate_of(xr.DataArray([True, False], dims="layer"))


@pytest.mark.parametrize(
    ("signs", "expected"),
    [([1, 1, 1], "reproduced"), ([1, 1, -1], "in part"), ([-1, -1, 1], "differs")],
)
def test_bounds_of_their_own_are_counted(signs, expected):
    cases = [
        case(sign * (place + 1.0), bound=at_least(float(sign * place), "its own"))
        for place, sign in enumerate(signs)
    ]
    assert decide("typically", cases).verdict == expected


@pytest.mark.parametrize("quantifier", ["always", "typically"])
def test_a_print_that_fails_makes_ours_a_correction(quantifier):
    assert verdict(quantifier, "H", in_print_fails=True) == "corrected"
    assert verdict(quantifier, "F", in_print_fails=True) == "differs"
