"""The outlier pair in training: exact at every step, its sign, its end, and runs that diverge."""

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra.studies.scalar.outlier_pair import claims
from hessian_spectra.studies.scalar.outlier_pair import figure as figures
from hessian_spectra.studies.scalar.outlier_pair import study as outlier_pair

STUDIES = ["cracking-fig8", "closed2024-fig3", "poster-pair", "diabetes-scalar"]


def config(**changes):
    fields = {
        "kind": "outlier_pair",
        "paper": "singh2026cracking",
        "artifact": "Figure 8",
        "title": "test",
        "data": "test",
        "seed": 1,
        "networks": ["linear", "relu"],
        "width": 6,
        "initial_scale": 0.75,
        "learning_rate": 0.5,
        "momentum": 0.0,
        "high_learning_rate": 0.0,
        "high_momentum": 0.0,
        "high_initial_scale": 0.75,
        "steps": 120,
        "record_every": 1,
        "numeric_every": 8,
    }
    return outlier_pair.Config(**(fields | changes))


def wedge(size=30):
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, size)
    return {"x": x, "y": np.where(x > 0, 2.0, -0.5) * x + 0.1 * draw.normal(size=size)}


def follow(settings, data=None):
    trained = outlier_pair.train(settings, data or wedge())
    return outlier_pair.closed_form(settings, trained), outlier_pair.numerics(settings, trained)


@pytest.fixture(scope="module")
def plain():
    """Gradient descent without momentum, with a third run of its own rate and scale."""
    return follow(config(high_learning_rate=0.4, high_initial_scale=2.0))


@pytest.fixture(scope="module")
def heavy_ball():
    return follow(config(momentum=0.9, learning_rate=0.18, steps=300, numeric_every=50))


def measured(name, sides, study="closed2024-fig3"):
    (claim,) = [c for c in claims.claims(study) if c.id == f"{study}/{name}"]
    return claim, claim.measure(*sides)


def test_arrays_have_one_row_a_step(plain):
    exact, numeric = plain
    assert exact["runs"].tolist() == ["linear", "relu", "linear_high"]
    assert exact["linear/eigenvalues"].shape == (121, 12)
    assert exact["relu/outlier"].shape == (121, 2)
    # The first twelve steps and every eighth one.
    assert numeric["relu/step"].tolist() == [*range(12), *range(16, 121, 8)]
    assert numeric["relu/eigenvalues"].shape == (26, 12)


def test_all_runs_start_from_the_same_draw():
    trained = outlier_pair.train(config(high_learning_rate=0.1, high_initial_scale=1.5), wedge())
    np.testing.assert_array_equal(trained["linear/v"][0], trained["relu/v"][0])
    np.testing.assert_allclose(trained["linear_high/w"][0], 2 * trained["linear/w"][0])


def test_the_same_configuration_gives_the_same_arrays(plain):
    again, _ = follow(config(high_learning_rate=0.4, high_initial_scale=2.0))
    for name, array in plain[0].items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)


def test_training_reports_all_runs_under_rising_steps():
    seen = []
    outlier_pair.train(config(steps=3), wedge(), lambda step, metrics: seen.append((step, metrics)))
    assert [step for step, _ in seen] == [0, 1, 2, 3]
    assert set(seen[0][1]) == {"linear/loss", "relu/loss"}


@pytest.mark.parametrize("study", STUDIES)
def test_identities_hold_and_are_well_formed(study, plain):
    for claim in claims.claims(study):
        assert claim.problems() == []
        if claim.kind == "identity":
            assert holds(claim.measure(*plain), claim.relation, claim.expected, claim.tolerance)


def test_without_momentum_the_small_outlier_turns_positive_and_closes_from_above(plain):
    assert measured("changes-sign", plain)[1] == 1.0
    assert measured("reaches-zero-from-the-positive-side", plain)[1] == 1.0
    assert measured("ends-at-zero", plain)[1] < 1e-6
    assert measured("rank-one", plain)[1] < 1e-6
    assert measured("phases", plain)[1] == 0


def test_with_momentum_it_reaches_zero_from_both_sides(heavy_ball):
    claim, value = measured("reaches-zero-from-the-positive-side", heavy_ball)
    assert abs(value) < 0.5
    assert "underdamped" in claim.explanation
    assert measured("ends-at-zero", heavy_ball)[1] < 1e-6
    assert measured("phases", heavy_ball)[1] == 0


def test_beyond_the_solution_it_closes_from_below():
    # This draw starts at ⟨w, v⟩ > θ*, and the steps are too small to jump back over θ*.
    settings = config(
        networks=["linear"], high_learning_rate=0.1, high_initial_scale=2.0, seed=4, steps=200
    )
    exact, numeric = follow(settings)
    resolved = exact["linear_high/outlier"][:, 1] < -1e-12
    assert resolved.sum() > 20
    assert set(exact["linear_high/phase"][resolved]) == {"divergent"}
    assert measured("reaches-zero-from-the-negative-side", (exact, numeric))[1] == -1.0


