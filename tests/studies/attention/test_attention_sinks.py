"""Sinks with vector tokens: the bulk's closed form, the numbers, and claims that can fail."""

import numpy as np
import pytest
from hessian_spectra.ledger.vocabulary import holds

from hessian_spectra.data import sequences
from hessian_spectra.studies.attention.attention_sinks import claims, study
from hessian_spectra.studies.attention.attention_sinks import figure as figures


def config(**changes):
    fields = {
        "kind": "attention_sinks",
        "paper": "singh2026cracking",
        "artifact": "Figure 9",
        "title": "test",
        "data": "test",
        "seed": 0,
        "key_dimension": 12,
        "value_norm": 1.0,
        "query_key_norm": 1.0,
        "sink_biases": [0.0, 3.0, 6.0],
        "points": 5,
        "outlier_share": 0.2,
        "replicates": 3,
    }
    return study.Config(**(fields | changes))


def data(embedding_dimension=3):
    settings = sequences.Config(
        kind="sequences",
        seed=0,
        batch=10,
        length=6,
        embedding_dimension=embedding_dimension,
        target="gaussian",
    )
    return sequences.make(settings)


@pytest.fixture(scope="module")
def sides():
    return study.closed_form(config(), data()), study.numerics(config(), data())


def failing(closed_form, numerics):
    found = set()
    for claim in claims.claims("s"):
        measured = claim.measure(closed_form, numerics)
        if not holds(measured, claim.relation, claim.expected, claim.tolerance):
            found.add(claim.id.split("/")[1])
    return found


def test_arrays_have_one_row_a_sink(sides):
    closed_form, numerics = sides
    assert closed_form["bulk"].shape == (5, 6)
    assert closed_form["copies"] == 12 - 2 * 3 + 1
    assert closed_form["replicate_bulk"].shape == numerics["replicate_largest"].shape == (3, 3)
    assert numerics["eigenvalues"].shape == (3, 9 + 2 * 3 * 12)
    np.testing.assert_allclose(closed_form["attention"][[0, 2, 4]], numerics["attention"])
    assert numerics["attention"][-1] > 0.9
    assert numerics["replicate_residual"].max() <= 1e-8


def test_what_the_paper_says_holds(sides):
    assert failing(*sides) == set()


def test_the_claims_can_fail(sides):
    closed_form, numerics = sides
    backwards = {
        key: values[::-1]
        for key, values in (closed_form | numerics).items()
        if key in ("numeric_bulk", "eigenvalues", "copies") and values.ndim
    }
    backwards["replicate_bulk"] = closed_form["replicate_bulk"][:, ::-1]
    backwards["replicate_largest"] = numerics["replicate_largest"][:, ::-1]
    backwards["copies"] = numerics["copies"][::-1]
    turned = closed_form | {key: backwards[key] for key in ("numeric_bulk", "replicate_bulk")}
    names = {claim.id.split("/")[1] for claim in claims.claims("s")}
    assert failing(turned, numerics | backwards) == names - {"bulk", "bulk-multiplicity"}

    assert "bulk" in failing(
        closed_form | {"numeric_bulk": closed_form["numeric_bulk"] + 1e-8}, numerics
    )
    assert "bulk-multiplicity" in failing(closed_form | {"copies": np.array(6)}, numerics)


def test_replicates_have_other_weights_and_another_first_token():
    arrays = data()
    networks = list(study.networks_of(config(), arrays))
    assert len(networks) == 4
    for replicate, network in enumerate(networks):
        first = arrays["x"][:, replicate]
        np.testing.assert_array_equal(network.x[:, 0], first)
        np.testing.assert_array_equal(network.y[:, 0], arrays["y"][:, replicate])
        norms = [weights.norm().item() for weights in (network.W_value, network.W_query)]
        np.testing.assert_allclose(norms, 1.0)
    assert len({network.W_key[0, 0].item() for network in networks}) == 4


def test_equal_eigenvalues_are_counted():
    spectrum = np.array([-1.0, -1.0 + 1e-14, 0.0, 0.5, 0.5, 0.5, 2.0])
    np.testing.assert_array_equal(study._copies(spectrum), [2, 2, 1, 3, 3, 3, 1])


def test_figure_shows_every_eigenvalue_that_repeats(sides):
    closed_form, numerics = sides
    figure = figures.draw(closed_form, numerics)
    bulk, outliers = figure.axes[:2]
    points = [line for line in bulk.lines if line.get_marker() == "s"]
    assert [len(line.get_xdata()) for line in points] == [6, 6, 6]
    shown = [line for line in outliers.lines if line.get_marker() == "o"]
    # 5 d^2 - 2 d = 39 eigenvalues do not repeat, a fifth of them is shown.
    assert len(shown) == 8
    caption = figures.caption(closed_form, numerics)
    assert "81 parameters" in caption
    assert "6 values, each occurring 7 times" in caption


def test_scalar_tokens_are_refused():
    with pytest.raises(ValueError, match=r"vectors \(batch, length, d\), got \(10, 6\)"):
        study.closed_form(config(), data(embedding_dimension=1))


def test_too_few_columns_for_a_bulk_are_refused():
    with pytest.raises(ValueError, match="key_dimension: expected more than 2 d = 6"):
        study.numerics(config(key_dimension=6), data())


@pytest.mark.parametrize(
    "change",
    [
        {"key_dimension": 0},
        {"value_norm": 0.0},
        {"query_key_norm": -1.0},
        {"sink_biases": [0.0]},
        {"sink_biases": [1.0, 0.0]},
        {"sink_biases": [0.0, float("inf")]},
        {"points": 1},
        {"outlier_share": 0.0},
        {"outlier_share": 1.5},
        {"replicates": 0},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        config(**change)
