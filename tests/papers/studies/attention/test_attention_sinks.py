"""Sinks with vector tokens: the bulk's closed form, and the numbers."""

import numpy as np
import pytest
from attention_arrays import sinks_config, sinks_sides, vector_tokens
from claims_contract import planted_data

from hessian_papers.labelled import data_set
from hessian_papers.studies.attention.attention_sinks import derived, study
from hessian_papers.studies.training import numeric_spectrum


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
    data = planted_data(sinks_sides(key_dimension=7), study.VARIABLES)
    drawn = study.draws_of(config, vector_tokens()["x"].shape)
    for (norm, at_norm), draws in zip(data.groupby("query_key_norm"), drawn, strict=True):
        at_norm = at_norm.squeeze("query_key_norm")
        for number, network in enumerate(draws):
            actual = network.W_value.norm().item(), network.W_key.norm().item()
            np.testing.assert_allclose(actual, [at_norm["value_norm"], norm])
            for sink, bias in (("none", 0.0), ("largest", 6.0)):
                here = at_norm.isel(draw=number).sel(sink=sink)
                values = numeric_spectrum(network.layer(bias), network.x, network.y, "element")
                error = abs(here["draw_largest"] - values.max())
                assert error <= here["draw_residual"] + 1e-14
                # Each of the six values of the bulk occurs 7 − 6 + 1 times.
                exact = network.bulk([bias])[0]
                distance = np.abs(values[:, None] - exact).min(axis=1)
                assert np.count_nonzero(distance < 1e-12) >= 12
                assert here["draw_bulk"].item() == pytest.approx(np.abs(exact).mean())
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
    arrays = {
        "numerical": spectrum,
        "first_of_equals": first,
        "equals": copies,
        "outlier_share": 0.5,
        "sink_bulk": np.array([[-1.0, 0.5]]),
    }
    data = data_set(arrays, study.VARIABLES)
    assert [values.tolist() for values in derived.repeated(data)] == [[-1.0, 0.5]]
    assert derived.largest_outliers(data).tolist() == [[2.0]]
