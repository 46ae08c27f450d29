"""The numbers of a figure as a script for the page's charts."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.interactive import LARGEST, RECEIVER, script, signs


def numbers(text: bytes) -> dict:
    start = f'{RECEIVER}("key",'
    line = text.decode()
    assert line.startswith(start)
    assert line.endswith(");\n")
    return json.loads(line[len(start) : -3])


def drawn(curves: int = 1, points: int = 50, panels: int = 1) -> list:
    figure = Figure()
    grid = figure.subplots(panels, 1, squeeze=False)[:, 0]
    for axes in grid:
        for curve in range(curves):
            axes.plot(np.arange(points), np.sin(np.arange(points) + curve), label=f"curve {curve}")
    grid[0].set(ylabel=r"$\lambda_1$", title="(a)")
    grid[-1].set(xlabel="step")
    return series(figure)


def test_the_numbers_are_those_of_the_record():
    panels = drawn(curves=2)
    content = numbers(script("key", panels))
    assert content["part"] == 1
    (actual,), (panel,) = content["panels"], panels
    assert len(actual["places"]) == 1, "both curves have the same places"
    for curve, expected in zip(actual["curves"], panel["curves"], strict=True):
        assert curve["name"] == expected["name"]
        assert actual["places"][curve["at"]] == expected["x"]
        assert curve["y"] == expected["y"]


def test_panels_without_a_name_at_an_axis_have_that_of_their_row_or_column():
    content = numbers(script("key", drawn(panels=3)))
    assert [panel["x"] for panel in content["panels"]] == ["step"] * 3
    assert [panel["y"] for panel in content["panels"]] == ["λ_1"] * 3


def test_a_script_is_small_whatever_is_drawn_and_says_so():
    panels = drawn(curves=12, points=400, panels=4)
    text = script("key", panels)
    assert len(text) <= LARGEST
    content = numbers(text)
    assert 0 < content["part"] < 1
    for panel, expected in zip(content["panels"], panels, strict=True):
        for curve, whole in zip(panel["curves"], expected["curves"], strict=True):
            places = panel["places"][curve["at"]]
            assert places == sorted(set(places))
            assert [places[0], places[-1]] == [whole["x"][0], whole["x"][-1]]
            points = set(zip(whole["x"], whole["y"], strict=True))
            assert set(zip(places, curve["y"], strict=True)) <= points


def test_what_has_no_curve_has_no_script():
    figure = Figure()
    figure.subplots().imshow([[1.0, 2.0]])
    assert script("key", series(figure)) == b""
    assert script("key", []) == b""


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("step", "step"),
        (r"$\mathrm{tr}(H)$", "tr(H)"),
        (r"$\pm\,\overline{\delta x}$", "± mean of δ x"),
        ("two\nlines", "two lines"),
    ],
)
def test_labels_are_in_plain_signs(label, text):
    assert signs(label) == text
