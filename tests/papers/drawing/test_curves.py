"""The series of a figure: which lines, their names and points, and which panel tells the most."""

import numpy as np
import pytest
from matplotlib.lines import Line2D

from hessian_papers.drawing import curves
from hessian_papers.drawing.interactive import chart
from hessian_spectra.pictures import style

X = np.arange(1.0, 6.0)


def two_panels():
    """One name in the first panel, two in the second."""
    figure, (first, second) = style.panels(1, 2)
    first.plot(X, X, label="identity")
    first.set(xlabel="x", ylabel="y")
    style.letter(first, "(a)")
    second.plot(X, X**2, label="squares")
    second.plot(X, X**3, label="cubes")
    style.letter(second, "(b)")
    return figure


def test_the_main_panel_has_the_most_names_unless_one_is_marked():
    figure = two_panels()
    actual = chart(curves.series(figure))
    assert actual["title"] == "(b)"
    assert [curve["name"] for curve in actual["curves"]] == ["squares", "cubes"]
    curves.main(figure.axes[0])
    actual = chart(curves.series(figure))
    assert {name: actual[name] for name in "xy"} | {"title": actual["title"]} == {
        "title": "(a)", "x": "x", "y": "y",
    }  # fmt: skip
    line = {"name": "identity", "drawn": "line", "x": X.tolist(), "y": X.tolist()}
    assert actual["curves"] == [line]


def test_a_panel_of_a_grid_has_the_names_of_its_column_and_row():
    figure, grid = style.panels(2, 2)
    for axes in grid.flat:
        axes.plot(X, X, label="identity")
    grid[1, 0].set_xlabel("width")
    grid[1, 1].set_xlabel("depth")
    grid[0, 0].set_ylabel("error")
    names = [(panel["x"], panel["y"]) for panel in curves.series(figure)]
    assert names == [("width", "error"), ("depth", "error"), ("width", ""), ("depth", "")]


@pytest.mark.parametrize("of_figure", [True, False])
def test_a_line_is_named_by_the_entry_that_looks_like_it(of_figure):
    figure, axes = style.panels()
    axes.plot(X, X, color="C1", linestyle="--")
    axes.plot(X, X + 1, color="C1")
    axes.axhline(0, color="C3")
    handle = Line2D([], [], color="C1", linestyle="--", label="dashed")
    (figure if of_figure else axes).legend(handles=[handle])
    dashed, other = chart(curves.series(figure))["curves"]
    assert (dashed["name"], dashed["y"]) == ("dashed", X.tolist())
    assert other["name"] == ""


def test_a_curve_of_few_points_is_one_if_it_has_marks():
    figure, axes = style.panels()
    axes.plot([0, 1], [0, 1], label="ends of a guide")
    axes.plot(X, np.full(5, np.nan), "o", label="lost")
    axes.plot([0.5], [0.1], "^", transform=axes.get_xaxis_transform(), label="mark along a side")
    assert curves.series(figure) == []
    assert chart(curves.series(figure)) == {}
    axes.plot([1, 2], [3, 4], "o-", label="two sizes")
    axes.plot([1], [5], "o-", label="one size")
    actual = [(c["name"], c["drawn"], c["x"]) for c in chart(curves.series(figure))["curves"]]
    assert actual == [("two sizes", "line", [1.0, 2.0]), ("one size", "points", [1.0])]


def test_a_figure_without_names_has_a_main_panel_too():
    figure, (first, second) = style.panels(1, 2)
    first.plot(X, X)
    second.plot(X, X)
    style.letter(first, "(a)")
    style.letter(second, r"(b) $\lambda_1$")
    assert chart(curves.series(figure))["title"] == "(a)"
    curves.main(second)
    assert chart(curves.series(figure))["title"] == "(b) λ_1"


def test_long_curves_are_thinned_evenly_from_end_to_end():
    figure, axes = style.panels()
    x = np.linspace(0, 1, 10 * curves.POINTS)
    axes.plot(x, np.pi * x, label="line")
    (curve,) = chart(curves.series(figure))["curves"]
    assert len(curve["x"]) == curves.POINTS
    assert (curve["x"][0], curve["x"][-1]) == (0.0, 1.0)
    assert np.diff(curve["x"]).max() < 1.3 / curves.POINTS
    np.testing.assert_allclose(curve["y"], np.pi * np.array(curve["x"]), rtol=1e-5, atol=1e-9)


def test_series_have_all_that_the_panels_draw():
    figure, (first, second, _) = style.panels(1, 3)
    first.set(xlabel="width m", ylabel="sharpness", xscale="log")
    first.plot(X, X**2, label="theory")
    first.plot(X, X**2 + 1, "o", color="C2")
    first.fill_between(X, X, X + 1)
    first.axhline(1e-10)
    first.axvline(3)
    second.imshow([[0.25, np.nan], [1.0, 0.5]])
    style.letter(first, "(a)")
    panel, pictures = curves.series(figure)
    assert [panel[name] for name in ("title", "x", "y")] == ["(a)", "width m", "sharpness"]
    assert panel["scales"] == ["log", "linear"]
    assert [(curve["name"], curve["drawn"]) for curve in panel["curves"]] == [
        ("theory", "line"),
        ("", "points"),
    ]
    assert panel["curves"][0]["y"] == (X**2).tolist()
    (band,) = panel["bands"]
    assert (min(band["y"]), max(band["y"])) == (1.0, 6.0)
    assert panel["thresholds"] == [{"axis": "y", "value": 1e-10}, {"axis": "x", "value": 3.0}]
    assert pictures["images"] == [[[0.25, None], [1.0, 0.5]]]


@pytest.mark.parametrize("sizes", [[], [2.0], [2.0, 3.0]])
def test_marks_along_a_side_are_no_lines_across_the_panel(sizes):
    figure, axes = style.panels()
    axes.plot(X, X)
    axes.axvline(4)
    place = axes.get_xaxis_transform()
    axes.plot(sizes, np.full(len(sizes), 0.03), "^", transform=place)
    axes.plot([], [], transform=place)
    (panel,) = curves.series(figure)
    assert panel["thresholds"] == [{"axis": "x", "value": 4.0}]
