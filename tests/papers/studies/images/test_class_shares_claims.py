"""The claims about the sharpness and the largest class, on planted networks."""

import numpy as np
import pytest
from claims_contract import Kind, changed, of_records, planted_data
from planted_shares import ABLATIONS, BALANCED, KAIMING, RAW, TANH, kept, networks

from hessian_papers.ledger.bounds import NothingToMeasure, estimate_of
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


def entries_of(artifact, sides):
    return Kind(statements, VARIABLES).entries(sides, "anon2026data", artifact)


def measured(name, sides, *of):
    return getattr(module, name)(planted_data(sides, VARIABLES), *of)


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = of_records("class_shares")


def only_small_shares_of_many(sides):
    """As where a class is too small: of the largest subsets only the smallest share is left."""
    closed_form = sides["closed_form"]
    return kept(sides, (closed_form["samples"] < 200) | (closed_form["share"] == 0.1))


TRAINED, ABLATED = trained(), ablations()
BENT = scaled(networks(ABLATIONS, replicates=SIX), 0.01, source="two", case=RAW, share=0.4)
LARGER = scaled(TRAINED, 7.0, share=0.4)
FITTED = {50: 0.98, 20: 0.96}


def fitted(sides, *, where=True):
    """The sides with labels that the inputs fit."""
    floor = np.where(where, 1e-18, 0.1) * np.ones(len(sides["closed_form"]["share"]))
    return changed(sides, "closed_form", floor=floor)


@pytest.mark.parametrize(
    ("name", "sides", "of", "expected"),
    [
        # One step down in three counts in its own image set alone.
        ("increasing", scaled(independent(), 0.01, source="two", share=0.4), "two", 0.5),
        ("increasing", scaled(independent(), 0.01, source="two", share=0.4), "one", 1.0),
        ("kaiming_increasing", scaled(ABLATED, 0.01, case=KAIMING, share=0.4), "two", 0.5),
        ("tanh_increasing", scaled(ABLATED, 0.01, case=TANH, share=0.4), "one", 0.5),
        ("raw_inconsistent", BENT, "one", 1.0),
        ("raw_inconsistent", BENT, "two", 0.5),
        # Typical is the median of the shares: one that is far off does not count for all.
        ("kaiming_values", scaled(ABLATED, 1.45, case=KAIMING, share=0.1), None, 0.0),
        ("tanh_values", scaled(ABLATED, 0.8, case=TANH), None, 0.2),
        # Without a fit the labels' curve is shown, as a mean over shares and sets.
        ("on_the_curve", TRAINED, None, 0.03),
        ("zero_loss", scaled(TRAINED, 1.25, samples=20, share=0.9), None, 0.25),
        # Below the bound there is no excess.
        ("kaiming_bound", scaled(ABLATED, 0.9, array="ggn"), None, 0.0),
        ("raw_first_layer", ABLATED, "one", 0.8),
        ("independent_of_samples", fitted(subsets(FITTED)), "one", 1 / 0.96 - 1),
        # Whatever other sizes have at shares that one lacks does not count.
        ("independent_of_samples", fitted(only_small_shares_of_many(LARGER)), "one", 1 / 0.95 - 1),
    ],
)
def test_a_statistic_is_what_was_planted(name, sides, of, expected):
    value = measured(name, sides, *([] if of is None else [of]))
    assert float(np.mean(value)) == pytest.approx(expected, abs=1e-9)


def test_what_is_said_of_zero_loss_is_not_judged_at_another():
    """A sharpness that falls with n where labels are not fitted says nothing of the sentence."""
    entries = entries_of("Figure 1c", fitted(TRAINED, where=False))
    for name in ("zero-loss", "independent-of-samples-one", "independent-of-samples-two"):
        with pytest.raises(NothingToMeasure, match="the statement is about zero loss"):
            entries[name].measure()
    # Where some labels are fitted, only these count: here of one size.
    entries = entries_of("Figure 1c", TRAINED)
    assert entries["zero-loss"].measure().value < 1e-9
    with pytest.raises(NothingToMeasure, match="no image set at two numbers of samples"):
        entries["independent-of-samples-one"].measure()


def test_one_training_a_share_has_no_interval_and_replicates_have_one():
    with pytest.raises(NothingToMeasure, match="no networks of two replicates"):
        measured("raw_inconsistent", ablations(replicates=(0,)), "one")
    # Of replicates that disagree the mean is known so well.
    lowered = ablations()
    rows = lowered["closed_form"]["replicate"] < 2
    rows = rows & (lowered["closed_form"]["case"] == RAW)
    share = lowered["closed_form"]["share"]
    numbers = np.where(rows, share, lowered["numerics"]["sharpness"])
    values = measured("raw_inconsistent", changed(lowered, "numerics", sharpness=numbers), "one")
    estimate = estimate_of(values)
    assert estimate.value == pytest.approx(2 / 6)
    assert estimate.low < 0.0 < estimate.high


def test_one_number_of_samples_says_nothing_of_their_influence():
    with pytest.raises(NothingToMeasure, match="no image set at two numbers of samples"):
        measured("independent_of_samples", fitted(networks([BALANCED])), "one")


@pytest.mark.parametrize("artifact", ["Figure 1c", "Figure 2"])
def test_diverged_networks_are_left_out(artifact):
    sides = fitted(independent()) if artifact == "Figure 1c" else ablations()
    closed_form = sides["closed_form"]
    gone = (closed_form["source"] == "two") & (closed_form["replicate"] == 1)
    for entry in entries_of(artifact, without(sides, gone)).values():
        assert np.isfinite(np.atleast_1d(entry.measure())[0]), entry.id
    for entry in entries_of(artifact, without(sides, gone | True)).values():
        with pytest.raises(NothingToMeasure, match="this configuration has no networks"):
            entry.measure()


def test_labels_are_fitted_where_the_least_squares_loss_is_rounding():
    sides = scaled(networks([BALANCED]), 1.25)
    rounding, more = (
        changed(sides, "closed_form", floor=lambda old, loss=loss: old + loss)
        for loss in (5e-13, 2e-12)
    )
    assert measured("zero_loss", rounding).values == pytest.approx(0.25)
    with pytest.raises(NothingToMeasure, match="no networks of which that can be said"):
        measured("zero_loss", more)


def test_one_share_has_no_trend():
    with pytest.raises(NothingToMeasure, match="no image set with two shares"):
        measured("increasing", networks([BALANCED], shares=(0.4,)), "one")
