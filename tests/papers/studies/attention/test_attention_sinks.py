"""Sinks with vector tokens: the bulk's closed form, and the numbers."""

import numpy as np
import pytest
from attention_arrays import sinks_config, sinks_sides, vector_tokens

from hessian_papers.studies.attention.attention_sinks import study
from hessian_papers.studies.attention.attention_sinks.reading import Reading
from hessian_papers.studies.training import numeric_spectrum


def test_arrays_have_one_row_a_sink():
    sides = sinks_sides()
    closed_form, numerics = sides["closed_form"], sides["numerics"]
    assert closed_form["bulk"].shape == (5, 6)
    assert closed_form["copies"] == 12 - 2 * 3 + 1
    assert closed_form["replicate_bulk"].shape == numerics["replicate_largest"].shape == (3, 3)
    assert numerics["eigenvalues"].shape == (3, 9 + 2 * 3 * 12)
    np.testing.assert_allclose(closed_form["attention"][[0, 2, 4]], numerics["attention"])
    assert numerics["attention"][-1] > 0.9
    assert numerics["replicate_residual"].max() <= 1e-8
    assert Reading(sides).bulk_error.max() < 1e-12


def test_replicates_have_other_weights_and_another_first_token():
    arrays = vector_tokens()
    networks = list(study.networks_of(sinks_config(), arrays))
    assert len(networks) == 4
    for replicate, network in enumerate(networks):
        first = arrays["x"][:, replicate]
        np.testing.assert_array_equal(network.x[:, 0], first)
        np.testing.assert_array_equal(network.y[:, 0], arrays["y"][:, replicate])
        norms = [weights.norm().item() for weights in (network.W_value, network.W_query)]
        np.testing.assert_allclose(norms, 1.0)
    assert len({network.W_key[0, 0].item() for network in networks}) == 4


def test_what_is_kept_of_draws_is_of_their_dense_hessians():
    config = sinks_config(key_dimension=7)
    sides = {
        "closed_form": study.closed_form(config, vector_tokens()),
        "numerics": study.numerics(config, vector_tokens()),
    }
    largest, residual = (sides["numerics"][f"draw_{name}"] for name in ("largest", "residual"))
    bulk, norms = (sides["closed_form"][f"draw_{name}"] for name in ("bulk", "norms"))
    assert largest.shape == residual.shape == bulk.shape == (2, 3, 2)
    for place, draws in enumerate(study.draws_of(config, vector_tokens()["x"].shape)):
        for number, network in enumerate(draws):
            actual = network.W_value.norm().item(), network.W_key.norm().item()
            np.testing.assert_allclose(actual, norms[place])
            for end, bias in enumerate((0.0, 6.0)):
                values = numeric_spectrum(network.layer(bias), network.x, network.y, "element")
                here = place, number, end
                assert abs(largest[here] - values.max()) <= residual[here] + 1e-14
                # Each of the six values of the bulk occurs 7 − 6 + 1 times.
                exact = network.bulk(bias).numpy()
                distance = np.abs(values[:, None] - exact).min(axis=1)
                assert np.count_nonzero(distance < 1e-12) >= 12
                assert bulk[here] == pytest.approx(np.abs(exact).mean())
    tokens = [network.x[0, 0, 0].item() for network in draws]
    assert len(set(tokens)) == 3


def test_equal_eigenvalues_are_counted():
    spectra = np.array([[-1.0, -1.0 + 1e-14, 0.0, 0.5, 0.5, 0.5, 2.0], np.arange(7.0)])
    first = study._first_of_equals(spectra)
    assert first.tolist() == [[True, False, True, True, False, False, True], [True] * 7]
    assert [study._copies(row).tolist() for row in first] == [[2, 2, 1, 3, 3, 3, 1], [1] * 7]


def test_repeating_eigenvalues_are_read_once_each():
    spectrum = np.array([[-1.0, -1.0 + 1e-14, 0.0, 0.5, 0.5, 0.5, 2.0]])
    first = study._first_of_equals(spectrum)
    copies = np.array([study._copies(first[0])])
    reading = Reading(
        {
            "numerics": {
                "eigenvalues": spectrum,
                "first": first,
                "copies": copies,
                "outlier_share": np.array(0.5),
            },
            "closed_form": {"numeric_bulk": np.array([[-1.0, 0.5]])},
        }
    )
    assert [values.tolist() for values in reading.repeated] == [[-1.0, 0.5]]
    assert reading.largest_outliers.tolist() == [[2.0]]


def test_scalar_tokens_are_refused():
    with pytest.raises(ValueError, match=r"vectors \(batch, length, d\), got \(10, 6\)"):
        study.closed_form(sinks_config(), vector_tokens(dimension=1))


def test_too_few_columns_for_a_bulk_are_refused():
    with pytest.raises(ValueError, match=r"key_dimension: expected at least 2 d \+ 1 = 7"):
        study.numerics(sinks_config(key_dimension=6), vector_tokens())


@pytest.mark.parametrize(
    "change",
    [
        {"key_dimension": 0},
        {"value_norm": 0.0},
        {"query_key_norm": -1.0},
        {"query_key_norm": 1e-3},
        {"query_key_norm": 30.0},
        {"value_norm": 1e3},
        {"sink_biases": [0.0]},
        {"sink_biases": [1.0, 0.0]},
        {"sink_biases": [0.0, float("inf")]},
        {"points": 1},
        {"outlier_share": 0.0},
        {"outlier_share": 1.5},
        {"replicates": 0},
        {"draws": 0},
        {"draw_norms": []},
        {"draw_norms": [[1.0]]},
        {"draw_norms": [[1.0, 30.0]]},
    ],
)
def test_bad_settings_are_refused_in_one_line(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: expected .*, got .*$"):
        sinks_config(**change)
