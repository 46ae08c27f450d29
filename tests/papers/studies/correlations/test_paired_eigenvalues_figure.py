"""The figure of paired eigenvalues shows every point, and its caption what chance would reach."""

import numpy as np
import pytest
from paired_arrays import CASES, data_of, flattened, four_relu_layers, sides

from hessian_papers.studies.correlations.paired_eigenvalues import figure
from hessian_papers.studies.correlations.paired_eigenvalues.derived import distances


@pytest.fixture(scope="module")
def two_layers():
    return data_of(sides())


@pytest.fixture(scope="module")
def four_layers():
    return data_of(four_relu_layers())


def test_every_point_is_drawn(two_layers):
    panels = figure.draw(two_layers).axes
    assert len(panels) == 8
    assert panels[0].get_ylabel()
    assert [bool(panel.get_xlabel()) for panel in panels] == 6 * [False] + 2 * [True]
    # (a): all sizes at width 5 for the pair, the second distance and the mean eigenvalue.
    assert [line.get_xdata().tolist() for line in panels[0].lines] == [[1, 2, 5]] * 3
    smallest = panels[0].lines[0].get_ydata()
    drawn = distances(two_layers).sel(case=CASES[0], width=5, size=[1, 2, 5], pair="best")
    np.testing.assert_allclose(smallest, drawn.median("network"))


def test_two_widths_stand_side_by_side_on_one_axis_that_no_band_leaves(two_layers):
    """Four beside each other were too small to read on a narrow page."""
    drawn = figure.draw(two_layers)
    assert drawn.get_figwidth() <= 4.5
    for left, right in zip(drawn.axes[::2], drawn.axes[1::2], strict=True):
        (first, _), (second, _) = (
            axes.get_title("left")[4:].split("$m$") for axes in (left, right)
        )
        assert first == second
        assert left.get_ylim() == right.get_ylim()
        bands = [
            band.get_datalim(band.axes.transData)
            for band in (*left.collections, *right.collections)
        ]
        assert max(band.y1 for band in bands) <= left.get_ylim()[1]


def test_of_one_width_the_kinds_of_data_stand_side_by_side(four_layers):
    drawn = figure.draw(four_layers)
    titles = [axes.get_title("left") for axes in drawn.axes if axes.axison]
    assert len(titles) == four_layers.sizes["case"]
    assert drawn.axes[0].get_gridspec().ncols == 2


def test_a_distance_of_zero_is_at_the_foot_beside_others_that_are_not(two_layers):
    panel = figure.draw(two_layers).axes[2]
    marks = [line for line in panel.lines if line.get_marker() == "v"]
    assert [line.get_xdata().tolist() for line in marks] == [[1]]
    assert marks[0].get_ydata()[0] == panel.get_ylim()[0]


def test_chance_and_what_is_known_are_controls(two_layers, four_layers):
    assert "linear networks of 2 layers, one output, width 5 and 12; 8 at each point" in (
        figure.caption(two_layers)
    )
    assert "Width 150 is not run" in figure.caption(four_layers)
    for data, lines in ((two_layers, 5), (four_layers, 3)):
        drawn, text = figure.controls(data)
        # Both distances and chance; rings, twice.
        assert len(drawn.axes[0].lines) == lines
        assert "19 spectra per network" in text
        assert ("Rings: the exact spectrum" in text) == (lines == 5)


@pytest.mark.parametrize("networks", [[0], slice(None)])
def test_networks_without_curvature_are_left_out(networks):
    data = data_of(flattened(four_relu_layers(), networks))
    panels = figure.draw(data).axes
    lines = [line for line in panels[0].lines if line.get_marker() != "None"]
    assert bool(lines) == (networks == [0])
    assert all((line.get_ydata() > 0).all() for line in lines)
    assert ("all Hessians are zero" in figure.caption(data)) == (networks != [0])


def test_a_second_pair_that_is_not_there_is_not_drawn():
    data = data_of(sides(cases=CASES[:1], widths=[1, 2], samples=[9, 9], sizes=[1, 2]))
    smallest, second = figure.draw(data).axes[0].lines[:2]
    assert smallest.get_xdata().tolist() == [1]
    assert second.get_xdata().tolist() == []
