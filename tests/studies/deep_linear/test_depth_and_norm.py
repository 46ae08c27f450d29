"""Sharpness, depth and label norm: the equation, and where depth does what."""

import numpy as np
import pytest

from hessian_spectra.ledger.evaluation import verdict
from hessian_spectra.studies.deep_linear.depth_and_norm import claims
from hessian_spectra.studies.deep_linear.depth_and_norm import figure as figures
from hessian_spectra.studies.deep_linear.depth_and_norm import study as depth_and_norm


def config(**changes):
    fields = {
        "kind": "depth_and_norm",
        "paper": "anon2026data",
        "artifact": "Figure 1b",
        "title": "test",
        "data": "test",
        "seed": 3,
        "input_scale": 1.0,
        "largest_depth": 5,
        "norms": [0.125, 0.4, 1.5],
        "contour_points": 9,
        "smallest_width": 2,
        "largest_width": 4,
    }
    return depth_and_norm.Config(**(fields | changes))


def sample(size=9, features=4):
    return {"x": np.random.default_rng(0).normal(size=(size, features))}


@pytest.fixture(scope="module")
def sides():
    return depth_and_norm.closed_form(config(), sample()), depth_and_norm.numerics(
        config(), sample()
    )


def closed_only(**changes):
    """Both sides from the closed form, where the equation itself is in question."""
    exact = depth_and_norm.closed_form(config(**changes), sample())
    return exact, {"sharpness": exact["predicted"]}


def test_networks_are_balanced_and_have_the_norms_asked_for(sides):
    exact, numeric = sides
    assert exact["label_norms"].shape == numeric["sharpness"].shape == (5, 3)
    np.testing.assert_allclose(exact["label_norms"], np.tile(exact["norms"], (5, 1)), rtol=1e-12)
    assert exact["defect"].max() < 1e-14
    # Widths are drawn for each network.
    assert len(set(numeric["parameters"][-1].tolist())) > 1


@pytest.mark.parametrize("scale", [1.0, 0.3, 2.5])
def test_equation_is_the_largest_eigenvalue(scale):
    settings = config(input_scale=scale, largest_depth=3, norms=[0.3, 2.0])
    exact = depth_and_norm.closed_form(settings, sample())
    numeric = depth_and_norm.numerics(settings, sample())
    assert claims.largest_error(exact, numeric) < 1e-11
    assert claims.wrong_directions(exact, numeric) == 0
    assert claims.exponent_error(exact, numeric) < 1e-10
    # One layer: every eigenvalue is the second moment of the inputs.
    np.testing.assert_allclose(numeric["sharpness"][0], scale**2, rtol=1e-12)
    # Two layers: twice the labels' norm times the inputs' scale.
    np.testing.assert_allclose(numeric["sharpness"][1], 2 * scale * exact["norms"], rtol=1e-11)


def test_residuals_bound_the_errors(sides):
    exact, numeric = sides
    assert claims.largest_error(exact, numeric) < 1e-10
    assert numeric["residual"].max() <= depth_and_norm.TOLERANCE
    wrong = numeric | {"sharpness": numeric["sharpness"] * (1 + 1e-6)}
    assert claims.largest_error(exact, wrong) == pytest.approx(1e-6, rel=1e-3)


def test_depth_makes_it_sharper_above_a_norm_only(sides):
    exact, numeric = sides
    assert claims.wrong_directions(exact, numeric) == 0
    # At 1/8 the sharpness falls up to the fourth layer, at 0.4 up to the second.
    assert claims.flatter_steps(exact, numeric) == 3 + 1
    np.testing.assert_allclose(exact["growth_from"][:2], [1 / 2, (2 / 3) ** 3], rtol=1e-12)
    turned = numeric | {"sharpness": numeric["sharpness"][::-1]}
    assert claims.wrong_directions(exact, turned) > 5


