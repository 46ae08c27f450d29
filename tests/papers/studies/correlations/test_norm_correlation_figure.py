"""The figures of norms and sharpness show every number, and say how training ended."""

import numpy as np
import pytest
import xarray as xr
from ensemble_arrays import ensemble, replaced
from point_studies import norms_config as config

from hessian_papers.formulas import plain
from hessian_papers.ledger.bounds import NothingToMeasure
from hessian_papers.studies.correlations.ensembles import unfinished
from hessian_papers.studies.correlations.norm_correlation import figure, study
from hessian_papers.studies.correlations.norm_correlation.derived import with_statistics

FIRST = {"parametrisation": "sp", "time": "initialisation"}


def read(networks, **changes):
    """The study with the statistics that the figure makes of it."""
    data = study.correlation(config(**changes), networks)
    if "lead" in data:
        return data
    lead = "group_lead" if data.sizes["group"] == 2 else "last_lead"
    return with_statistics(data, "correlation", "best_norm_lead", lead)


def along_depth(networks, *quantities, sizes=(3,)):
    deep = {"norms": ["spectral"], "along": "depth", "depths": [], "sizes": list(sizes)}
    return read(networks, quantities=list(quantities), **deep)


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


def test_every_correlation_is_a_point_and_every_lead_one_of_the_controls(wide):
    data = read(wide)
    panels, leads = figure.draw(data).axes, figure.controls(data)[0].axes
    assert (len(panels), len(leads)) == (2 * 2, 2)
    for row, name in enumerate(data["parametrisation"].values):
        of = {"parametrisation": name}
        for column, time in enumerate(data["time"].values):
            expected = values_of(data, "correlation", time=time, **of)
            np.testing.assert_array_equal(drawn(panels[2 * row + column]), expected)
        lead = values_of(data, "best_norm_lead", norm="spectral", **of)
        np.testing.assert_array_equal(drawn(leads[row]), lead)


def test_the_leads_at_two_sizes_are_drawn():
    networks = ensemble(depths=(2, 3, 4), sizes=(1, 3), noise=0.2)
    data = along_depth(networks, "products", sizes=[1, 3])
    panels = figure.draw(data).axes
    for axes, name in zip(panels, data["parametrisation"].values, strict=True):
        np.testing.assert_array_equal(drawn(axes), values_of(data, "lead", parametrisation=name))
    assert "Ŵ_B − best other Ŵ_b" in plain(figure.caption(data))
    with pytest.raises(NothingToMeasure, match="no lead beside what is drawn"):
        figure.controls(data)


@pytest.mark.parametrize("quantities", [("products",), ("matrices", "products")])
def test_every_layer_is_a_line(deep, quantities):
    data = along_depth(deep, *quantities)
    panels = figure.draw(data).axes
    first = values_of(data, "correlation", group=quantities[0], **FIRST)
    np.testing.assert_array_equal(drawn(panels[0]), first)
    lead = "group_lead" if len(quantities) == 2 else "last_lead"
    (of_sp, _) = figure.controls(data)[0].axes
    np.testing.assert_array_equal(drawn(of_sp), values_of(data, lead, parametrisation="sp"))


def test_the_caption_tells_the_setting_and_how_training_ended(wide):
    text = plain(figure.caption(read(wide)))
    assert "Bands: 95 %, Student's t over teachers. Per point" in text
    assert "Per point 12 linear networks of width 6, 1 teacher; D = K = 1, 2, 3, 10; d" in text
    assert text.endswith("depth 2; 8 at the epoch limit; 8 diverged, left out.")
    ended = replaced(wide, activation="relu").assign(status=xr.zeros_like(wide["status"]))
    text = figure.caption(read(ended))
    assert "12 ReLU networks" in text
    assert text.endswith("depth 2.")


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


def test_each_teacher_is_a_thin_line_of_the_controls():
    networks = ensemble(sizes=(2, 3, 10), noise=0.2, teachers=3)
    data = read(networks)
    (first, _) = figure.controls(data)[0].axes
    assert len([line for line in first.lines if line.get_alpha() == 0.5]) == 2 * 3
    assert "of width 6, 3 teachers" in figure.caption(data)
    for name in ("correlation", "best_norm_lead"):
        value = data[name].sel(estimate="value")
        each = data[f"each_{name}"].mean("teacher")
        np.testing.assert_allclose(each.transpose(*value.dims), value, atol=2e-12)


def test_a_point_where_all_diverged_can_be_drawn(wide):
    sharpness = wide["sharpness"].copy()
    sharpness.loc[{"time": "trained"}] = np.nan
    data = read(wide.assign(sharpness=sharpness))
    panels = figure.draw(data).axes
    assert len(panels[1].lines) == 1


def test_a_small_run_is_drawn_as_points_over_the_recorded_one(wide):
    """All of its correlations at their places, on panels that show the recorded run as ever."""
    recorded, small = read(wide), read(ensemble(sizes=(2, 10), noise=0.5))
    panels = zip(figure.draw(recorded).axes, figure.draw_over(recorded, small)[0].axes, strict=True)
    names, times = (recorded[name].values for name in ("parametrisation", "time"))
    places = [(name, time) for name in names for time in times]
    for (plain_panel, panel), (name, time) in zip(panels, places, strict=True):
        crosses = panel.lines[len(plain_panel.lines) :]
        heights = np.sort(np.concatenate([line.get_ydata() for line in crosses]))
        of = {"parametrisation": name, "time": time}
        assert np.array_equal(heights, values_of(small, "correlation", **of))
        assert {*np.concatenate([line.get_xdata() for line in crosses])} == {2, 10}
    _, text = figure.draw_over(recorded, small)
    assert text.startswith(f"The recorded run: {figure.caption(recorded)} Crosses: today's run, ")
    leads = along_depth(wide, "matrices")
    with pytest.raises(NothingToMeasure):
        figure.draw_over(recorded, leads)
