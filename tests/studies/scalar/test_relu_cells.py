"""The spectrum of the ReLU network by cell: exact, decoupled, and following the density."""

import numpy as np
import pytest

from hessian_spectra.studies.scalar.relu_cells import claims
from hessian_spectra.studies.scalar.relu_cells import figure as figures
from hessian_spectra.studies.scalar.relu_cells import study as relu_cells


def config(**changes):
    fields = {
        "kind": "relu_cells",
        "paper": "singh2026cracking",
        "artifact": "Figure 1",
        "title": "test",
        "data": "test",
        "seed": 0,
        "width": 5,
        "positive_units": 3,
        "variance_times_fan_in": 1 / 3,
    }
    return relu_cells.Config(**(fields | changes))


def sample(size=15):
    draw = np.random.default_rng(1)
    x, noise = draw.normal(size=(2, size))
    return {"x": x, "y": np.abs(x) + 0.5 * x + 0.1 * noise}


def both(**changes):
    networks = sample()
    settings = config(**changes)
    return relu_cells.closed_form(settings, networks), relu_cells.numerics(settings, networks)


@pytest.fixture(scope="module")
def sides():
    return both()


# Cells that have no unit, one unit (no bulk), or all of them.
SIZES = [(5, 3), (5, 1), (5, 4), (4, 0), (4, 4), (1, 1), (2, 1)]


@pytest.mark.parametrize(("width", "positive"), SIZES)
def test_closed_form_is_the_spectrum_of_the_loss(width, positive):
    exact, numeric = both(width=width, positive_units=positive)
    assert len(exact["eigenvalues"]) == 2 * width
    assert claims.largest_error(exact, numeric) < 1e-12


@pytest.mark.parametrize(("width", "positive"), SIZES)
def test_cells_have_as_many_eigenvalues_as_parameters(width, positive):
    exact, _ = both(width=width, positive_units=positive)
    assert (exact["cell"] == "+").sum() == 2 * positive
    assert (exact["cell"] == "-").sum() == 2 * (width - positive)
    cells = (positive > 0) + (positive < width)
    assert (exact["kind"] == "outlier").sum() == 2 * cells


def test_a_wrong_spectrum_would_be_noticed(sides):
    exact, numeric = sides
    wrong = numeric | {"eigenvalues": numeric["eigenvalues"] * 1.001}
    assert claims.largest_error(exact, wrong) == pytest.approx(1e-3, rel=0.01)
    assert claims.multiplicity_error(exact, wrong) > 0
    assert claims.sharpness_error(exact, wrong) > 1e-4


def test_eigenvectors_keep_to_their_cell(sides):
    exact, numeric = sides
    assert claims.mass_in_other_cell(exact, numeric) < 1e-12
    swapped = exact | {"cell": exact["cell"][::-1]}
    assert claims.mass_in_other_cell(swapped, numeric) > 0.99


@pytest.mark.parametrize(("width", "positive"), SIZES)
def test_bulk_has_its_multiplicities(width, positive):
    exact, numeric = both(width=width, positive_units=positive)
    assert claims.multiplicity_error(exact, numeric) == 0
    bulk = exact["eigenvalues"][(exact["kind"] == "bulk") & (exact["cell"] == "+")]
    assert len(bulk) == 2 * max(positive - 1, 0)
    np.testing.assert_allclose(np.sort(bulk), np.sort(-bulk), atol=1e-15)


def test_largest_eigenvalue_is_an_outlier_of_a_cell(sides):
    assert claims.sharpness_error(*sides) < 1e-12


def test_eigenvalues_follow_the_density_of_their_cell(sides):
    exact, numeric = sides
    x = sample()["x"]
    assert numeric["growth"] == pytest.approx(1 + (x < 0).mean())
    assert claims.density_error(exact, numeric) < 1e-12
    unchanged = numeric | {"doubled_eigenvalues": numeric["eigenvalues"]}
    assert claims.density_error(exact, unchanged) > 0.01


def test_signs_are_as_asked_and_sizes_are_not_touched():
    v, w = relu_cells._weights(config(width=6, positive_units=2))
    assert (v > 0).tolist() == [True, True, False, False, False, False]
    other, same = relu_cells._weights(config(width=6, positive_units=5))
    assert v.abs().tolist() == other.abs().tolist()
    assert w.tolist() == same.tolist()


@pytest.mark.parametrize("study", ["cracking-fig1", "closed2024-fig2", "poster-relu"])
def test_claims_are_complete(study):
    entries = claims.claims(study)
    assert not [problem for claim in entries for problem in claim.problems()]
    assert all(claim.study == study and claim.id.startswith(f"{study}/") for claim in entries)


def test_figure_shows_every_eigenvalue_with_its_cell(sides):
    exact, numeric = sides
    figure = figures.draw(exact, numeric)
    by_cell, bulk, error, mass = figure.axes
    for axes in (by_cell, error, mass):
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    rings = [line for line in by_cell.lines if line.get_markerfacecolor() == "none"]
    drawn = {(line.get_color(), y) for line in rings for y in line.get_ydata()}
    colours = {"+": figures.style.COLOURS["cell +"], "-": figures.style.COLOURS["cell -"]}
    expected = zip(exact["cell"], exact["eigenvalues"], strict=True)
    assert drawn == {(colours[cell], value) for cell, value in expected}
    assert len(error.lines[0].get_ydata()) == len(mass.lines[0].get_ydata()) == 10
    assert bulk.get_yticklabels()[0].get_text() == "outliers −"
    assert "5 hidden units, 3 of them" in figures.caption(exact, numeric)


@pytest.mark.parametrize("positive", [0, 4])
def test_figure_can_do_without_one_cell(positive):
    exact, numeric = both(width=4, positive_units=positive)
    assert len(figures.draw(exact, numeric).axes) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"width": 0, "positive_units": 0},
        {"positive_units": 6},
        {"positive_units": -1},
        {"variance_times_fan_in": -1.0},
        {"variance_times_fan_in": float("inf")},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)
