"""Two states' series in one picture: which panels differ, and what lies beneath what."""

import copy

import numpy as np
import pytest
from matplotlib.figure import Figure

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.overlay import OLD, compared, counterparts, differing, underlay
from hessian_spectra.pictures import rendered, style

X = np.linspace(1.0, 2.0, 5)


def drawn(scale="linear"):
    """A figure of two panels, a curve in one and an image in the other."""
    figure, (curve, image) = style.panels(1, 2)
    curve.plot(X, X**2, label="squares")
    curve.fill_between(X, X, X**2)
    curve.set(title="curve", xlabel="x", xlim=(1.0, 2.0))
    curve.set_yscale(scale)
    image.imshow(np.eye(3))
    return figure


@pytest.fixture
def panels():
    return series(drawn())


def changed(panels, **values):
    """A copy of which the curve has other values."""
    result = copy.deepcopy(panels)
    result[0]["curves"][0].update(values)
    return result


def test_numbers_that_are_rounded_otherwise_are_the_same(panels):
    y = np.array(panels[0]["curves"][0]["y"])
    assert differing(panels, changed(panels, y=[*(y * (1 + 1e-6))])) == []
    assert differing(panels, changed(panels, y=[*(y * (1 + 1e-3))])) != []


@pytest.mark.parametrize("change", [{"y": [0.0] * 5}, {"x": [1.0], "y": [1.0]}, {"name": "cubes"}])
def test_a_curve_that_is_another_one_makes_its_panel_differ(panels, change):
    other = changed(panels, **change)
    assert differing(panels, other) == [(panels[0], other[0])]


def test_an_image_of_which_one_number_is_another_one_differs(panels):
    other = copy.deepcopy(panels)
    other[1]["images"][0][0][0] = None
    assert differing(panels, other) == [(panels[1], other[1])]


def test_where_there_are_more_panels_titles_tell_which_is_which(panels):
    more = [{**panels[1], "title": "new"}, *panels]
    assert [old and old["title"] for old, _ in counterparts(panels, more)] == [None, "curve", ""]
    assert differing(panels, more) == [(None, more[0])]


def test_the_old_curve_is_pale_and_beneath_in_one_scale(panels):
    other = series(drawn("symlog"))
    (pair,) = differing(panels, other)
    (axes,) = compared([pair], ("before", "after")).axes
    old, new = axes.lines
    assert (old.get_color(), new.get_color()) == (OLD["color"], style.BLUE)
    assert old.get_zorder() < new.get_zorder()
    assert axes.get_yscale() == "symlog"


def test_images_stand_side_by_side_in_the_same_colours(panels):
    other = copy.deepcopy(panels)
    other[1]["images"][0][0][0] = 7.0
    figure = compared(differing(panels, other), ("before", "after"))
    shown = [axes.images[0] for axes in figure.axes if axes.images and axes.get_title(loc="left")]
    assert [image.get_clim() for image in shown] == [(0.0, 7.0)] * 2
    assert [image.get_array().max() for image in shown] == [1.0, 7.0]
    assert [axes.get_title(loc="left").split(", ")[-1] for axes in figure.axes[:2]] == [
        "before",
        "after",
    ]


def test_what_lies_beneath_is_in_the_picture_and_seen_as_a_whole(panels):
    figure, plain = drawn(), drawn()
    underlay(figure, changed(panels, x=[0.5, 2.0, 3.0], y=[9.0, 1.0, 9.0]))
    (axes, _) = figure.axes
    assert axes.get_xlim() == (0.5, 3.0)
    assert axes.lines[-1].get_zorder() < axes.lines[0].get_zorder()
    assert rendered(figure, ["svg"]) != rendered(plain, ["svg"])


def drawn_over(labels, **old):
    """The limits of a figure's panel before and after old points lie beneath, and how many do."""
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1, 2], [1.0, 2.0, 3.0])
    if labels:
        axes.set_xticks([0, 1, 2], labels)
    limits = axes.get_xlim()
    count = len(axes.lines)
    curve = {"name": "", "drawn": "line", "y": [1.0, 2.0, 3.0], **old}
    underlay(figure, [{"title": "", "bands": [], "curves": [curve]}])
    return limits, axes.get_xlim(), len(axes.lines) - count


def test_cases_that_stand_by_their_names_have_nothing_beneath():
    """The third of nine sinks is not the third of three."""
    *_, more = drawn_over(["0.1", "0.7", "1"], x=[0, 1, 2])
    assert more == 0
    *_, more = drawn_over(None, x=[0, 1, 2])
    assert more == 1


def test_far_old_points_do_not_squeeze_a_figure():
    before, after, _ = drawn_over(None, x=[0, 50, 100])
    assert after == before
    before, after, _ = drawn_over(None, x=[0, 2, 5])
    assert after[1] > before[1]
