"""Self-attention against norms and sinks: closed form, numbers, bounds, claims that can fail."""

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra.data import sequences
from hessian_spectra.studies.attention.attention_scale import claims, study
from hessian_spectra.studies.attention.attention_scale import figure as figures


def config(**changes):
    fields = {
        "kind": "attention_scale",
        "paper": "singh2026cracking",
        "artifact": "Figure 2",
        "title": "test",
        "data": "test",
        "seed": 0,
        "key_dimension": 12,
        "weight_norm": 1.0,
        "smallest_norm": 0.1,
        "largest_norm": 3.0,
        "largest_sink_bias": 6.0,
        "massive_activation": 10.0,
        "points": 9,
        "numeric_points": 5,
        "dense_points": 3,
    }
    return study.Config(**(fields | changes))


DATA = sequences.make(
    sequences.Config(
        kind="sequences", seed=0, batch=10, length=10, embedding_dimension=1, target="gaussian"
    )
)


@pytest.fixture(scope="module")
def sides():
    return study.closed_form(config(), DATA), study.numerics(config(), DATA)


def failing(closed_form, numerics):
    found = set()
    for claim in claims.claims("s"):
        measured = claim.measure(closed_form, numerics)
        if not holds(measured, claim.relation, claim.expected, claim.tolerance):
            found.add(claim.id.split("/")[1])
    return found


def test_each_sweep_varies_one_thing():
    networks = {name: list(study.sweep(config(), name, DATA)) for name in study.SWEEPS}
    norms = np.geomspace(0.1, 3.0, 9)
    for name, varied in networks.items():
        value, query, key, bias = np.array(
            [[n.w_value.abs(), n.w_query.norm(), n.w_key.norm(), n.sink_bias] for n in varied]
        ).T
        one = np.ones(9)
        np.testing.assert_allclose(value, norms if name == "value" else one)
        np.testing.assert_allclose(query, norms if name == "query_key" else one)
        np.testing.assert_allclose(key, norms if name == "query_key" else one)
        sink = np.linspace(0, 6, 9) if name.endswith("sink") else 0 * one
        np.testing.assert_allclose(bias, sink)
    first = networks["massive_sink"][0].x
    np.testing.assert_allclose(first[:, 0], 10 * DATA["x"][:, 0])
    np.testing.assert_array_equal(first[:, 1:], DATA["x"][:, 1:])


def test_closed_form_and_numbers_agree_on_values_and_multiplicities(sides):
    assert not failing(*sides) & {"spectrum", "bulk", "outliers", "outlier-bounds",
                                  "largest-eigenvalue-bounds", "condition-bound"}  # fmt: skip
    _, numerics = sides
    for name in study.SWEEPS:
        assert numerics[f"{name}/repeated"].sum(axis=1).tolist() == [2] * 5
        assert np.isfinite(numerics[f"{name}/values"]).sum(axis=1).tolist() == [5] * 5
        assert numerics[f"{name}/residual"].max() < 1e-12
        assert numerics[f"{name}/dense"].shape == (3, 25)


def test_wrong_numbers_would_be_noticed(sides):
    closed_form, numerics = sides
    other = {"sink/values": numerics["sink/values"] + 1e-8}
    assert failing(closed_form, numerics | other) >= {"bulk", "outliers"}
    other = {"value/dense": numerics["value/dense"] * (1 + 1e-8)}
    assert "spectrum" in failing(closed_form, numerics | other)
    other = {"sink/condition_number": numerics["sink/condition_number"] / 100}
    assert "condition-bound" in failing(closed_form, numerics | other)


def test_wrong_bounds_would_be_noticed(sides):
    closed_form, numerics = sides
    for key, claim in (
        ("upper", "outlier-bounds"),
        ("largest_upper", "largest-eigenvalue-bounds"),
    ):
        other = {f"value/{key}": 0.9 * closed_form[f"value/{key}"]}
        assert claim in failing(closed_form | other, numerics)