def test_thresholds_are_where_the_sharpness_of_neighbouring_depths_is_equal():
    exact, _ = closed_only()
    for depth, norm in zip(exact["depths"][:3], exact["growth_from"], strict=False):
        below, above = (
            layers * norm ** (2 - 2 / layers) for layers in (float(depth), float(depth + 1))
        )
        assert below == pytest.approx(above, rel=1e-12)


def test_flattest_depth_is_the_smallest_of_the_curve():
    exact, _ = closed_only(largest_depth=8, contour_points=7001)
    lowest = exact["contour_depths"][exact["curves"].argmin(axis=0)]
    np.testing.assert_allclose(exact["flattest_depths"], lowest, atol=1e-3)
    np.testing.assert_allclose(exact["flattest"], exact["curves"].min(axis=0), rtol=1e-6)


def test_few_classes_are_sharper_the_deeper(sides):
    assert claims.least_growth_of_few_classes(*sides) > 1
    # The largest share of 11 balanced classes is just enough, that of 12 is not.
    assert claims.least_growth_of_few_classes(*closed_only(norms=[1 / 11**0.5, 1.0])) > 1
    exact, numeric = closed_only(norms=[1 / 12**0.5, 1.0])
    assert numeric["sharpness"][2, 0] < numeric["sharpness"][1, 0]
    assert claims.least_growth_of_few_classes(exact, numeric) > 1  # those are left out


def test_differences_between_norms_grow_with_depth(sides):
    assert claims.least_growth_of_differences(*sides) > 0
    # Far below e^-2 they do not.
    assert claims.least_growth_of_differences(*closed_only(norms=[0.001, 0.002])) < 0


def test_exponent_of_the_label_norm(sides):
    exact, numeric = sides
    assert claims.exponent_error(exact, numeric) < 1e-10
    wrong = numeric | {"sharpness": numeric["sharpness"] ** 2}
    assert claims.exponent_error(exact, wrong) == pytest.approx(1 - 1 / 5)


def test_leading_factor_makes_up_most_of_the_growth(sides):
    assert claims.share_of_leading_factor(*sides) > 0.5
    # At a norm of 1 it is all of the growth, at a large one the smaller part.
    assert claims.share_of_leading_factor(*closed_only(norms=[0.01, 1.0])) == pytest.approx(1)
    assert claims.share_of_leading_factor(*closed_only(norms=[0.5, 1000.0])) < 0.3


def test_claims_are_complete_and_hold(sides):
    entries = claims.claims("data-fig1b")
    assert not [problem for claim in entries for problem in claim.problems()]
    found = {}
    for claim in entries:
        printed = claim.measure_printed(*sides) if claim.measure_printed else None
        found[claim.id] = verdict(claim, claim.measure(*sides), printed)
    assert {name for name, word in found.items() if word == "corrected"} == {"data-fig1b/depth"}
    assert set(found.values()) == {"corrected", "reproduced"}


def test_figure_shows_every_number(sides):
    exact, numeric = sides
    figure = figures.draw(exact, numeric)
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len(panels) == 4
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in panels)
    (discs,) = (c for c in panels[0].collections if len(c.get_offsets()) == 15)
    np.testing.assert_array_equal(np.sort(discs.get_array()), np.sort(numeric["sharpness"].ravel()))
    drawn = [line.get_ydata() for line in panels[3].lines if line.get_linestyle() == "None"]
    assert sum(map(len, drawn)) == 15
    assert "falls at 4 of 12 steps" in figures.caption(exact, numeric)


@pytest.mark.parametrize(
    "change",
    [
        {"input_scale": -1.0},
        {"largest_depth": 1},
        {"norms": [1.0]},
        {"norms": [1.0, 0.5]},
        {"norms": [0.0, 0.5]},
        {"norms": [0.5, float("inf")]},
        {"contour_points": 1},
        {"smallest_width": 0},
        {"largest_width": 1},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)


def test_data_with_too_few_inputs_are_refused_in_one_line():
    with pytest.raises(ValueError, match="largest_width: expected at most the 3 independent"):
        depth_and_norm.closed_form(config(), sample(features=3))
