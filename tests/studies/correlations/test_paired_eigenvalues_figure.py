"""The figure of paired eigenvalues shows every point, and its caption what chance would reach."""

import numpy as np
import pytest
from paired_arrays import four_relu_layers, sides

from hessian_spectra.studies.correlations.paired_eigenvalues import figure
from hessian_spectra.studies.correlations.paired_eigenvalues.reading import Reading


@pytest.fixture(scope="module")
def two_layers():
    return Reading(sides())


@pytest.fixture(scope="module")
def four_layers():
    return Reading(four_relu_layers())


def test_every_point_is_drawn(two_layers):
    panels = figure.draw(two_layers).axes
    assert len(panels) == 8
    assert panels[0].get_ylabel()
    assert all(panel.get_xlabel() for panel in panels[4:])
    # (a): all sizes at width 5 for the pair, the second distance and chance; rings, twice.
    assert [line.get_xdata().tolist() for line in panels[0].lines] == [[1, 2, 5]] * 6
    smallest = panels[0].lines[0].get_ydata()
    np.testing.assert_allclose(smallest, np.median(two_layers.distances[:3, :, 0], axis=1))


def test_a_distance_of_zero_is_at_the_foot_beside_others_that_are_not(two_layers):
    panel = figure.draw(two_layers).axes[1]
    marks = [line for line in panel.lines if line.get_marker() == "v"]
    assert [line.get_xdata().tolist() for line in marks] == [[1]]
    assert marks[0].get_ydata()[0] == panel.get_ylim()[0]


def test_the_caption_says_how_often_chance_is_beaten(two_layers):
    text = figure.caption(two_layers)
    assert "linear networks of 2 layers with one output, width 5 and 12, 8 networks" in text
    assert "orthogonal, decorrelated: the second distance is" in text
    assert "beyond chance in 100.0% of the networks with D > 1" in text
    assert "by chance 5.0% of the networks" in text
    assert "Rings: the exact spectrum" in text


def test_what_is_not_run_is_said(four_layers):
    text = figure.caption(four_layers)
    assert "The paper's width 150 is not run" in text
    assert "Rings" not in text
    assert len(figure.draw(four_layers).axes) == 4


def test_one_case_alone_is_drawn():
    reading = Reading(sides(cases=["sp-normalised"], widths=[5], samples=[20], sizes=[2]))
    assert len(figure.draw(reading).axes) == 1
    assert "SP, normalised: the second distance is" in figure.caption(reading)
