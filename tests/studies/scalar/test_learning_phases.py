"""The phases of learning: right in terms of t, wrong as printed where the solution is negative."""

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra.studies.scalar.learning_phases import claims
from hessian_spectra.studies.scalar.learning_phases import figure as figures
from hessian_spectra.studies.scalar.learning_phases import study as learning_phases


def config(**changes):
    fields = {
        "kind": "learning_phases",
        "paper": "singh2026cracking",
        "artifact": "Appendix C",
        "title": "test",
        "data": "test",
        "seed": 2,
        "instances": 30,
        "without_signal": 6,
        "width": 4,
        "solution": [0.5, 2.0],
        "ratio": [-0.5, 1.75],
        "weight_scale": [0.05, 0.5],
    }
    return learning_phases.Config(**(fields | changes))


def sample(size=8):
    x, y = np.random.default_rng(0).normal(size=(2, size))
    return {"x": x, "y": y}


@pytest.fixture(scope="module")
def sides():
    return learning_phases.closed_form(config(), sample()), learning_phases.numerics(
        config(), sample()
    )


def claim_of(name):
    (claim,) = [claim for claim in claims.claims("study") if claim.id == f"study/{name}"]
    return claim


def test_instances_have_the_solutions_and_ratios_asked_for():
    drawn = learning_phases.instances(config(), sample())
    moments = (drawn.x.square().mean(), (drawn.y * drawn.x).mean(dim=1))
    np.testing.assert_allclose(moments[1] / moments[0], drawn.solution, atol=1e-14)
    assert (drawn.solution[:30] >= 0.5).all()
    assert (drawn.solution[30:60] <= -0.5).all()
    assert (drawn.solution[60:] == 0).all()
    ratio = ((drawn.v * drawn.w).sum(dim=1) / drawn.solution)[:60]
    assert ratio.min() >= -0.5 - 1e-12
    assert ratio.max() <= 1.75 + 1e-12


def test_all_phases_occur_for_both_signs(sides):
    exact, _ = sides
    for sign in (1, -1):
        chosen = np.sign(exact["solution"]) == sign
        assert set(exact["phase"][chosen]) == {"early", "late", "divergent"}


def test_the_claims_hold_and_are_well_formed(sides):
    for claim in claims.claims("study"):
        assert claim.problems() == []
        assert holds(claim.measure(*sides), claim.relation, claim.expected, claim.tolerance)


def test_the_printed_phases_fail_exactly_where_the_solution_is_negative_and_t_is_late(sides):
    exact, numeric = sides
    late = (exact["phase"] == "late") & (exact["solution"] < 0)
    assert claim_of("signs").measure_printed(exact, numeric) == late.sum() > 0
    positive = {name: array[:30] for name, array in exact.items() if np.ndim(array)}
    assert (
        claim_of("signs").measure_printed(positive, {"eigenvalues": numeric["eigenvalues"][:30]})
        == 0
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [("spectrum", 1.001), ("product", 1.001), ("signs", -1.0), ("without-signal", -1.0)],
)
def test_a_wrong_spectrum_would_be_noticed(name, change, sides):
    exact, numeric = sides
    wrong = numeric["eigenvalues"].copy()
    wrong[:, 3] *= change  # the fourth of eight is the small outlier
    claim = claim_of(name)
    value = claim.measure(exact, {"eigenvalues": wrong})
    assert not holds(value, claim.relation, claim.expected, claim.tolerance)


def test_without_networks_that_lack_a_signal():
    settings = config(without_signal=0, instances=2)
    exact = learning_phases.closed_form(settings, sample())
    assert len(exact["solution"]) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instances": 0}, "instances: expected at least 1, got 0"),
        ({"without_signal": -1}, "without_signal: expected at least 0, got -1"),
        ({"width": -2}, "width: expected at least 1, got -2"),
        ({"solution": [2.0, 0.5]}, r"solution: expected two numbers, the smaller one first"),
        ({"solution": [0.0, 0.5]}, r"solution: expected positive numbers, got \[0.0, 0.5\]"),
        ({"ratio": [0.5]}, r"ratio: expected two numbers, the smaller one first, got \[0.5\]"),
        ({"weight_scale": [-1.0, 1.0]}, "weight_scale: expected positive numbers"),
        ({"weight_scale": [1.0, float("inf")]}, "weight_scale: expected two numbers"),
    ],
)
def test_a_bad_setting_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_the_figure_shows_every_network(sides):
    exact, numeric = sides
    product, small, printed, error = figures.draw(exact, numeric).axes
    for panel in (product, small, error):
        assert sum(len(line.get_xdata()) for line in panel.lines[:2]) == 60
    assert len(printed.lines[1].get_xdata()) == 30
    crosses = int(claim_of("signs").measure_printed(exact, numeric))
    assert len(printed.lines[2].get_xdata()) == crosses
    assert f"as printed, {crosses} of 30 networks" in figures.caption(exact, numeric)


@pytest.mark.parametrize("count", [1, 4])
def test_a_figure_with_one_phase_only(count):
    settings = config(instances=count, without_signal=0, ratio=[0.4, 0.9])
    exact = learning_phases.closed_form(settings, sample())
    numeric = learning_phases.numerics(settings, sample())
    figure = figures.draw(exact, numeric)
    figure.canvas.draw()
    assert [text.get_text() for text in figure.axes[2].texts] == ["both"]


def test_data_with_several_features_are_refused():
    with pytest.raises(ValueError, match="data: expected a data set with one feature per sample"):
        learning_phases.closed_form(config(), {"x": np.ones((8, 2)), "y": np.ones(8)})
