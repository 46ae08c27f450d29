"""Charts in Vega-Lite: what they show of a panel, and that the one specification fits all."""

import json
import re

import numpy as np
import pytest

from hessian_papers.drawing.curves import series
from hessian_papers.drawing.interactive import chart
from hessian_papers.drawing.vega_lite import (
    COLUMNS,
    ROWS,
    document,
    filled,
    rows,
    specification,
    words,
)
from hessian_spectra.pictures import style

X = np.array([1.0, 10.0, 100.0])
# What Vega-Lite calls what is used of it: the definition of each key's value, or of its entries.
KEYS = {
    "chart": "$schema data title transform encoding layer mark width height columns concat resolve",
    "data": "name values",
    "title": "text anchor",
    "transform": "window filter flatten",
    "window": "op as",
    "encoding": "x y order detail color strokeDash shape",
    "channel": "field type title scale legend",
    "scale": "type constant zero color",
    "legend": "orient columns labelLimit",
    "mark": "type filled interpolate color strokeWidth strokeDash opacity size tooltip",
}
CHANNELS = KEYS["encoding"].split()
TYPES = {"quantitative", "nominal", "line", "point", "linear", "log", "symlog"}


def drawn():
    """A figure of two panels with all that a panel can have."""
    figure, (first, second) = style.panels(1, 2)
    first.set(xscale="log", yscale="log", xlabel="width $m$", ylabel="error")
    first.plot(X, 1 / X, label=r"$\lambda_1$")
    first.plot(X, [1.0, 0.0, 2.0], "o")
    first.fill_between(X, 0.5 / X, 2 / X)
    first.axhline(0.1)
    style.letter(first, "(a)")
    second.set(yscale="symlog", ylabel="y")
    second.plot([-1.0, 1.0, 2.0], [-0.25, 0.0, 3.0])
    second.axvline(0.5)
    return figure


def unknown(part, kind):
    """The keys and types of a part of a chart that Vega-Lite does not know."""
    if isinstance(part, list):
        for entry in part:
            yield from unknown(entry, kind)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key not in KEYS[kind].split():
                yield kind, key
            elif key == "type" and value not in TYPES:
                yield kind, value
            elif key in ("layer", "concat"):
                yield from unknown(value, "chart")
            elif kind == "encoding" and key in CHANNELS:
                yield from unknown(value, "channel")
            elif key in KEYS and key != "values":
                yield from unknown(value, key)


def test_charts_are_vega_lite():
    made = document(series(drawn()))
    assert [*unknown(made, "chart")] == []
    assert [*unknown({"mark": {"typ": "line"}}, "chart")] == [("mark", "typ")]
    assert "${" not in json.dumps(made)
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_a_chart_has_the_axes_of_its_panel():
    left, right = document(series(drawn()))["concat"]
    assert left["title"]["text"] == "(a)"
    x, y = left["encoding"]["x"], left["layer"][2]["encoding"]["y"]
    assert (x["title"], x["scale"]["type"]) == ("width m", "log")
    assert (y["title"], y["scale"]["type"]) == ("error", "log")
    near = right["layer"][2]["encoding"]["y"]["scale"]
    assert (near["type"], near["constant"]) == ("symlog", 0.25)
    assert right["encoding"]["x"]["scale"]["type"] == "linear"


def test_rows_have_curves_bands_and_thresholds_and_nothing_without_a_place():
    panel = chart(series(drawn()))
    points = [dict(zip(COLUMNS, row, strict=True)) for row in rows(panel)]
    of = {kind: [p for p in points if p["drawn"] == kind] for kind in ("line", "points", "band")}
    assert [(p["x"], p["y"]) for p in of["line"]] == [(1.0, 1.0), (10.0, 0.1), (100.0, 0.01)]
    assert {(p["curve"], p["legend"]) for p in of["line"]} == {("λ_1", "λ_1")}
    # Zero has no logarithm, and what has no name is called by what it is.
    assert [(p["legend"], p["x"]) for p in of["points"]] == [("points", 1.0), ("points", 100.0)]
    assert {p["edge"] for p in of["band"]} == {0.5, 0.05, 0.005, 2.0, 0.2, 0.02}
    level = [(p["x"], p["edge"]) for p in points if p["drawn"] == "threshold"]
    assert level == [(1.0, 0.1), (100.0, 0.1)]
    assert len({p["piece"] for p in points}) == 4
    assert all((p["y"] is None) != (p["edge"] is None) for p in points)


def test_equal_names_are_one_in_the_legend_and_each_a_curve():
    figure, axes = style.panels()
    for number in range(3):
        axes.plot(X, X + number, label="seed" if number else "mean")
    panel = chart(series(figure))
    called = [*dict.fromkeys((row[0], row[1]) for row in rows(panel))]
    assert called == [("mean", "mean"), ("seed, 1", "seed"), ("seed, 2", "seed")]


def test_a_chart_of_many_points_has_fewer_rows_from_end_to_end():
    figure, axes = style.panels()
    x = np.linspace(0.0, 1.0, 400)
    for number in range(5):
        axes.plot(x, x + number)
    axes.plot([0.5], [0.5], "o")
    shown = [*rows(chart(series(figure)))]
    assert 0.9 * ROWS < len(shown) <= ROWS + 1
    for piece in range(6):
        own = [row[4] for row in shown if row[3] == piece]
        assert (own[0], own[-1]) == ((0.0, 1.0) if piece < 5 else (0.5, 0.5))


def test_every_place_has_its_words_and_columns():
    text = json.dumps(specification())
    places = re.findall(r"\$\{(\w+):(\w+)", text)
    assert {name for kind, name in places if kind == "string"} == {*words(chart(series(drawn())))}
    columns = {name for kind, name in places if kind == "field"} - {"run"}
    assert columns == {*COLUMNS} - {"curve"}
    # Only where there are several runs is a run told by dashes and marks.
    alone = filled(specification(), {}, {name: name for name in COLUMNS})
    assert alone["encoding"]["x"]["scale"] == {"type": "linear", "constant": 1.0, "zero": False}
    assert "strokeDash" not in alone["layer"][2]["encoding"]
    runs = filled(specification(), {}, {name: name for name in (*COLUMNS, "run")})
    assert runs["layer"][2]["encoding"]["strokeDash"]["field"] == "run"


@pytest.mark.parametrize("draws", [lambda axes: None, lambda axes: axes.imshow([[1.0, 2.0]])])
def test_what_has_no_curve_has_no_chart(draws):
    figure, axes = style.panels()
    draws(axes)
    assert document(series(figure)) == {}
