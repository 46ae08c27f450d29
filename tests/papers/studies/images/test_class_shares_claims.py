"""The claims about the sharpness and the largest class, on planted networks."""

import math

import numpy as np
import pytest
from claims_contract import changed, of_records, planted_data
from planted_shares import ABLATIONS, BALANCED, KAIMING, RAW, kept, networks

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.ledger.statements import Study
from hessian_papers.studies.images.class_shares import claims as module
from hessian_papers.studies.images.class_shares.claims import statements
from hessian_papers.studies.images.class_shares.study import VARIABLES


def subsets(left):
    """Subsets of three sizes; only the smallest's labels are fitted.

    Args:
        left: the sharpness over eq. (14), by number of samples or by number and share.
    """
    sides = networks([BALANCED], (50, 20, 200))
    samples, share = (sides["closed_form"][name] for name in ("samples", "share"))
    points = zip(samples.tolist(), share.tolist(), strict=True)
    part = np.array([left.get(point, left.get(point[0], 1.0)) for point in points])
    fit, floor = sides["closed_form"]["labels"] * part, np.where(samples == 20, 1e-18, 0.1)
    sides = changed(sides, "closed_form", fit=fit, bound=fit, floor=floor)
    return changed(sides, "numerics", sharpness=fit, ggn=fit)


def trained():
    """Labels of the larger subsets are fitted the less the more samples there are."""
    return subsets({50: 0.97, 200: 0.95})


def independent():
    """Networks that, on average over the shares, have the sharpness of eq. (14) at each size."""
    left = {(50, 0.1): 0.97, (50, 0.4): 1.03, (200, 0.1): 0.97, (200, 0.4): 1.03}
    # What layers lack of balance, 1e-4, where ten equal shares tie, else its square.
    return subsets(left | {(20, 0.1): 1 + 1e-4, (20, 0.4): 1 + 1e-8, (20, 0.9): 1 + 1e-8})


SIX = tuple(range(6))


def ablations(**of):
    """Networks of which each lacks one assumption, as the paper says: raw inputs alone matter."""
    sides = networks(ABLATIONS, **{"replicates": SIX} | of)
    closed_form = sides["closed_form"]
    raw, kaiming = (closed_form["case"] == case for case in (RAW, KAIMING))
    bent = np.where(closed_form["share"] == 0.4, 51.0, 50.0)
    sharpness = np.where(raw, bent, closed_form["labels"])
    sides = changed(
        sides,
        "closed_form",
        bound=np.where(kaiming, closed_form["labels"], np.nan),
        first_layer=np.where(raw, 0.8 * sharpness, np.nan),
        loss=np.where(raw, 0.1, 1e-3),
        defect=np.where(kaiming[:, None], [0.1, 0.09], [1e-4, 1e-4]),
    )
    return changed(sides, "numerics", sharpness=sharpness, ggn=sharpness)


def scaled(sides, factor, *, array="sharpness", case=None, source=None, share=None, samples=None):
    """The sides with an array of some networks multiplied."""
    rows = np.ones(len(sides["closed_form"]["share"]), dtype=bool)
    wanted = {"case": case, "source": source, "share": share, "samples": samples}
    for name, value in wanted.items():
        if value is not None:
            rows &= sides["closed_form"][name] == value
    side = "numerics" if array in sides["numerics"] else "closed_form"
    return changed(sides, side, **{array: lambda old: (old.T * np.where(rows, factor, 1.0)).T})


def without(sides, gone):
    """The sides with some networks diverged."""
    measured = {
        name: np.where(gone, np.nan, sides["numerics"][name]) for name in ("sharpness", "ggn")
    }
    return changed(sides, "numerics", **measured)


def measured(name, sides):
    return getattr(module, name)(planted_data(sides, VARIABLES))


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("class_shares")


def gone(sides, source, case):
    closed_form = sides["closed_form"]
    return without(sides, (closed_form["source"] == source) & (closed_form["case"] == case))


def only_small_shares_of_many(sides):
    """As where a class is too small: of the largest subsets only the smallest share is left."""
    closed_form = sides["closed_form"]
    return kept(sides, (closed_form["samples"] < 200) | (closed_form["share"] == 0.1))


TRAINED, ABLATED, PLAIN = trained(), ablations(), networks(ABLATIONS, replicates=SIX)
BENT = scaled(PLAIN, 0.01, source="two", case=RAW, share=0.4)
NOT_LEARNT = scaled(ABLATED, 2.0, array="loss", case=KAIMING, source="one", share=0.9)
BY_CHANCE = scaled(ABLATED, 1.25, array="fit", case=KAIMING, source="two", share=0.4)
LARGER = scaled(TRAINED, 7.0, share=0.4)