def test_a_sink_shrinks_the_bulk_and_raises_the_largest_eigenvalue(sides):
    assert not {name for name in failing(*sides) if name.startswith("c-")}
    closed_form, numerics = sides
    backwards = {
        key: values[::-1]
        for key, values in closed_form.items()
        if key.startswith("sink/") and key != "sink/varied"
    }
    assert failing(closed_form | backwards, numerics) >= {
        "c-bulk-shrinks", "c-largest-grows", "c-ill-conditioned", "c-bulk-towards-zero",
    }  # fmt: skip


def test_under_a_massive_activation_the_bulk_first_grows():
    closed_form = study.closed_form(config(key_dimension=1000), DATA)
    bulk = np.abs(closed_form["massive_sink/bulk"])
    attention = closed_form["massive_sink/attention"]
    assert bulk.max() > 3 * bulk[0]
    assert 0.4 < attention[bulk.argmax()] < 0.8
    (claim,) = [claim for claim in claims.claims("s") if claim.id == "s/d-bulk-shrinks"]
    assert claim.measure(closed_form, {}) > -0.9


def test_relative_changes_of_bulk_and_largest_eigenvalue_are_of_one_order():
    """Both are between 0.1 and 10 at norms of √d_K / 3, be d_K 30, 300 or 3000."""
    changes = []
    for width in (30, 300, 3000):
        largest = width**0.5 / 3
        per_seed = []
        for seed in range(8):
            changed = {"key_dimension": width, "largest_norm": largest, "seed": seed}
            settings = config(points=2, numeric_points=2, dense_points=0, **changed)
            arrays = study.closed_form(settings, DATA)
            bulk = np.abs(arrays["query_key/bulk"])
            top = arrays["query_key/outliers"][:, 0]
            per_seed.append([abs(bulk[1] / bulk[0] - 1), top[1] / top[0] - 1])
        changes.append(np.median(per_seed, axis=0))
    assert np.all(np.array(changes) > 0.1)
    assert np.all(np.array(changes) < 10)


def test_the_same_settings_give_the_same_numbers():
    settings = config(points=2, numeric_points=2, dense_points=1)
    first, second = (study.numerics(settings, DATA) for _ in range(2))
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[key], second[key], equal_nan=True) for key in first
               if first[key].dtype.kind == "f")  # fmt: skip


def test_figure_shows_every_point(sides):
    figure = figures.draw(*sides)
    assert len(figure.axes) == 12
    closed_form, numerics = sides
    # The numerical points of one network are lines of their own, all at one abscissa.
    points = [line.get_xydata() for line in figure.axes[0].lines if len(line.get_xdata()) < 9]
    for row, point in enumerate(numerics["query_key/index"]):
        abscissa = closed_form["query_key/varied"][point]
        shown = [xy[:, 1] for xy in points if np.all(xy[:, 0] == abscissa)]
        expected = numerics["query_key/values"][row]
        np.testing.assert_array_equal(np.sort(np.concatenate(shown)), expected)
    caption = figures.caption(*sides)
    assert "d_K = 12" in caption
    assert "all 25" in caption


def test_figure_and_claims_do_without_dense_points():
    settings = config(points=3, numeric_points=2, dense_points=0)
    sides = study.closed_form(settings, DATA), study.numerics(settings, DATA)
    assert figures.draw(*sides).axes
    assert "at most" in figures.caption(*sides)
    with pytest.raises(ValueError, match="dense_points: expected at least 1"):
        failing(*sides)


@pytest.mark.parametrize(
    "change",
    [
        {"key_dimension": 2},
        {"weight_norm": 0.0},
        {"smallest_norm": -1.0},
        {"largest_norm": 0.1},
        {"largest_sink_bias": 0.0},
        {"massive_activation": 0.0},
        {"points": 1},
        {"numeric_points": 10},
        {"dense_points": 6},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)