def test_the_poster_formula_needs_the_second_moment(plain):
    claim, value = measured("outlier-formula", plain, "poster-pair")
    assert value < 1e-10
    assert claim.measure_printed(*plain) > 0.1


@pytest.mark.parametrize("name", ["spectrum", "pair-sum", "pair-product"])
def test_a_wrong_spectrum_would_be_noticed(name, plain):
    exact, numeric = plain
    wrong = numeric | {"relu/eigenvalues": numeric["relu/eigenvalues"] * 1.001}
    assert measured(name, (exact, wrong))[1] > 1e-4


def test_a_wrong_phase_would_be_noticed(plain):
    exact, numeric = plain
    wrong = exact | {"linear/phase": np.full(121, "early")}
    assert measured("phases", (wrong, numeric))[1] > 0


def test_a_run_that_diverges_keeps_what_it_had():
    sides = follow(config(learning_rate=30.0, networks=["linear"]))
    exact, numeric = sides
    assert 0 < exact["linear/diverged_at"] < 120
    assert exact["linear/step"][-1] < exact["linear/diverged_at"]
    for arrays in sides:
        for name, array in arrays.items():
            assert array.dtype.kind == "U" or np.isfinite(array).all(), name
    assert measured("spectrum", sides)[1] < 1e-10
    assert f"diverged at step {exact['linear/diverged_at']}" in figures.caption(exact, numeric)


def test_width_one_has_a_pair_and_no_bulk():
    sides = follow(config(width=1, networks=["linear"], steps=5))
    assert sides[0]["linear/eigenvalues"].shape == (6, 2)
    assert measured("spectrum", sides)[1] < 1e-10


def test_a_relu_network_without_positive_units_is_named():
    settings = config(width=2, networks=["relu"], steps=1)
    trained = outlier_pair.train(settings, wedge())
    trained["relu/v"] = -np.abs(trained["relu/v"])
    with pytest.raises(ValueError, match=r"seed: expected a hidden unit with v > 0 .* at step 0"):
        outlier_pair.closed_form(settings, trained)


def test_the_caption_tells_when_units_change_cell():
    settings = config(networks=["relu"], steps=2)
    trained = outlier_pair.train(settings, wedge())
    start = trained["relu/v"][0]
    moved = int(np.flatnonzero(start < 0)[0])
    trained["relu/v"][1:, moved] *= -1
    exact = outlier_pair.closed_form(settings, trained)
    assert np.diff(exact["relu/units"]).tolist() == [1, 0]
    text = figures.caption(exact, outlier_pair.numerics(settings, trained))
    assert (
        "Hidden units enter or leave the positive cell, and the curves may jump, at step 1." in text
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"networks": []}, r"networks: expected a list of linear, relu, got \[\]"),
        ({"networks": ["tanh"]}, "networks: expected a list of linear, relu, got"),
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"width": -3}, "width: expected at least 1, got -3"),
        ({"initial_scale": 0.0}, "initial_scale: expected a positive number"),
        ({"learning_rate": -0.1}, "learning_rate: expected a positive number, got -0.1"),
        ({"momentum": 1.0}, r"momentum: expected a number in \[0, 1\), got 1.0"),
        ({"high_learning_rate": -1.0}, "high_learning_rate: expected a positive number, or 0"),
        ({"high_momentum": 1.0}, "high_momentum: expected"),
        ({"high_initial_scale": 0.0}, "high_initial_scale: expected a positive number"),
        ({"steps": 0}, "steps: expected at least 1, got 0"),
        ({"record_every": 0}, "record_every: expected at least 1"),
        ({"numeric_every": 0}, "numeric_every: expected at least 1"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_data_with_several_features_are_refused():
    with pytest.raises(
        ValueError, match="data: expected a data set with one feature per sample, got 'test'"
    ):
        outlier_pair.train(config(), {"x": np.ones((5, 2)), "y": np.ones(5)})


def test_the_figure_shows_every_numerical_spectrum(plain):
    exact, numeric = plain
    figure = figures.draw(exact, numeric)
    panels = figure.axes
    assert len(panels) == 12
    assert all(panel.get_ylabel() for panel in panels[::3])
    # The bottom row: one point per numerical spectrum.
    for panel, run in zip(panels[9:], exact["runs"], strict=True):
        assert len(panel.lines[0].get_xdata()) == len(numeric[f"{run}/step"])
    text = figures.caption(exact, numeric)
    assert "Linear network: λ₂ starts at -" in text
    assert "changes sign 1 time;" in text
