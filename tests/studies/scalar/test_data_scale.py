"""The spectrum against the data scale: exact, structured, proportional only where it should be."""

import numpy as np
import pytest

from hessian_spectra.studies.scalar.data_scale import claims
from hessian_spectra.studies.scalar.data_scale import figure as figures
from hessian_spectra.studies.scalar.data_scale import study as data_scale


def config(**changes):
    fields = {
        "kind": "data_scale",
        "paper": "singh2026cracking",
        "artifact": "Figure 7",
        "title": "test",
        "data": "test",
        "seed": 3,
        "width": 2,
        "second_width": 4,
        "variance_times_fan_in": 1 / 3,
        "largest_second_moment": 20.0,
        "scales": 4,
    }
    return data_scale.Config(**(fields | changes))


def sample(correlation=0.5, size=12):
    draw = np.random.default_rng(0)
    x, noise = draw.normal(size=(2, size))
    return {"x": x, "y": correlation * x + noise}


@pytest.fixture(scope="module")
def sides():
    networks = sample()
    return data_scale.closed_form(config(), networks), data_scale.numerics(config(), networks)


def test_second_moments_lie_inside_the_interval():
    np.testing.assert_allclose(data_scale.second_moments(config()), [2.5, 7.5, 12.5, 17.5])


def test_arrays_have_one_row_a_scale(sides):
    exact, numeric = sides
    assert exact["widths"].tolist() == [2, 4]
    for targets in ("fixed", "scaled"):
        assert exact[f"eigenvalues_first_{targets}"].shape == (4, 4)
        assert exact[f"eigenvalues_second_{targets}"].shape == (4, 8)
        assert numeric[f"eigenvalues_second_{targets}"].shape == (4, 8)


def test_closed_form_is_the_spectrum_of_the_loss(sides):
    assert claims.largest_error(*sides) < 1e-12


def test_a_wrong_spectrum_would_be_noticed(sides):
    exact, numeric = sides
    wrong = numeric | {"eigenvalues_second_scaled": numeric["eigenvalues_second_scaled"] * 1.001}
    assert claims.largest_error(exact, wrong) > 1e-4
    assert claims.trace_error(exact, wrong) == pytest.approx(1e-3, rel=1e-6)


def test_outliers_stand_around_the_bulk(sides):
    exact, numeric = sides
    assert claims.order_violation(exact, numeric) < 1e-12
    shuffled = numeric | {"eigenvalues_second_fixed": numeric["eigenvalues_second_fixed"] + 1.0}
    assert claims.order_violation(exact, shuffled) > 0.01


def test_trace_is_proportional_whatever_the_targets(sides):
    assert claims.trace_error(*sides) < 1e-12


def test_proportional_if_and_only_if_targets_are_scaled_along(sides):
    _, numeric = sides
    assert claims.departure(numeric, "scaled") < 1e-12
    assert claims.departure(numeric, "fixed") > 0.1


def test_proportional_with_fixed_targets_if_they_are_uncorrelated():
    networks = sample()
    x, y = networks["x"], networks["y"]
    uncorrelated = {"x": x, "y": y - (x @ y) / (x @ x) * x}
    numeric = data_scale.numerics(config(), uncorrelated)
    assert claims.departure(numeric, "fixed") < 1e-12


def test_bulk_departs_as_its_formula_says():
    # |δx| / σ_x² = |⟨w, v⟩ - r / σ_x| with r = mean(x y) / rms(x), so its slope against 1 / σ_x is
    # |r| between neighbouring scales on either side of a change of sign.
    networks = sample()
    exact = data_scale.closed_form(config(), networks)
    correlation = np.mean(networks["x"] * networks["y"]) / np.sqrt(np.mean(networks["x"] ** 2))
    moments = exact["second_moments"]
    bulk = np.abs(exact["eigenvalues_first_fixed"][:, 0]) / moments
    slopes = np.abs(np.diff(bulk) / np.diff(1 / np.sqrt(moments)))
    np.testing.assert_allclose(slopes[-1], abs(correlation), rtol=1e-9)


def test_sharpness_grows_with_the_scale(sides):
    exact, numeric = sides
    weak = data_scale.numerics(config(), sample(correlation=0.0, size=4000))
    assert claims.least_growth(exact, weak) == pytest.approx(1.0, abs=0.05)
    # Targets that dominate small weights: λ_1 is about |E[yx]|, which grows with σ_x.
    strong = data_scale.numerics(config(variance_times_fan_in=1e-6), sample(correlation=50.0))
    assert claims.least_growth(exact, strong) == pytest.approx(0.5, abs=0.01)
    assert numeric["eigenvalues_first_fixed"][0, -1] < numeric["eigenvalues_first_fixed"][-1, -1]


def test_weights_of_one_network_do_not_depend_on_the_other_width():
    networks = sample()
    narrow = data_scale.closed_form(config(), networks)
    wide = data_scale.closed_form(config(width=3), networks)
    assert np.array_equal(narrow["eigenvalues_second_fixed"], wide["eigenvalues_second_fixed"])
    assert wide["eigenvalues_first_fixed"].shape == (4, 6)


@pytest.mark.parametrize("study", ["cracking-fig7", "closed2024-fig1"])
def test_claims_are_complete(study):
    entries = claims.claims(study)
    assert not [problem for claim in entries for problem in claim.problems()]
    assert all(claim.study == study and claim.id.startswith(f"{study}/") for claim in entries)
    assert {claim.paper for claim in entries} == {
        "singh2026cracking" if study == "cracking-fig7" else "singh2024closed"
    }


def test_figure_shows_every_number(sides):
    exact, numeric = sides
    figure = figures.draw(exact, numeric)
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert len(panels) == 6
    assert all(axes.get_xlabel() for axes in panels)
    assert all(axes.get_ylabel() for axes in panels[2:])
    errors = [line.get_ydata() for line in panels[4].lines if line.get_linestyle() == "None"]
    assert sum(map(len, errors)) == 4 * len(exact["second_moments"])
    drawn = {tuple(line.get_ydata()) for line in panels[2].lines}
    assert tuple(exact["eigenvalues_first_fixed"][:, -1]) in drawn
    assert "width 2 and 4" in figures.caption(exact, numeric)


@pytest.mark.parametrize(
    "change",
    [
        {"width": 1},
        {"second_width": -3},
        {"variance_times_fan_in": 0.0},
        {"variance_times_fan_in": float("nan")},
        {"largest_second_moment": -1.0},
        {"scales": 1},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)
