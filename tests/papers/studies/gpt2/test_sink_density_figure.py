"""The figure of sinks and spectra: every rung, both ends, every network and control."""

import numpy as np
import pytest
from planted_sinks import EDITS, RUNGS, SEEDS, UNIFORM, data_of, ladder

from hessian_papers.studies.gpt2.sink_density import figure
from hessian_spectra.pictures import style


@pytest.fixture(scope="module")
def data():
    return data_of(ladder())


@pytest.fixture(scope="module")
def panels(data):
    """The density, and the panels of the second picture by their letters."""
    (density,), second = figure.draw(data).axes, figure.controls(data)[0].axes
    return {"density": density} | {panel.get_title(loc="left")[1]: panel for panel in second}


def test_each_rung_has_a_density_with_its_ends(panels, data):
    lines = panels["density"].lines
    *densities, released = [line for line in lines if line.get_marker() == "None"]
    assert released.get_ydata().argmax() == abs(data["grid"][0, -1]).argmin("point")
    ends = [line for line in lines if line.get_marker() == "|"]
    assert len(densities) == len(ends) == RUNGS
    for place, line in enumerate(ends):
        expected = data["eigenvalue"].isel(seed=0, edit=0, rung=place)
        np.testing.assert_array_equal(np.sort(line.get_xdata()), np.sort(expected))
    assert len({line.get_color() for line in map(tuple_colour, densities)}) == RUNGS
    assert len(panels["density"].collections) == RUNGS  # the error bands
    texts = [text.get_text() for text in panels["density"].get_legend().get_texts()]
    assert texts == ["0.32, no edit", "0.40", "0.60", "0.81", "as released"]
    low, high = panels["density"].get_xlim()
    assert low < data["eigenvalue"].min()
    assert high > data["eigenvalue"][0, 0].max()


def tuple_colour(line):
    line.set_color(tuple(np.atleast_1d(line.get_color())))
    return line


@pytest.mark.parametrize(("letter", "end"), [("a", "largest"), ("b", "smallest")])
def test_both_ends_are_drawn_of_each_network_and_control(panels, data, letter, end):
    drawn = [tuple(line.get_ydata()) for line in panels[letter].lines]
    values = data.sel(end=end)
    own = values["eigenvalue"][:, 0, 0]
    for edit in EDITS:
        ratio = (values["eigenvalue"].sel(edit=edit) / own).values
        if edit != "first-token":
            ratio = np.stack([np.ones(SEEDS), ratio[:, -1]], axis=1)
        # The last network has no sink to remove.
        ratio = ratio[np.isfinite(ratio[:, -1])]
        assert len(ratio) == SEEDS - (edit == "no-sink")
        for item in (*ratio, ratio.mean(axis=0)):
            assert tuple(item) in drawn
    released = [line for line in panels[letter].lines if line.get_marker() == "D"]
    ratio = (values["released_eigenvalue"] / own).mean("seed")[[0, -1]]
    np.testing.assert_allclose(released[0].get_ydata(), ratio)


def test_sinks_of_training_are_drawn_of_each_head(panels):
    colours = [line.get_color() for line in panels["f"].lines]
    assert colours.count(style.VERMILION) == SEEDS * 2 + 1
    assert colours.count(style.SKY) == SEEDS * 2 * 2 + 1
    uniform = next(line for line in panels["f"].lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(uniform.get_ydata(), np.mean(1 / np.arange(1, 17)))


def test_the_removed_sink_stands_at_its_own_attention(panels):
    *_, mean = (line for line in panels["a"].lines if line.get_marker() == "v")
    np.testing.assert_allclose(mean.get_xdata(), [0.32, UNIFORM])


def test_a_run_of_older_code_is_drawn_without_them(data):
    older = data.drop_vars(["ggn", "operation_part", "functional"]).drop_sel(edit="no-sink")
    drawn, caption = figure.controls(older)
    assert len(drawn.axes) == 4
    assert "Gauss-Newton" in figure.controls(data)[1]
    assert "Gauss-Newton" not in caption
    assert "removed" not in caption


def test_a_network_that_is_not_trained_is_drawn_by_points(data):
    panel = figure.controls(data.isel(step=[0]))[0].axes[-1]
    heads = [line for line in panel.lines if line.get_color() == style.SKY]
    assert {line.get_marker() for line in heads} == {"."}
    assert panel.get_xlim() == (0, 1)
