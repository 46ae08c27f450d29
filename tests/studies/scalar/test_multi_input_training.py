"""Several correlated inputs in training: exact at every step, and where Corollary B.1 ends."""

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra.studies.scalar.multi_input_training import claims
from hessian_spectra.studies.scalar.multi_input_training import figure as figures
from hessian_spectra.studies.scalar.multi_input_training import study as multi_input_training


def config(**changes):
    fields = {
        "kind": "multi_input_training",
        "paper": "singh2026cracking",
        "artifact": "Corollary B.1",
        "title": "test",
        "data": "test",
        "seed": 0,
        "width": 3,
        "initial_scale": 0.7,
        "learning_rate": 0.05,
        "steps": 20,
        "record_every": 4,
        "numeric_every": 2,
    }
    return multi_input_training.Config(**(fields | changes))


def sample(correlated=True, size=16):
    draw = np.random.default_rng(0)
    x = draw.normal(size=(size, 3))
    if correlated:
        x[:, 1] += x[:, 0]
    else:
        x = np.sqrt(size) * np.linalg.qr(x)[0]
    return {"x": x, "y": x @ [1.0, -0.5, 0.2] + 0.1 * draw.normal(size=size)}


def follow(settings, data):
    trained = multi_input_training.train(settings, data)
    return (
        multi_input_training.closed_form(settings, trained),
        multi_input_training.numerics(settings, trained),
    )


@pytest.fixture(scope="module")
def sides():
    return follow(config(), sample())


def claim_of(name):
    (claim,) = [claim for claim in claims.claims("study") if claim.id == f"study/{name}"]
    return claim


def test_arrays_have_one_row_a_step(sides):
    exact, numeric = sides
    assert exact["step"].tolist() == [0, 4, 8, 12, 16, 20]
    assert numeric["step"].tolist() == [0, 8, 16]
    assert exact["eigenvalues"].shape == exact["decorrelated"].shape == (6, 18)
    assert exact["outlier"].shape == (6, 6)
    assert exact["bulk"].shape == (6, 12)


def test_recorded_weights_are_the_networks(sides):
    trained = multi_input_training.train(config(), sample())
    x, y = trained["x"], trained["y"]
    outputs = np.einsum("nd,rdm,rdm->rn", x, trained["v"], trained["w"])
    np.testing.assert_allclose(np.mean((outputs - y) ** 2, axis=1) / 2, trained["loss"])
    assert (np.diff(trained["loss"]) < 0).all()


def test_outliers_and_bulk_make_up_the_spectrum(sides):
    exact, _ = sides
    together = np.sort(np.concatenate([exact["outlier"], exact["bulk"]], axis=1), axis=1)
    np.testing.assert_array_equal(together, exact["eigenvalues"])


def test_the_claims_hold_and_are_well_formed(sides):
    for claim in claims.claims("study"):
        assert claim.problems() == []
        value = claim.measure(*sides)
        assert holds(value, claim.relation, claim.expected, claim.tolerance), claim.id


def test_without_correlations_both_forms_agree():
    exact, numeric = follow(config(), sample(correlated=False))
    assert claim_of("decorrelation-is-needed").measure(exact, numeric) < 1e-12
    assert claim_of("spectrum").measure(exact, numeric) < 1e-12


@pytest.mark.parametrize("name", ["spectrum", "bulk"])
def test_a_wrong_spectrum_would_be_noticed(name, sides):
    exact, numeric = sides
    wrong = numeric | {"eigenvalues": numeric["eigenvalues"] * 1.001}
    assert claim_of(name).measure(exact, wrong) > 1e-5


def test_width_one_is_the_diagonal_network_without_bulk():
    exact, numeric = follow(config(width=1), sample())
    assert exact["bulk"].shape == (6, 0)
    assert claim_of("spectrum").measure(exact, numeric) < 1e-12
    assert len(figures.draw(exact, numeric).axes) == 4


def test_a_run_that_diverges_keeps_what_it_had():
    exact, numeric = follow(config(learning_rate=20.0), sample())
    assert 0 < exact["diverged_at"] <= 20
    assert all(np.isfinite(array).all() for array in exact.values())
    assert f"diverged at step {exact['diverged_at']}" in figures.caption(exact, numeric)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"steps": 0}, "steps: expected at least 1"),
        ({"record_every": 0}, "record_every: expected at least 1"),
        ({"numeric_every": 0}, "numeric_every: expected at least 1"),
        ({"initial_scale": -1.0}, "initial_scale: expected a positive number, got -1.0"),
        ({"learning_rate": 0.0}, "learning_rate: expected a positive number"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_data_with_a_single_feature_are_refused():
    with pytest.raises(
        ValueError, match="data: expected a data set with several features per sample"
    ):
        multi_input_training.train(config(), {"x": np.ones(5), "y": np.ones(5)})


def test_the_figure_shows_every_numerical_spectrum(sides):
    exact, numeric = sides
    upper, lower, bulk, error = figures.draw(exact, numeric).axes
    for panel, curves in ((upper, 3), (lower, 3), (bulk, 12)):
        # Points and closed-form lines, and the line at zero.
        assert len(panel.lines) == 2 * curves + 1
    assert all(len(line.get_xdata()) == 3 for line in error.lines[:2])
    assert "The 6 outliers" in figures.caption(exact, numeric)
