"""The spectrum of the ReLU network by cell: weights, multiplicities, and how it is drawn."""

import numpy as np
import pytest
from relu_cells_sides import SIZES, both, config, sample

from hessian_papers.labelled import joined
from hessian_papers.studies.scalar.relu_cells import study
from hessian_papers.studies.scalar.relu_cells.figure import caption, controls, draw
from hessian_papers.studies.spectra import group
from hessian_spectra.pictures import style
from tests.pipelines.marks import undrawn


def data_of(**changes):
    return joined([*both(**changes).values()])


@pytest.fixture(scope="module")
def data():
    return data_of()


@pytest.mark.parametrize(("width", "positive"), SIZES)
def test_cells_have_as_many_eigenvalues_as_parameters(width, positive):
    actual = data_of(width=width, positive_units=positive)
    units = {"+": positive, "-": width - positive}
    for cell, count in units.items():
        assert group(actual, "outlier", cell).size == (2 if count else 0)
        bulk = group(actual, "bulk", cell).values
        assert len(bulk) == 2 * max(count - 1, 0)
        np.testing.assert_allclose(bulk, -bulk[::-1], atol=1e-15)


def test_growth_is_what_the_doubled_points_add(data):
    assert data["growth"] == pytest.approx(1 + (sample()["x"] < 0).mean())


def test_signs_are_as_asked_and_sizes_are_not_touched():
    v, w = study._weights(config(width=6, positive_units=2))
    assert (v > 0).tolist() == [True, True, False, False, False, False]
    other, same = study._weights(config(width=6, positive_units=5))
    assert v.abs().tolist() == other.abs().tolist()
    assert w.tolist() == same.tolist()


def test_figure_shows_every_eigenvalue_with_its_cell(data):
    (by_cell, bulk), (errors, text) = draw(data).axes, controls(data)
    error, mass = errors.axes
    for axes in (by_cell, error, mass):
        assert axes.get_xlabel()
        assert axes.get_ylabel()
    rings = [line for line in by_cell.lines if line.get_markerfacecolor() == "none"]
    drawn = {(line.get_color(), *point) for line in rings for point in line.get_xydata().tolist()}
    cells = zip(data["cell"].values, data["exact"].values, strict=True)
    assert drawn == {
        (style.COLOURS[f"cell {cell}"], rank, value) for rank, (cell, value) in enumerate(cells, 1)
    }
    assert len(error.lines[0].get_ydata()) == len(mass.lines[0].get_ydata()) == 10
    assert bulk.get_yticklabels()[0].get_text() == "outliers −"
    assert "5 hidden units, 3 of them" in caption(data)
    assert undrawn(draw(data), caption(data)) + undrawn(errors, text) == []


@pytest.mark.parametrize("positive", [0, 4])
def test_figure_can_do_without_one_cell(positive):
    data = data_of(width=4, positive_units=positive)
    assert len(draw(data).axes) == len(controls(data)[0].axes) == 2
