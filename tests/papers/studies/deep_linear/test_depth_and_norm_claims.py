"""The claims about depth and label norm, on small networks and where they do not hold."""

import numpy as np
import pytest
from claims_contract import Planted, changed, contract
from small_studies import DEPTHS

from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.deep_linear.depth_and_norm.claims import statements
from hessian_papers.studies.deep_linear.depth_and_norm.study import VARIABLES


@pytest.fixture(scope="module")
def sides():
    return DEPTHS.both()


@pytest.fixture(scope="module")
def planted(sides):
    return [
        Planted(
            **DEPTHS.about,
            holds=sides,
            fails=[
                changed(sides, "numerics", sharpness=lambda values: values * (1 + 1e-6)),
                # Not the first row: of one layer the norm changes nothing but rounding errors.
                changed(sides, "numerics", sharpness=lambda v: np.vstack([v[:1], v[:0:-1]])),
                changed(sides, "numerics", sharpness=lambda values: values**2),
                DEPTHS.closed_only(norms=[0.001, 0.002, 1.0]),  # the first two far below e^-2
                DEPTHS.closed_only(norms=[500.0, 1000.0]),
            ],
            reduced=[DEPTHS.closed_only(largest_depth=2), DEPTHS.closed_only(norms=[0.1, 0.2])],
        )
    ]


test_a_claim_holds_and_fails, test_a_claim_bears_a_missing_case = contract(statements, VARIABLES)


def test_errors_are_as_large_as_what_was_planted(sides):
    wrong = changed(sides, "numerics", sharpness=lambda values: values * (1 + 1e-6))
    assert DEPTHS.entries(wrong)["sharpness"].measure() == pytest.approx(1e-6, rel=1e-3)
    squared = changed(sides, "numerics", sharpness=lambda values: values**2)
    assert DEPTHS.entries(squared)["exponent"].measure() == pytest.approx(1 - 1 / 5)
    turned = changed(sides, "numerics", sharpness=lambda values: values[::-1])
    assert DEPTHS.entries(turned)["depth"].measure() > 5


def test_few_classes_are_sharper_the_deeper(sides):
    # The largest share of 11 balanced classes is just enough, that of 12 is not.
    assert DEPTHS.entries(DEPTHS.closed_only(norms=[1 / 11**0.5, 1.0]))["few-classes"].measure() > 1
    twelve = DEPTHS.closed_only(norms=[1 / 12**0.5, 1.0])
    sharpness = twelve["numerics"]["sharpness"].sel(norm=1 / 12**0.5)
    assert sharpness.sel(depth=3) < sharpness.sel(depth=2)
    assert DEPTHS.entries(twelve)["few-classes"].measure() > 1  # those are left out
    with pytest.raises(NothingToMeasure, match=r"no norm with .* ≥ 0\.0909"):
        DEPTHS.entries(DEPTHS.closed_only(norms=[0.1, 0.2]))["few-classes"].measure()


def test_the_effect_of_the_labels_grows_by_so_much_of_what_it_was_before():
    """Of two layers and more: differences 2, 3, 4.5 and, of larger norms, 4, 5, 7.5."""
    planted = np.array([[1, 1, 1], [1, 3, 7], [1, 4, 9], [1, 5.5, 13]])
    data = DEPTHS.closed_only(largest_depth=4, norms=[0.1, 1.0, 10.0])
    rising = changed(data, "numerics", sharpness=planted)
    assert DEPTHS.entries(rising)["label-effect"].measure() == pytest.approx(0.25)
    falling = changed(data, "numerics", sharpness=-planted)
    assert DEPTHS.entries(falling)["label-effect"].measure() == pytest.approx(-0.5)


def test_two_layers_say_nothing_about_a_third():
    actual = DEPTHS.entries(DEPTHS.closed_only(largest_depth=2))
    for name in ("few-classes", "leading-factor", "label-effect"):
        with pytest.raises(NothingToMeasure, match="no network of three layers"):
            actual[name].measure()


def test_leading_factor_is_all_of_the_growth_at_a_norm_of_one():
    actual = DEPTHS.entries(DEPTHS.closed_only(norms=[0.01, 1.0]))["leading-factor"]
    assert actual.measure() == pytest.approx(1)
    # Of three norms the one in the middle counts, not the one that is furthest off.
    three = DEPTHS.entries(DEPTHS.closed_only(norms=[0.9, 1.0, 1000.0]))["leading-factor"]
    assert three.measure() == pytest.approx(1)
    large = DEPTHS.entries(DEPTHS.closed_only(norms=[500.0, 1000.0]))["leading-factor"]
    assert large.measure() < 0.3
    with pytest.raises(NothingToMeasure, match="no norm at which the sharpness grows"):
        DEPTHS.entries(DEPTHS.closed_only(norms=[0.01, 0.02]))["leading-factor"].measure()


@pytest.mark.parametrize("scale", [0.3, 2.5])
def test_inputs_of_another_scale_change_nothing(scale):
    actual = DEPTHS.entries(DEPTHS.both(input_scale=scale, largest_depth=3, norms=[0.3, 2.0]))
    assert actual["sharpness"].measure() < 1e-11
    assert actual["depth"].measure() == 0
    assert actual["exponent"].measure() < 1e-10
