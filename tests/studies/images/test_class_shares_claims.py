"""Claims about the largest class hold where they were planted, and fail where they were not."""

import math

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import NothingToMeasure, holds

from hessian_spectra.ledger.evaluation import verdict
from hessian_spectra.studies.images.class_shares.claims import BALANCED, KAIMING, RAW, TANH, claims

SHARES, DEPTH = (0.1, 0.4, 0.9), 4


def arrays(cases, sizes=(50,), sources=("one", "two"), sharpness=lambda row: row["labels"]):
    """Both sides of networks that agree with every formula, but for a sharpness of their own."""
    rows = []
    for source in sources:
        for case in cases:
            for samples in sizes if case == cases[0] else sizes[:1]:
                for share in SHARES:
                    for replicate in (0, 1):
                        row = {"source": source, "case": case, "samples": samples, "share": share}
                        row |= {"replicate": replicate, "labels": DEPTH * share ** (1 - 1 / DEPTH)}
                        row |= {"fit": row["labels"], "bound": row["labels"], "floor": 0.0}
                        row |= {"first_layer": row["labels"] / DEPTH}
                        row |= {"loss": 1e-3, "defect": [0.1, 1e-4]}
                        rows.append(row | {"sharpness": sharpness(row)})
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    measured = found.pop("sharpness")
    return found, {"sharpness": measured, "ggn": measured.copy()}


def measured(study, name, closed_form, numerics):
    """What a claim measures, and whether that is what it states."""
    (claim,) = [claim for claim in claims(study) if claim.id == f"{study}/{name}"]
    value = claim.measure(closed_form, numerics)
    return value, holds(value, claim.relation, claim.expected, claim.tolerance)


@pytest.fixture(scope="module")
def trained():
    """Subsets of three sizes; labels of the larger ones cannot be fitted, by 10 and 20 per cent."""
    left = {50: 0.9, 20: 1.0, 200: 0.8}
    closed_form, numerics = arrays(
        [BALANCED], (50, 20, 200), sharpness=lambda row: row["labels"] * left[row["samples"]]
    )
    closed_form["floor"] = np.where(closed_form["samples"] == 20, 1e-18, 0.1)
    return closed_form | {"fit": numerics["sharpness"]}, numerics


@pytest.fixture(scope="module")
def ablations():
    return arrays([RAW, KAIMING, TANH])


def test_no_claims_for_other_studies():
    assert claims("a-study-of-my-own") == []


def test_deviations_from_the_formulas(trained, ablations):
    closed_form, numerics = trained
    for name, value, found in (
        ("zero-loss", 0.0, True),
        ("least-squares", 0.0, True),
        ("on-the-curve", 0.1, False),
    ):
        assert measured("data-fig1c", name, *trained) == (pytest.approx(value, abs=1e-12), found)
    sharper = numerics | {"sharpness": numerics["sharpness"] * 1.01}
    for name in ("zero-loss", "least-squares"):
        value = measured("data-fig1c", name, closed_form, sharper)
        assert value == (pytest.approx(0.01), False)
    theory, sharpness = ablations
    for case, name, factor in ((KAIMING, "kaiming-values", 2.0), (TANH, "tanh-values", 0.5)):
        assert measured("data-fig2", name, theory, sharpness) == (pytest.approx(0.0), True)
        changed = sharpness["sharpness"] * np.where(theory["case"] == case, factor, 1.0)
        value = measured("data-fig2", name, theory, {"sharpness": changed})
        assert value == (pytest.approx(abs(factor - 1)), False)


def test_the_printed_formula_is_corrected_where_labels_are_not_fitted(trained):
    (claim,) = [claim for claim in claims("data-fig1c") if claim.printed]
    printed = claim.measure_printed(*trained)
    assert printed == pytest.approx(0.2)
    assert verdict(claim, claim.measure(*trained), printed) == "corrected"


@pytest.mark.parametrize(
    ("study", "name", "case"),
    [
        ("data-fig1c", "increasing", BALANCED),
        ("data-fig2", "kaiming-increasing", KAIMING),
        ("data-fig2", "tanh-increasing", TANH),
    ],
)
def test_trends_are_found_and_missed(study, name, case):
    cases = [BALANCED] if study == "data-fig1c" else [RAW, KAIMING, TANH]
    closed_form, numerics = arrays(cases)
    assert measured(study, name, closed_form, numerics) == (1.0, True)
    # One image set with one step down decides.
    bent = (closed_form["source"] == "two") & (closed_form["case"] == case)
    bent &= closed_form["share"] == SHARES[1]
    lower = {"sharpness": np.where(bent, 0.01, numerics["sharpness"])}
    assert measured(study, name, closed_form, lower) == (0.5, False)


