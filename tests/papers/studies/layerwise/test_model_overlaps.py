"""Overlaps of independently trained networks: against dense matrices, and by chance."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from torch import nn

from hessian_papers.networks.classifiers import kept_classifier
from hessian_papers.studies.layerwise.layers import own_layers
from hessian_papers.studies.layerwise.model_overlaps import quantities
from hessian_papers.studies.layerwise.model_overlaps.study import Config, layerwise
from hessian_spectra import curvature as cv
from tests.papers.studies.layerwise import small_classifiers


def config(**changes):
    fields = {
        "kind": "model_overlaps", "paper": "wu2022dissecting", "artifact": "Figure 4",
        "title": "overlaps", "seed": 0, "ensemble": "small", "networks": [],
        "reach": 1.5, "top": 50, "tolerance": 1e-7, "images": 30,
    }  # fmt: skip
    return Config(**(fields | changes))


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    return small_classifiers.ensemble(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def data(networks):
    return layerwise(config(), networks)


def layer_in(data, network, layer):
    """A layer of a network after training."""
    return own_layers(data.sel(network=network).isel(epoch=-1)).sel(layer=layer)


def dense(networks, network, layer, seed, images=30):
    """The Hessian of a layer's weight, and its two factors, sample by sample."""
    kept = kept_classifier(networks, network, seed, small_classifiers.EPOCHS)
    model, (x, y) = kept.load().double(), kept.samples.trained()
    x, y, module = x[:images].double(), y[:images], model.get_submodule(layer)
    actual = {}
    hook = module.register_forward_hook(lambda _, given, out: actual.update(x=given[0], z=out))
    model(x)
    hook.remove()
    shape = module.weight.shape

    def loss(weight):
        scores = torch.func.functional_call(model, {f"{layer}.weight": weight.reshape(shape)}, x)
        return nn.functional.cross_entropy(scores, y)

    hessian = torch.autograd.functional.hessian(loss, module.weight.detach().flatten())
    rest = list(model.children())
    rest = nn.Sequential(*rest[rest.index(module) + 1 :])
    squares = [
        torch.autograd.functional.hessian(
            lambda z, label=label: nn.functional.cross_entropy(rest(z[None]), label[None]), z
        )
        for z, label in zip(actual["z"].detach(), y, strict=True)
    ]
    inputs = actual["x"].detach()
    return hessian, torch.stack(squares).mean(dim=0), inputs.T @ inputs / images


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


def test_what_layers_are_called_and_how_large_they_are(data):
    expected = {
        "outputs": [[6, 3, 0], [5, 5, 3]],
        "inputs": [[16, 6, 0], [16, 5, 5]],
        "layer_name": [["fc1", "fc2", ""], ["fc1", "fc2", "fc3"]],
        "layer": [0, 1, 2],
        "epoch": [small_classifiers.EPOCHS],
        "images": 30,
        "variation": [0, 0, 0],
    }
    assert {name: data[name].values.tolist() for name in expected} == expected


def test_first_inputs(networks, data):
    seeds = networks["seed"].values.tolist()
    single, other = (dense(networks, "F-6", "fc2", seed)[2] for seed in (seeds[0], seeds[2]))
    expected = float((top(single, 1).T @ top(other, 1)).square())
    row = layer_in(data, "F-6", "fc2")
    assert row["first_inputs"].values[1] == pytest.approx(expected, rel=1e-5)
    # All networks have the same images.
    np.testing.assert_allclose(data["first_inputs"].sel(layer=0), 1, rtol=1e-9)


def factors(m=4, n=6, seed=0):
    """Eigenpairs of the factors of two products, with spectra that fall at different rates."""
    draws = torch.Generator().manual_seed(seed)
    actual = []
    for size in (m, n, m, n):
        root = torch.randn(size, size, generator=draws, dtype=torch.float64)
        scales = torch.linspace(0, -2, size, dtype=torch.float64).exp()
        shift = torch.ones(size, dtype=torch.float64)
        actual.append(
            quantities.eigenpairs(
                (root * scales) @ (root * scales).T + 0.5 * torch.outer(shift, shift)
            )
        )
    return actual


def moved(single, other, matrices, count):
    """The mean overlap of the first k eigenvectors over some matrices that move the outputs."""
    (output, inputs), (moving, others) = single, other
    places = quantities.top_places(output.values, inputs.values, count)
    places_too = quantities.top_places(moving.values, others.values, count)
    basis = torch.einsum("ok,ik->oik", output.vectors[:, places[0]], inputs.vectors[:, places[1]])
    total = []
    for matrix in matrices:
        vectors = (matrix @ moving.vectors)[:, places_too[0]]
        basis_too = torch.einsum("ok,ik->oik", vectors, others.vectors[:, places_too[1]])
        total.append(cv.subspace_overlaps(basis.flatten(0, 1), basis_too.flatten(0, 1)))
    return torch.stack(total)


def expected_overlaps(single, other, squares, count):
    (output, inputs), (moving, others) = single, other
    places = quantities.top_places(output.values, inputs.values, count)
    places_too = quantities.top_places(moving.values, others.values, count)
    return quantities.product_overlaps(
        squares(output.vectors, moving.vectors),
        (inputs.vectors.T @ others.vectors).square(),
        places,
        places_too,
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_expected_over_permutations_is_their_mean(seed):
    m, count = 4, 14
    single, other = factors(m, seed=seed)[:2], factors(m, seed=seed)[2:]
    every = [torch.eye(m, dtype=torch.float64)[list(order)] for order in permutations(range(m))]
    mean = moved(single, other, every, count).mean(dim=0)
    actual = expected_overlaps(single, other, quantities.permuted_squares, count)
    torch.testing.assert_close(actual, mean, rtol=1e-12, atol=1e-12)


def test_a_single_output_has_nothing_to_permute():
    single = torch.ones(1, 1, dtype=torch.float64)
    assert quantities.permuted_squares(single, -single).item() == 1


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


def test_only_the_networks_that_are_asked_for(networks):
    items = layerwise.items(config(networks=["F-5^2-BN"]), networks)
    assert [item["layer"] for item in items] == ["fc1", "fc2", "fc3"]
    assert {element.network for item in items for element in item["kept"]} == {"F-5^2-BN"}
    names = {element.path.name for item in items for element in item["kept"]}
    assert names == {f"{small_classifiers.EPOCHS}.nc"}


def test_a_probe_is_cheaper(networks):
    for item in layerwise.items(config(), networks):
        probe = layerwise.probe(item)
        assert 0 < layerwise.cost(probe) < layerwise.cost(item)
        layerwise.compute(**probe)


def test_more_eigenpairs_cost_more(networks):
    item = layerwise.items(config(), networks)[0]
    fewer = {**item, "settings": replace(item["settings"], top=4)}
    assert layerwise.cost(fewer) < layerwise.cost(item)