@pytest.mark.parametrize(
    ("name", "sides", "expected"),
    [
        # One image set with one step down decides, of raw inputs the most consistent one.
        ("increasing", scaled(independent(), 0.01, source="two", share=0.4), 0.5),
        ("kaiming_increasing", scaled(ABLATED, 0.01, source="two", case=KAIMING, share=0.4), 0.5),
        ("raw_inconsistent", BENT, 1.0),
        ("raw_inconsistent", scaled(BENT, 0.01, source="one", case=RAW, share=0.4), 0.5),
        ("independent_of_samples", TRAINED, 1 / 0.95 - 1),
        # From 20 to 50 samples; what is left from there to 200 is a larger fall.
        ("no_rise_with_samples", TRAINED, 0.95 / 0.97 - 1),
        # Whatever other sizes have at shares that one lacks does not count.
        ("independent_of_samples", only_small_shares_of_many(LARGER), 1 / 0.95 - 1),
        # Below the bound there is no excess.
        ("kaiming_bound", scaled(ABLATED, 0.9, array="ggn"), 0.0),
        ("raw_share_matters_less", ABLATED, math.log(51 / 50) / (0.75 * math.log(9))),
        # What is left to learn, and what is fitted, is compared on the same subsets.
        ("raw_still_learning", NOT_LEARNT, 50),
        ("raw_still_learning", gone(ABLATED, "one", KAIMING), 100),
        ("tanh_values_of_least_squares", BY_CHANCE, 1 - 1 / 1.25),
    ],
)
def test_a_statistic_is_what_was_planted(name, sides, expected):
    assert np.atleast_1d(measured(name, sides))[0] == pytest.approx(expected)


def test_one_training_a_share_does_not_tell_whether_they_are_inconsistent():
    with pytest.raises(NothingToMeasure, match="fewer than 5 replicates"):
        measured("raw_inconsistent", ablations(replicates=SIX[:4]))
    # Of replicates that disagree the mean is known so well.
    lowered = ablations()
    rows = lowered["closed_form"]["replicate"] < 2
    rows = rows & (lowered["closed_form"]["case"] == RAW)
    share = lowered["closed_form"]["share"]
    numbers = np.where(rows, share, lowered["numerics"]["sharpness"])
    estimate = measured("raw_inconsistent", changed(lowered, "numerics", sharpness=numbers))
    assert estimate.value == pytest.approx(2 / 6)
    assert estimate.low < 0.0 < estimate.high


def test_one_number_of_samples_says_nothing_of_their_influence():
    with pytest.raises(NothingToMeasure, match="no image set at two numbers of samples"):
        measured("no_rise_with_samples", networks([BALANCED]))


@pytest.mark.parametrize("artifact", ["Figure 1c", "Figure 2"])
def test_diverged_networks_are_left_out(artifact):
    sides = independent() if artifact == "Figure 1c" else ablations()
    config = {"paper": "anon2026data", "artifact": artifact}
    closed_form = sides["closed_form"]
    gone = (closed_form["source"] == "two") | (closed_form["replicate"] == 1)
    for entry in statements.entries(
        Study("study", config), planted_data(without(sides, gone), VARIABLES)
    ):
        assert np.isfinite(np.atleast_1d(entry.measure())).all(), entry.id
    for entry in statements.entries(
        Study("study", config), planted_data(without(sides, gone | True), VARIABLES)
    ):
        with pytest.raises(NothingToMeasure, match="this configuration has no networks"):
            entry.measure()


def test_labels_are_fitted_where_the_least_squares_loss_is_rounding():
    sides = scaled(networks([BALANCED]), 1.25)
    rounding, more = (
        changed(sides, "closed_form", floor=lambda old, loss=loss: old + loss)
        for loss in (5e-13, 2e-12)
    )
    assert measured("zero_loss", rounding) == pytest.approx(0.25)
    with pytest.raises(NothingToMeasure, match="no networks of which that can be said"):
        measured("zero_loss", more)


def test_one_share_has_no_trend():
    with pytest.raises(NothingToMeasure, match="no image set with two shares"):
        measured("increasing", networks([BALANCED], shares=(0.4,)))


def test_equal_shares_are_those_of_the_number_of_classes():
    """With five classes a share of 0.1 is not that of all: first order is then one too low."""
    five = changed(independent(), "closed_form", classes=lambda ten: ten // 2)
    assert measured("order_of_imbalance", independent()) < 0.1
    assert measured("order_of_imbalance", five) == pytest.approx(1, abs=0.1)
