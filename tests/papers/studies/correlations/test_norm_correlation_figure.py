"""The figures of norms and sharpness show every number, and say how training ended."""

import numpy as np
import pytest
import xarray as xr
from ensemble_arrays import ensemble, replaced
from point_studies import norms_config as config

from hessian_papers.studies.correlations import drawing
from hessian_papers.studies.correlations.ensembles import unfinished
from hessian_papers.studies.correlations.norm_correlation import figure, study

FIRST = {"parametrisation": "sp", "time": "initialisation"}


def read(networks, **changes):
    return study.correlation(config(**changes), networks)


def along_depth(networks, *quantities):
    return read(
        networks,
        quantities=list(quantities),
        norms=["spectral"],
        along="depth",
        depths=[],
        sizes=[3],
    )


@pytest.fixture(scope="module")
def wide():
    return ensemble(sizes=(1, 2, 3, 10), noise=0.2)


@pytest.fixture(scope="module")
def deep():
    return ensemble(depths=(2, 3, 4), sizes=(3,), noise=0.2)


def values_of(data, name, **labels):
    """All values of a statistic that are defined, in order."""
    values = data[name].sel(estimate="value", **labels).values.ravel()
    return np.sort(values[np.isfinite(values)])


def drawn(axes):
    """All finite heights of the lines of a panel, less the line at zero."""
    lines = [line for line in axes.lines if len(line.get_xdata()) > 0]
    heights = [np.asarray(line.get_ydata(), dtype=float) for line in lines[:-1]]
    return np.sort(np.concatenate([h[np.isfinite(h)] for h in heights]))


def test_every_correlation_is_a_point(wide):
    data = read(wide)
    panels = figure.draw(data).axes
    assert len(panels) == 2 * 3
    for row, name in enumerate(data["parametrisation"].values):
        of = {"parametrisation": name}
        for column, time in enumerate(data["time"].values):
            expected = values_of(data, "correlation", time=time, **of)
            np.testing.assert_array_equal(drawn(panels[3 * row + column]), expected)
        lead = values_of(data, "best_norm_lead", norm="spectral", **of)
        np.testing.assert_array_equal(drawn(panels[3 * row + 2]), lead)


def test_many_layers_are_lines_along_size_and_along_depth():
    networks = ensemble(depths=(2, 9), sizes=(1, 3), noise=0.2)
    along_size = read(networks, depths=[9], norms=["spectral"])
    for data, layers in ((along_size, 9), (along_depth(networks, "matrices"), 9)):
        panel = figure.draw(data).axes[0]
        names = [text.get_text() for text in panel.figure.legends[0].get_texts()]
        assert len([name for name in names if name.startswith("$W")]) == layers
        np.testing.assert_array_equal(drawn(panel), values_of(data, "correlation", **FIRST))


@pytest.mark.parametrize("quantities", [("products",), ("matrices", "products")])
def test_every_layer_is_a_line(deep, quantities):
    data = along_depth(deep, *quantities)
    panels = figure.draw(data).axes
    first = values_of(data, "correlation", group=quantities[0], **FIRST)
    np.testing.assert_array_equal(drawn(panels[0]), first)
    lead = "group_lead" if len(quantities) == 2 else "last_lead"
    np.testing.assert_array_equal(drawn(panels[2]), values_of(data, lead, parametrisation="sp"))


def test_alignments_are_drawn_and_compared_with_the_matrices(wide):
    data = read(wide, quantities=["alignments", "matrices"])
    panels = figure.draw(data).axes
    expected = values_of(data, "correlation", group="alignments", **FIRST)
    np.testing.assert_array_equal(drawn(panels[0]), expected)
    assert "best alignment" in panels[2].get_ylabel()
    assert "absolute alignments" in figure.caption(data)


def test_nothing_lies_outside_the_axes(wide, deep):
    for data in (read(wide), along_depth(deep, "products")):
        for axes in figure.draw(data).axes:
            low, high = axes.get_ylim()
            left, right = axes.get_xlim()
            for line in axes.lines[:-1]:
                y, x = np.asarray(line.get_ydata(), float), np.asarray(line.get_xdata(), float)
                assert ((y >= low) & (y <= high))[np.isfinite(y)].all()
                assert ((x >= left) & (x <= right)).all()


def test_panels_are_labelled(wide):
    panels = figure.draw(read(wide)).axes
    assert [axes.get_title("left")[:3] for axes in panels] == [f"({c})" for c in "abcdef"]
    assert all(axes.get_xlabel() for axes in panels[3:])
    assert all(axes.get_ylabel() for axes in panels[::3] + panels[2::3])
    (legend,) = panels[0].figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "$W_{2}$, Frobenius" in texts
    assert "share diverged, left out" in texts


def test_the_strip_shows_how_training_ended(wide):
    data = read(wide)
    axes = figure.draw(data).axes[1]
    heights = [bar.get_height() for bar in axes.patches]
    # Of 12 networks one was stopped and one diverged, at each of four sizes.
    np.testing.assert_allclose(heights, [drawing.STRIP / 12] * 8)
    np.testing.assert_allclose([bar.get_y() for bar in axes.patches[4:]], heights[:4])


def test_the_caption_tells_the_setting(wide):
    data = read(wide)
    text = figure.caption(data)
    assert (
        "12 linear networks of width 6 a point, of one teacher; depth 2, D = K = 1, 2, 3, 10"
        in text
    )
    assert "in the right column best spectral − best other norm" in text
    relu = read(replaced(wide, activation="relu"))
    assert "12 ReLU networks" in figure.caption(relu)
    assert "Of 96 networks 8 were stopped by the epoch limit and 8 diverged" in text


def test_a_run_in_which_all_converged_says_so(wide):
    data = read(wide.assign(status=xr.zeros_like(wide["status"])))
    assert "All 96 networks trained until" in figure.caption(data)
    (legend,) = figure.draw(data).legends
    assert not [text for text in legend.get_texts() if "share" in text.get_text()]


def test_points_are_hollow_where_most_networks_were_stopped(wide):
    status = xr.zeros_like(wide["status"])
    status.loc[{"parametrisation": "sp", "size": 2}] = 1  # all networks of the second point
    data = read(wide.assign(status=status))
    stopped = unfinished(data.sel(parametrisation="sp")).tolist()
    assert stopped == [2]
    panels = figure.draw(data).axes
    for place, expected in ((0, []), (1, stopped)):
        hollow = [line for line in panels[place].lines if line.get_markerfacecolor() == "white"]
        assert sorted({x for line in hollow for x in line.get_xdata()}) == expected


def test_each_teacher_is_a_thin_line():
    networks = ensemble(sizes=(2, 3, 10), noise=0.2, teachers=3)
    data = read(networks)
    thin = [line for line in figure.draw(data).axes[2].lines if line.get_alpha() == 0.5]
    assert len(thin) == 2 * 3
    assert "of 3 teachers" in figure.caption(data)
    each = networks.isel(network=slice(4))
    np.testing.assert_allclose(
        data["each_best_norm_lead"].sel(teacher=0),
        read(each)["best_norm_lead"].sel(estimate="value"),
        atol=2e-12,
    )


def test_a_single_size_can_be_drawn(wide):
    data = read(wide, sizes=[1])
    assert len(figure.draw(data).axes) == 6


def test_a_point_where_all_diverged_can_be_drawn(wide):
    sharpness = wide["sharpness"].copy()
    sharpness.loc[{"time": "trained"}] = np.nan
    data = read(wide.assign(sharpness=sharpness))
    panels = figure.draw(data).axes
    assert len(panels[1].lines) == 1
