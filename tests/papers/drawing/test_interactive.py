"""The numbers of a figure as a script for the page's charts."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.interactive import RECEIVER, script, signs


def numbers(text: bytes) -> dict:
    start = f'{RECEIVER}("key",'
    line = text.decode()
    assert line.startswith(start)
    assert line.endswith(");\n")
    return json.loads(line[len(start) : -3])


def test_a_script_has_the_series_with_names_in_plain_signs():
    figure = Figure()
    upper, lower = figure.subplots(2, 1)
    for axes in (upper, lower):
        axes.plot(np.arange(50), np.sin(np.arange(50)), label=r"$\lambda_1$")
    lower.set(xlabel="step", ylabel=r"$\lambda_1$", title="(b)")
    panels = series(figure)
    first, second = numbers(script("key", panels))
    for actual, expected in zip((first, second), panels, strict=True):
        (curve,) = actual["curves"]
        assert curve == expected["curves"][0] | {"name": "λ_1"}
        assert (actual["x"], actual["scales"]) == ("step", expected["scales"])
    assert (second["title"], second["y"]) == ("(b)", "λ_1")


def test_what_has_no_curve_or_no_vertical_axis_has_no_script():
    figure = Figure()
    picture, cases = figure.subplots(1, 2)
    picture.imshow([[1.0, 2.0]])
    cases.plot([0.5], [1.0], "o", label="one below the other")
    assert script("key", series(figure)) == b""
    cases.set_ylabel("error")
    assert [panel["y"] for panel in numbers(script("key", series(figure)))] == ["error"]
    assert script("key", []) == b""


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("step", "step"),
        (r"$\mathrm{tr}(H)$", "tr(H)"),
        (r"$\pm\,\overline{\delta x}$", "± mean of δ x"),
        ("two\nlines", "two lines"),
        (r"$v^\top F v$", "vᵀ F v"),
    ],
)
def test_labels_are_in_plain_signs(label, text):
    assert signs(label) == text