def test_the_number_of_samples(trained):
    closed_form, numerics = trained
    change = measured("data-fig1c", "independent-of-samples", *trained)
    assert change == (pytest.approx(0.25), False)
    rise = measured("data-fig1c", "no-rise-with-samples", *trained)
    assert rise == (pytest.approx(0.9 / 1.0 - 1), True)
    same = {"sharpness": closed_form["labels"]}
    assert measured("data-fig1c", "independent-of-samples", closed_form, same) == (0.0, True)
    of_larger = numerics["sharpness"] * np.where(closed_form["samples"] == 200, 2.0, 1.0)
    rise = measured("data-fig1c", "no-rise-with-samples", closed_form, {"sharpness": of_larger})
    assert rise == (pytest.approx(1.6 / 0.9 - 1), False)


def test_sizes_are_compared_at_the_shares_that_all_of_them_have(trained):
    closed_form, numerics = trained
    # As where a class is too small: of the largest subsets only the smallest share is left, and
    # whatever the others have at larger shares does not count.
    kept = (closed_form["samples"] < 200) | (closed_form["share"] == SHARES[0])
    sharpness = numerics["sharpness"] * np.where(closed_form["share"] > SHARES[0], 7.0, 1.0)
    fewer = {name: array[kept] for name, array in closed_form.items()}
    change = measured("data-fig1c", "independent-of-samples", fewer, {"sharpness": sharpness[kept]})
    assert change == (pytest.approx(0.25), False)


def test_assumptions(ablations):
    closed_form, numerics = ablations
    for study, name, value, found in (
        ("data-fig2", "gauss-newton", 0.0, True),
        ("data-fig2", "stay-balanced", 1e-4, True),
        ("data-fig2", "kaiming-unbalanced", 1e-3, False),
        ("data-fig2", "kaiming-bound", 0.0, True),
    ):
        assert measured(study, name, *ablations) == (pytest.approx(value), found)
    unbalanced = closed_form | {"defect": np.full_like(closed_form["defect"], 0.1)}
    assert measured("data-fig2", "stay-balanced", unbalanced, numerics) == (0.1, False)
    assert measured("data-fig2", "kaiming-unbalanced", unbalanced, numerics) == (1.0, True)
    larger = numerics | {"ggn": numerics["ggn"] * 1.1}
    for name in ("gauss-newton", "kaiming-bound"):
        assert measured("data-fig2", name, closed_form, larger) == (pytest.approx(0.1), False)


def test_raw_inputs(ablations):
    closed_form, numerics = ablations
    raw = closed_form["case"] == RAW
    # As eq. (14) has it, nothing breaks down.
    assert measured("data-fig2", "raw-breaks-down", *ablations) == (pytest.approx(0.0), False)
    assert measured("data-fig2", "raw-inconsistent", *ablations) == (1.0, False)
    assert measured("data-fig2", "raw-share-matters-less", *ablations) == (
        pytest.approx(1.0),
        False,
    )
    assert measured("data-fig2", "raw-still-learning", *ablations) == (pytest.approx(1.0), False)
    assert measured("data-fig2", "raw-first-layer", *ablations) == (pytest.approx(1 / DEPTH), False)
    moments = closed_form | {"first_layer": 0.8 * numerics["ggn"]}
    assert measured("data-fig2", "raw-first-layer", moments, numerics) == (pytest.approx(0.8), True)
    sharper = np.where(raw, 50.0 + (closed_form["share"] == SHARES[1]), numerics["sharpness"])
    changed = {"sharpness": sharper}
    slow = closed_form | {"loss": np.where(raw, 0.1, closed_form["loss"])}
    assert measured("data-fig2", "raw-breaks-down", slow, changed)[1]
    assert measured("data-fig2", "raw-inconsistent", slow, changed) == (0.0, True)
    value, found = measured("data-fig2", "raw-share-matters-less", slow, changed)
    assert found
    assert value == pytest.approx(math.log(51 / 50) / (0.75 * math.log(9)))
    assert measured("data-fig2", "raw-still-learning", slow, changed) == (pytest.approx(100), True)


def test_exponents(ablations):
    closed_form, numerics = ablations
    assert measured("data-fig2", "tanh-exponent", *ablations) == (pytest.approx(0.0), True)
    steeper = numerics["sharpness"] * np.where(
        closed_form["source"] == "one", closed_form["share"] ** 0.375, 1.0
    )
    value = measured("data-fig2", "tanh-exponent", closed_form, {"sharpness": steeper})
    assert value == (pytest.approx(0.5), False)


def test_diverged_networks_are_left_out(ablations):
    closed_form, numerics = ablations
    gone = (closed_form["source"] == "two") | (closed_form["replicate"] == 1)
    some = {name: np.where(gone, np.nan, array) for name, array in numerics.items()}
    none = {name: np.full_like(array, np.nan) for name, array in numerics.items()}
    for claim in claims("data-fig2"):
        assert math.isfinite(claim.measure(closed_form, some)), claim.id
        with pytest.raises(NothingToMeasure, match="did not diverge"):
            claim.measure(closed_form, none)


def test_one_number_of_samples_says_nothing_of_their_influence():
    closed_form, numerics = arrays(["whitened-balanced-linear"])
    found = {claim.id.partition("/")[2]: claim for claim in claims("data-fig1c")}
    with pytest.raises(NothingToMeasure, match="two numbers of samples"):
        found["no-rise-with-samples"].measure(closed_form, numerics)
