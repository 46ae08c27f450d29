"""The pictures of variables: what is drawn, how curves are told apart, and their axes."""

import numpy as np
import pytest
import xarray as xr

from hessian_papers.drawing.errors import FLOOR, ROUNDING
from hessian_papers.drawing.variables import Panel, banded, named, picture
from hessian_spectra.pictures import style

STEPS = np.arange(5)


def values(dims="step", **labels):
    """Numbers from 1 on along the steps, and along labelled dimensions before them."""
    labels = {"step": STEPS, **labels}
    shape = [len(labels[dim]) if dim in labels else 3 for dim in dims.split()]
    coordinates = {dim: labels[dim] for dim in dims.split() if dim in labels}
    return xr.DataArray(1.0 + np.arange(np.prod(shape)).reshape(shape), coordinates, dims.split())


def lines(figure, panel=0):
    return figure.axes[panel].lines


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_labels_are_told_apart_by_colour_then_by_marker_and_named():
    numbers = values("norm kind step", norm=[0.5, 2.0], kind=["a", "b"]).rename("exact")
    looks = {"exact": {"label": ""}, "b": {"label": "second", "linestyle": ":"}}
    figure = picture([Panel("all", "step", [numbers])], looks)
    drawn = lines(figure)
    for line, expected in zip(drawn, numbers.values.reshape(4, 5), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.stack([STEPS, expected], axis=1))
    colours = [tuple(line.get_color()) for line in drawn]
    assert (colours[0], colours[2]) == (colours[1], colours[3])
    assert colours[0] != colours[2]
    assert [line.get_marker() for line in drawn] == ["o", "s"] * 2
    assert drawn[3].get_label() == "norm 2, second"
    assert [line.get_linestyle() for line in drawn] == ["-", ":"] * 2
    assert legend(figure) == ["norm 0.5", "a", "second", "norm 2"]
    assert figure.axes[0].get_title(loc="left") == "(a) all"


def test_what_repeats_looks_alike_beneath_its_mean():
    numbers = values("seed step")
    *each, mean = lines(picture([Panel("", "step", [numbers])]))
    assert [line.get_linewidth() for line in each] == [0.5] * 3
    np.testing.assert_array_equal(mean.get_ydata(), numbers.mean("seed"))
    apart = values("other step")
    assert len(lines(picture([Panel("", "step", [apart])]))) == 3


def test_curves_have_places_of_their_own_and_leave_out_what_is_unknown():
    numbers = values("step").where(STEPS != 2)
    numbers = numbers.assign_coords(place=("step", STEPS**2))
    (line,) = lines(picture([Panel("", "place", [numbers, numbers * np.nan])]))
    np.testing.assert_array_equal(line.get_xydata(), [[0, 1], [1, 2], [9, 4], [16, 5]])


def test_points_that_look_alike_are_one_curve():
    numbers = values("seed step").where(STEPS != 2).rename("each")
    (line,) = lines(picture([Panel("", "step", [numbers])], {"each": {"linestyle": "none"}}))
    assert sorted(line.get_ydata()) == sorted(numbers.values[:, STEPS != 2].ravel())


def test_an_interval_is_a_band_around_its_curve():
    numbers = values("kind step", kind=["a", "b"])
    figure = picture([Panel("", "step", [banded(numbers, numbers - 1, numbers + 2)])])
    assert [line.get_ydata().tolist() for line in lines(figure)] == numbers.values.tolist()
    for band, line in zip(figure.axes[0].collections, lines(figure), strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == (line.get_ydata()[0] - 1, line.get_ydata()[-1] + 2)


def test_a_number_is_a_level():
    level = xr.DataArray(7.0, name="edge")
    looks = {"edge": {"label": "2/η"}}
    more = [style.entry("more")]
    figure = picture([Panel("", "step", [values(), level])], looks, entries=more)
    _, across = lines(figure)
    assert (across.get_ydata()[0], across.get_linestyle()) == (7.0, "--")
    assert legend(figure) == ["more", "2/η"]


def test_errors_have_the_axis_of_rounding_on_which_none_at_all_shows():
    errors = named(0 * values("step"), "relative error", rounding=True)
    axes = picture([Panel("", "step", [errors])]).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.full(5, FLOOR))
    assert (axes.get_yscale(), axes.get_ylabel()) == ("log", "relative error")
    (band,) = axes.patches
    low, high = band.get_extents().transformed(axes.transData.inverted()).intervaly
    assert axes.get_ylim()[0] <= low * (1 + 1e-9) < FLOOR < high <= ROUNDING * (1 + 1e-9)
    assert [text.get_text() for text in axes.texts] == ["below the rounding of one number"]
    assert 1.0 + ROUNDING == 1.0 < 1.0 + 1.1 * 2 * ROUNDING


@pytest.mark.parametrize(
    ("factor", "scale"), [(1.0, "linear"), (-1.0, "linear"), (np.array([1, 2, 3, 4, 90.0]), "log")]
)
def test_an_axis_of_what_spans_decades_is_logarithmic(factor, scale):
    numbers = (factor * values("step")).rename(step="place").assign_coords(place=1.0 + STEPS)
    wide = numbers.assign_coords(place=10.0**STEPS)
    assert picture([Panel("", "place", [numbers])]).axes[0].get_yscale() == scale
    assert picture([Panel("", "place", [wide])]).axes[0].get_xscale() == "log"


def test_panels_stand_in_rows_and_draw_what_else_there_is():
    panels = [Panel("", "step", [values()], lambda axes: axes.axvline(2)) for _ in range(4)]
    figure = picture(panels, columns=3)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["(a) ", "(b) ", "(c) ", "(d) "]
    assert [len(axes.lines) for axes in figure.axes] == [2] * 4
    assert not figure.legends
