"""Eigenvalues from reduced matrices are those of the automatically differentiated Hessian."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from hessian_spectra.curvature.ensemble import spectra
from hessian_spectra.curvature.ensemble.dense import dense_hessians
from hessian_spectra.curvature.ensemble.spectra import exact_spectra

from .ensembles import dense, ensemble, normal


def check(networks, x, y):
    """Each network's whole spectrum, to round-off."""
    actual = exact_spectra(networks, x, y)
    for index, expected in enumerate(torch.linalg.eigvalsh(dense(networks, x, y[:, None]))):
        whole = actual.eigenvalues[index].repeat_interleave(actual.multiplicities).sort().values
        assert len(whole) == len(expected)
        scale = float(expected.abs().max())
        assert_close(whole, expected, rtol=0, atol=1e-13 * scale)
    return actual


def networks_of(sizes, activation, count=2):
    """Multipliers of either sign, so that none of them can be forgotten."""
    multipliers = (1.5, -0.6, 1.2, 0.8)[: len(sizes) - 1]
    networks = ensemble(sizes, activation, count)
    weights = tuple(weight / weight.shape[-1] ** 0.5 for weight in networks.weights)
    return replace(networks, weights=weights, multipliers=multipliers)


CASES = [
    # Σ (d_l + d_{l−1} − 1) and zero; wider than D + 1: the hidden space is reduced, and ±ρ.
    ("linear", (3, 12, 1), 6 + 4 + 3),
    ("linear", (1, 9, 1), 2 + 2 + 3),
    ("linear", (3, 4, 1), 6 + 4 + 1),
    ("linear", (6, 2, 1), 7 + 2 + 1),
    ("linear", (2, 1, 1), 2 + 1 + 1),
    ("linear", (3, 8, 6, 7, 1), 10 + 13 + 12 + 7 + 1),
    ("linear", (1, 5, 5, 1), 5 + 9 + 5 + 1),
    ("linear", (4, 1), 4 + 1),
    # ReLU: 2m + n, or as they are.
    ("relu", (5, 20, 1), 40 + 11 + 1),
    ("relu", (3, 4, 1), 16 + 1),
    ("relu", (3, 5, 4, 5, 1), 60 + 1),
]


@pytest.mark.parametrize(("activation", "sizes", "values"), CASES)
def test_all_eigenvalues_are_those_of_the_whole_matrix(activation, sizes, values):
    networks = networks_of(sizes, activation)
    x, y = normal(11, sizes[0], seed=8), normal(11, seed=9)
    actual = check(networks, x, y)
    assert actual.eigenvalues.shape == (2, values)
    assert int(actual.multiplicities.min()) >= 0
    expected = dense(networks, x, y[:, None])
    assert_close(dense_hessians(networks, x, y), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("activation", "sizes"),
    [("linear", (3, 8, 6, 1)), ("relu", (5, 20, 1)), ("relu", (2, 3, 3, 1))],
)
def test_networks_are_treated_in_batches(activation, sizes, monkeypatch):
    networks = networks_of(sizes, activation, count=7)
    x, y = normal(11, sizes[0], seed=8), normal(11, seed=9)
    together = exact_spectra(networks, x, y)
    monkeypatch.setattr(spectra, "_BATCH_BYTES", 8 * 2 * 1600)
    actual = exact_spectra(networks, x, y)
    assert_close(actual.eigenvalues, together.eigenvalues, rtol=0, atol=1e-13)
    assert torch.equal(actual.multiplicities, together.multiplicities)


def test_without_residual_every_direction_does():
    networks = networks_of((3, 12, 7, 1), "linear", count=1)
    x = normal(11, 3)
    check(networks, x, networks.outputs(x)[0, :, 0])


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_layer_of_zeros_does_no_harm(layer):
    networks = networks_of((3, 7, 7, 1), "linear")
    networks.weights[layer].zero_()
    check(networks, normal(11, 3, seed=8), normal(11, seed=9))


def test_dead_units_and_units_that_are_always_on():
    networks = networks_of((4, 20, 1), "relu")
    x = normal(11, 4, seed=8).abs()
    networks.weights[0][:, :6] = -networks.weights[0][:, :6].abs()
    networks.weights[0][:, 6:9] = networks.weights[0][:, 6:9].abs()
    check(networks, x, normal(11, seed=9))
