"""Overlaps of independently trained networks: against dense matrices, and by chance."""

from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from fan_out_contract import contract
from study_configs import configured
from torch import nn

from hessian_papers.studies.layerwise.layers import own_layers
from hessian_papers.studies.layerwise.model_overlaps import quantities, study
from hessian_papers.studies.layerwise.model_overlaps.study import layerwise
from hessian_papers.studies.layerwise.standing import late_progress
from hessian_spectra import curvature as cv
from tests.papers.studies.layerwise import small_classifiers


def config(**changes):
    fields = {
        "seed": 0, "ensemble": "small", "networks": [], "reach": 1.5, "top": 50, "tolerance": 1e-7,
        "images": 30,
    }  # fmt: skip
    return configured(study, fields | changes)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return small_classifiers.ensemble(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def data(networks):
    return layerwise(config(), networks)


def layer_in(data, network, layer):
    """A layer of a network after training."""
    return own_layers(data.sel(network=network).isel(epoch=-1)).sel(layer=layer)


def dense(networks, network, layer, seed):
    """The Hessian of a layer's weight, and its two factors."""
    own = small_classifiers.dense(networks, network, seed, layer, images=30)
    return own.hessian, own.output, own.input


def top(matrix, count):
    return torch.linalg.eigh(matrix).eigenvectors.flip(1)[:, :count]


@pytest.mark.parametrize(
    ("network", "layer", "count"),
    [("F-6", "fc1", 9), ("F-6", "fc2", 5), ("F-5^2-BN", "fc2", 8)],
)
def test_overlaps_are_those_of_dense_matrices(networks, data, network, layer, count):
    matrices = [dense(networks, network, layer, seed) for seed in networks["seed"].values.tolist()]
    row = layer_in(data, network, layer)
    for number, (combination, other) in enumerate(combinations(matrices, 2)):
        for name, (a, b) in {
            "overlap": (combination[0], other[0]),
            "kronecker": (torch.kron(*combination[1:]), torch.kron(*other[1:])),
        }.items():
            expected = cv.subspace_overlaps(top(a, count), top(b, count))
            # The Hessians' eigenvectors are kept in float32.
            actual = row[name].isel(pair=number, rank=slice(count))
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    assert row["overlap"].notnull().sum("rank").values.tolist() == [count] * 3


def test_eigenvalues_are_those_of_dense_matrices(networks, data):
    matrices = dense(networks, "F-6", "fc1", int(networks["seed"][2]))
    row = layer_in(data, "F-6", "fc1").isel(seed=2)
    counts = {"hessian": 9, "output": 6, "input": 16}
    for (name, count), matrix in zip(counts.items(), matrices, strict=True):
        expected = torch.linalg.eigvalsh(matrix).flip(0)[:count]
        np.testing.assert_allclose(row[name][:count], expected, rtol=1e-6, atol=1e-7)
    assert (row["residual"][:9] <= 1e-7).all()


def test_first_inputs(networks, data):
    seeds = networks["seed"].values.tolist()
    single, other = (dense(networks, "F-6", "fc2", seed)[2] for seed in (seeds[0], seeds[2]))
    expected = float((top(single, 1).T @ top(other, 1)).square())
    row = layer_in(data, "F-6", "fc2")
    assert row["first_inputs"].values[1] == pytest.approx(expected, rel=1e-5)
    # All networks have the same images.
    np.testing.assert_allclose(data["first_inputs"].sel(layer=0), 1, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 4])
def test_what_is_expected_over_permutations_is_their_mean(size):
    draws = torch.Generator().manual_seed(size)
    first, other = (
        torch.linalg.qr(torch.randn(size, size, generator=draws, dtype=torch.float64)).Q
        for _ in range(2)
    )
    moved = [other[list(order)] for order in permutations(range(size))]
    mean = torch.stack([(first.T @ vectors).square() for vectors in moved]).mean(dim=0)
    torch.testing.assert_close(quantities.permuted_squares(first, other), mean, rtol=1e-12, atol=0)


def test_convolutions_are_measured(tmp_path):
    changes = {"networks": ["LeNet5"], "seeds": 2, "epochs": 1, "kept": [1]}
    networks = small_classifiers.ensemble(tmp_path, shape=(16, 16), samples=12, **changes)
    items = layerwise.items(config(top=7, images=0, tolerance=1e-6), networks)
    assert [item["layer"] for item in items] == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    arrays = layerwise.compute(**items[1])
    assert arrays["overlap"].shape == (1, 7)
    layers = [
        cv.layerwise(
            cv.Problem(element.load(), nn.CrossEntropyLoss(), [element.samples.trained()]), "conv2"
        )
        for element in items[1]["kept"]
    ]
    spectra = {
        "overlap": [cv.top_eigenpairs(layer.hessian, 7, tol=1e-5) for layer in layers],
        "kronecker": [layer.kronecker(7) for layer in layers],
    }
    for name, pair in spectra.items():
        expected = cv.subspace_overlaps(*(element.eigenvectors().flip(1) for element in pair))
        # These are computed in float32.
        np.testing.assert_allclose(arrays[name][0], expected, rtol=2e-3, atol=1e-4)


test_items_repeat_and_a_probe_costs_less = contract(layerwise, config)


def test_the_data_say_where_each_network_stands(networks, data):
    for network in data["network"].values.tolist():
        own, all_of = data.sel(network=network).isel(epoch=-1), networks.sel(network=network)
        for name in ("loss", "accuracy"):
            np.testing.assert_allclose(own[name], all_of[name].isel(kept=-1))
        course = all_of["epoch_loss"].transpose("seed", "epoch").values
        late = [late_progress(each.tolist(), 3) for each in course]
        np.testing.assert_allclose(own["late_progress"], late)
