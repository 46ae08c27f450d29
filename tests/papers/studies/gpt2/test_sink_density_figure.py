"""The figure of sinks and spectra: every rung, both ends, every network and control."""

import numpy as np
import pytest
from sink_runs import UNIFORM, recorded, without_a_sink

from hessian_papers.studies.gpt2.sink_density import figure
from hessian_spectra.pictures import style


@pytest.fixture(scope="module")
def data():
    return without_a_sink()


@pytest.fixture(scope="module")
def panels(data):
    """The density, and the panels of the second picture by their letters."""
    (density,), second = figure.draw(data).axes, figure.controls(data)[0].axes
    return {"density": density} | {panel.get_title(loc="left")[1]: panel for panel in second}


def test_each_rung_has_a_density_with_its_ends(panels, data):
    ends = [line for line in panels["density"].lines if line.get_marker() == "|"]
    for place, line in enumerate(ends):
        expected = data["eigenvalue"].isel(seed=0, edit=0, rung=place)
        np.testing.assert_array_equal(np.sort(line.get_xdata()), np.sort(expected))
    texts = [text.get_text() for text in panels["density"].get_legend().get_texts()]
    assert texts == ["0.04, no edit", "0.20", "0.40", "0.60", "0.81", "as released"]
    assert len(panels["density"].collections) == len(ends) == 5  # the error bands
    low, high = panels["density"].get_xlim()
    assert low < data["eigenvalue"][0, 0].min() < data["eigenvalue"][0, 0].max() < high


@pytest.mark.parametrize(("letter", "end"), [("a", "largest"), ("b", "smallest")])
def test_both_ends_are_drawn_of_each_network_and_control(panels, data, letter, end):
    drawn = [tuple(line.get_ydata()) for line in panels[letter].lines]
    values = data.sel(end=end)
    own = values["eigenvalue"][:, 0, 0]
    for edit in data["edit"].values:
        ratio = (values["eigenvalue"].sel(edit=edit) / own).values
        if edit != "first-token":
            ratio = np.stack([np.ones(len(ratio)), ratio[:, -1]], axis=1)
        # The last network has no sink to remove.
        ratio = ratio[np.isfinite(ratio[:, -1])]
        assert len(ratio) == 3 - (edit == "no-sink")
        for item in (*ratio, ratio.mean(axis=0)):
            assert tuple(item) in drawn


def test_sinks_of_training_are_drawn_of_each_head(panels):
    colours = [line.get_color() for line in panels["f"].lines]
    # Three networks of six blocks of six heads, the first of which has the sink.
    assert colours.count(style.VERMILION) == 3 * 6 + 1
    assert colours.count(style.SKY) == 3 * 6 * 5 + 1
    uniform = next(line for line in panels["f"].lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(uniform.get_ydata(), UNIFORM)


def test_the_removed_sink_stands_at_its_own_attention(panels, data):
    *_, mean = (line for line in panels["a"].lines if line.get_marker() == "v")
    own = float(data["mass"][:2, 0, 0].mean())
    np.testing.assert_allclose(mean.get_xdata(), [own, UNIFORM])


def test_a_run_of_older_code_is_drawn_without_them(data):
    older = recorded().drop_vars(["ggn", "operation_part", "functional"]).drop_sel(edit="no-sink")
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
